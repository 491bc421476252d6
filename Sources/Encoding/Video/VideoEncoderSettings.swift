package import Media

/// H.264 profiles (ISO/IEC 14496-10 Annex A).
package enum VideoProfile: String, CaseIterable, Hashable, Sendable {
    case baseline, main, high
}

/// The tuning of libx264 and libx265.
package enum VideoTune: String, CaseIterable, Hashable, Sendable {
    /// No lookahead and no reordering.
    case zeroLatency = "zerolatency"
    /// Lookahead: better quality at the same bitrate, with more latency.
    case none
}

/// Parameters of the rate control.
package struct VideoRate: Hashable, Sendable {
    /// Average bits per second.
    package var average: Int
    /// VBV maximum bitrate, bits per second.
    package var maximum: Int
    /// VBV buffer size, bits.
    package var bufferBits: Int

    package init(average: Int, maximum: Int, bufferBits: Int) {
        self.average = average
        self.maximum = maximum
        self.bufferBits = bufferBits
    }
}

/// Settings of a ``VideoEncoder``.
package struct VideoEncoderSettings: Hashable, Sendable {
    /// libavcodec's name of the default encoder.
    package static let x264 = "libx264"
    /// The presets of libx264 and libx265, fastest first.
    package static let x264Presets = [
        "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower",
        "veryslow", "placebo",
    ]

    /// libavcodec's name of the encoder.
    package var encoder = Self.x264
    /// The codec of its output.
    package var codec: VideoCodec { CodecLibrary.codec(ofEncoder: encoder) ?? .h264 }
    /// Size of the encoded picture; pictures of another size are scaled to it.
    package var size: PictureSize
    /// The nominal rate.
    package var frameRate: FrameRate
    /// Whether pictures are exactly at the nominal rate. Otherwise the rate control uses their times, with a delay of
    /// one picture.
    package var hasConstantRate: Bool
    /// Input format that needs no conversion: YUV 4:2:0, planar or NV12.
    package var pixelFormat = PixelFormat.yuv420p
    /// `nil` for square pixels.
    package var sampleAspectRatio: SampleAspectRatio?
    /// Colour description; nil: unknown.
    package var colour: ColourDescription?
    /// Average bits per second.
    package var bitrate = 4_000_000
    /// VBV maximum bitrate, bits per second.
    package var maximumBitrate = 6_000_000
    /// VBV size, bits.
    package var bufferBits = 6_000_000
    package var keyframeInterval = Duration.seconds(2)
    /// Maximum consecutive B-frames.
    package var bFrames = 0
    package var profile = VideoProfile.high
    package var preset = "veryfast"
    package var tune = VideoTune.zeroLatency
    /// 0: automatic.
    package var threads = 0

    package var rate: VideoRate {
        get { VideoRate(average: bitrate, maximum: maximumBitrate, bufferBits: bufferBits) }
        set {
            bitrate = newValue.average
            maximumBitrate = newValue.maximum
            bufferBits = newValue.bufferBits
        }
    }

    package init(size: PictureSize, frameRate: FrameRate, hasConstantRate: Bool) {
        self.size = size
        self.frameRate = frameRate
        self.hasConstantRate = hasConstantRate
    }
}
