/// A track as a file or a device delivers it, in any codec: what a decoder has to know.
package struct CodedTrack: Hashable, Sendable {
    /// What only pictures have.
    package struct Picture: Hashable, Sendable {
        package var width: Int
        package var height: Int
        /// Nil when the codec itself will tell.
        package var format: PixelFormat?
        /// Nil when the container does not say.
        package var colour: ColourDescription?
        /// Nil when nobody knows.
        package var rate: FrameRate?
        /// All pictures last equally long, as far as the container knows.
        package var hasConstantRate: Bool
        /// Nil: square, or unknown.
        package var sampleAspectRatio: SampleAspectRatio?
        /// How the container wants it shown.
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

    /// What only sound has.
    package struct Audio: Hashable, Sendable {
        package var sampleRate: Int
        package var channels: Int
        /// Bytes of one block, for codecs that come in blocks; else 0.
        package var blockBytes: Int
        package var bitsPerSample: Int
        package var bitRate: Int64

        package init(
            sampleRate: Int, channels: Int, blockBytes: Int, bitsPerSample: Int, bitRate: Int64
        ) {
            self.sampleRate = sampleRate
            self.channels = channels
            self.blockBytes = blockBytes
            self.bitsPerSample = bitsPerSample
            self.bitRate = bitRate
        }
    }

    /// The two kinds of track.
    package enum Content: Hashable, Sendable {
        case picture(Picture)
        case sound(Audio)
    }

    /// FFmpeg's name of the codec: "h264", "aac", "rawvideo", "pcm_s16le".
    package var codec: String
    /// The container's four-character code, little-endian; 0 for none.
    package var codecTag: UInt32
    /// The codec's own header: avcC or Annex B parameter sets, AudioSpecificConfig; may be empty.
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
// @unchecked: the bytes are only read, and `owner` keeps them unchanged while anyone holds it.
package struct CodedPacket: @unchecked Sendable {
    /// What decoders may read past the end (libavcodec's AV_INPUT_BUFFER_PADDING_SIZE).
    package static let paddingBytes = 64

    package var track: TrackKind
    /// Presentation time in nanoseconds of the clock it is played by; nil when the container has none.
    package var ptsNanoseconds: Int64?
    /// Decoding time in nanoseconds of the same clock.
    package var dtsNanoseconds: Int64
    /// 0 when nobody knows.
    package var durationNanoseconds: Int64
    /// Decoding can start here.
    package var isKeyframe: Bool
    /// The container says: decode it, but do not present it.
    package var isDiscarded: Bool
    /// Sound frames that are not presented, from this packet's first on (an encoder's delay); may reach into the
    /// packets that follow.
    package var skippedAtStart: Int
    /// Sound frames at this packet's end that are not presented.
    package var skippedAtEnd: Int
    /// The codec's new header, where it changes with this packet.
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
