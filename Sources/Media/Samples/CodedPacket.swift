/// Description of a track in any codec, as a file or a device delivers it: what a decoder needs.
package struct CodedTrack: Hashable, Sendable {
    /// Properties of video.
    package struct Picture: Hashable, Sendable {
        package var width: Int
        package var height: Int
        /// `nil` if only the bitstream has it.
        package var format: PixelFormat?
        /// `nil` if the container does not state it.
        package var colour: ColourDescription?
        /// `nil` if unknown.
        package var rate: FrameRate?
        /// Whether all pictures have the same duration, according to the container.
        package var hasConstantRate: Bool
        /// Nil: square, or unknown.
        package var sampleAspectRatio: SampleAspectRatio?
        /// The display orientation that the container requests.
        package var orientation: PictureOrientation

        package init(
            width: Int, height: Int, format: PixelFormat?, colour: ColourDescription?,
            rate: FrameRate?, hasConstantRate: Bool, sampleAspectRatio: SampleAspectRatio?,
            orientation: PictureOrientation = .upright
        ) {
            self.width = width
            self.height = height
            self.format = format
            self.colour = colour
            self.rate = rate
            self.hasConstantRate = hasConstantRate
            self.sampleAspectRatio = sampleAspectRatio
            self.orientation = orientation
        }
    }

    /// Properties of audio.
    package struct Audio: Hashable, Sendable {
        package var sampleRate: Int
        package var channels: Int
        /// Bytes of one block for block-based codecs; else 0.
        package var blockBytes: Int
        package var bitsPerSample: Int
        package var bitRate: Int64
        /// Frames of each packet; 0 if unknown.
        package var packetFrames: Int

        package init(
            sampleRate: Int, channels: Int, blockBytes: Int = 0, bitsPerSample: Int = 0,
            bitRate: Int64 = 0, packetFrames: Int = 0
        ) {
            self.sampleRate = sampleRate
            self.channels = channels
            self.blockBytes = blockBytes
            self.bitsPerSample = bitsPerSample
            self.bitRate = bitRate
            self.packetFrames = packetFrames
        }
    }

    package enum Content: Hashable, Sendable {
        case picture(Picture)
        case sound(Audio)
    }

    /// FFmpeg's name of the codec: "h264", "hevc", "aac", "rawvideo", "pcm_s16le".
    package var codec: String
    /// The container's four-character code, little-endian; 0 for none.
    package var codecTag: UInt32
    /// The codec's own header: a configuration record or Annex B parameter sets, AudioSpecificConfig; may be empty.
    package var configuration: [UInt8]
    package var content: Content

    package init(codec: String, codecTag: UInt32, configuration: [UInt8], content: Content) {
        self.codec = codec
        self.codecTag = codecTag
        self.configuration = configuration
        self.content = content
    }

    package var kind: TrackKind {
        switch content {
        case .picture: .video
        case .sound: .audio
        }
    }
}

/// One packet of a ``CodedTrack``: a view of memory that ``owner`` keeps alive.
///
/// At least ``paddingBytes`` readable zero bytes follow ``bytes``: decoders read ahead.
// @unchecked: the bytes are only read, and `owner` keeps them unchanged while it is referenced.
package struct CodedPacket: @unchecked Sendable {
    /// The distance that decoders may read past the end (libavcodec's AV_INPUT_BUFFER_PADDING_SIZE).
    package static let paddingBytes = 64

    package var track: TrackKind
    /// Presentation time, nanoseconds of the playback clock; nil when the container has none.
    package var ptsNanoseconds: Int64?
    /// Decoding time in nanoseconds of the same clock.
    package var dtsNanoseconds: Int64
    /// 0 if unknown.
    package var durationNanoseconds: Int64
    /// Whether the container states that decoding can begin here; the bitstream decides (``AccessPoint``).
    package var isKeyframe: Bool
    /// The container marks it as decoded but not presented.
    package var isDiscarded: Bool
    /// Audio frames from this packet's first on that are not presented (an encoder's delay); may extend into later
    /// packets.
    package var skippedAtStart: Int
    /// Audio frames at this packet's end that are not presented.
    package var skippedAtEnd: Int
    /// The codec's new header, if it changes with this packet.
    package var newConfiguration: [UInt8]?
    package var bytes: UnsafeRawBufferPointer
    /// Keeps the bytes alive.
    package let owner: any AnyObject & Sendable

    package init(
        track: TrackKind, ptsNanoseconds: Int64?, dtsNanoseconds: Int64, durationNanoseconds: Int64,
        isKeyframe: Bool, isDiscarded: Bool, skippedAtStart: Int, skippedAtEnd: Int,
        newConfiguration: [UInt8]?, bytes: UnsafeRawBufferPointer, owner: any AnyObject & Sendable
    ) {
        self.track = track
        self.ptsNanoseconds = ptsNanoseconds
        self.dtsNanoseconds = dtsNanoseconds
        self.durationNanoseconds = durationNanoseconds
        self.isKeyframe = isKeyframe
        self.isDiscarded = isDiscarded
        self.skippedAtStart = skippedAtStart
        self.skippedAtEnd = skippedAtEnd
        self.newConfiguration = newConfiguration
        self.bytes = bytes
        self.owner = owner
    }
}

extension CodedPacket {
    /// The same packet with other bytes.
    package func with(_ bytes: PaddedBytes) -> CodedPacket {
        CodedPacket(
            track: track, ptsNanoseconds: ptsNanoseconds, dtsNanoseconds: dtsNanoseconds,
            durationNanoseconds: durationNanoseconds, isKeyframe: isKeyframe,
            isDiscarded: isDiscarded, skippedAtStart: skippedAtStart, skippedAtEnd: skippedAtEnd,
            newConfiguration: newConfiguration, bytes: bytes.bytes, owner: bytes)
    }
}
