package import Encoding
package import Media

/// What becomes of a recording's tracks in a file that is encoded anew.
package struct TranscodeSettings: Hashable, Sendable {
    /// Nil: pictures stay as they are.
    package var videoCodec: PictureCodec?
    /// Nil: sound stays as it is.
    package var audioCodec: AudioCodec?
    /// Bits per second; nil: as many as the quality takes.
    package var videoBitrate: Int?
    /// The encoder's own scale; nil: what is usual with the codec.
    package var videoQuality: Int?
    package var audioBitrate: Int
    /// Nil: as recorded.
    package var size: PictureSize?
    package var isFastStart = false
    package var closesGaps = false

    package init(videoCodec: PictureCodec?, audioCodec: AudioCodec?) {
        self.videoCodec = videoCodec
        self.audioCodec = audioCodec
        audioBitrate = 128_000
    }

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

/// The timeline of an output: where its zero and its end are on the session's, nanoseconds.
struct OutputTimeline: Hashable {
    var start: Int64
    /// Nil: wherever the recording ends.
    var end: Int64?
}
