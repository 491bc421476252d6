package import Encoding
package import Media

/// Settings of an export, which is transcoded if they have a codec.
package struct TranscodeSettings: Hashable, Sendable {
    /// Nil: pictures are copied.
    package var videoCodec: PictureCodec?
    /// Nil: audio is copied.
    package var audioCodec: SoundCodec?
    /// Bits per second; nil: determined by the quality.
    package var videoBitrate: Int?
    /// The encoder's own scale; nil: the codec's default.
    package var videoQuality: Int?
    package var audioBitrate: Int
    /// Nil: as recorded.
    package var size: PictureSize?
    /// Whether the index comes first, in MP4 and MOV.
    package var isFastStart = false
    /// Paint the source's name and the capture time (UTC) at the lower edge of each picture. Requires re-encoding.
    package var burnsTime = false
    package var closesGaps = false

    package init(videoCodec: PictureCodec?, audioCodec: SoundCodec?) {
        self.videoCodec = videoCodec
        self.audioCodec = audioCodec
        audioBitrate = 128_000
    }

    /// Whether a track is encoded again.
    package var encodes: Bool { videoCodec != nil || audioCodec != nil }

    /// Settings of an encoder for pictures of that size and rate.
    func encoder(
        _ codec: PictureCodec, size: PictureSize, frameRate: FrameRate
    ) -> PictureEncoderSettings {
        var settings = PictureEncoderSettings(codec: codec, size: size, frameRate: frameRate)
        settings.bitrate = videoBitrate
        if let videoQuality { settings.quality = videoQuality }
        return settings
    }
}

/// The range of an output on the session's timeline, nanoseconds.
struct OutputTimeline: Hashable {
    var start: Int64
    /// Nil: the end of the recording.
    var end: Int64?
}
