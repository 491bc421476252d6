package import Media

/// H.264 profiles that can be asked for (ISO/IEC 14496-10 Annex A).
package enum VideoProfile: String, CaseIterable, Hashable, Sendable {
    case baseline, main, high
}

/// What libx264 optimises for.
package enum VideoTune: String, CaseIterable, Hashable, Sendable {
    /// A picture comes out as soon as it went in.
    case zeroLatency = "zerolatency"
    /// Pictures are looked at ahead: better quality for the bits, later.
    case none
}

/// How many bits pictures may have.
package struct VideoRate: Hashable, Sendable {
    /// Bits per second on average.
    package var average: Int
    /// The most bits per second that the decoder's buffer is filled with (VBV).
    package var maximum: Int
    /// What that buffer holds, bits.
    package var bufferBits: Int

    package init(average: Int, maximum: Int, bufferBits: Int) {
        self.average = average
        self.maximum = maximum
        self.bufferBits = bufferBits
    }
}

/// How a ``VideoEncoder`` encodes.
package struct VideoEncoderSettings: Hashable, Sendable {
    /// libavcodec's name of the encoder that is used unless another is asked for.
    package static let x264 = "libx264"
    /// How much work that one does for quality, least first.
    package static let x264Presets = [
        "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower",
        "veryslow", "placebo",
    ]

    /// libavcodec's name of the encoder.
    package var encoder = Self.x264
    /// Size of the encoded picture; pictures of another size are scaled to it.
    package var size: PictureSize
    /// The nominal rate.
    package var frameRate: FrameRate
    /// Pictures come exactly at the nominal rate. Otherwise the rate control goes by their times, at the price
    /// of one picture's delay.
    package var hasConstantRate: Bool
    /// How pictures come that need no conversion: YUV 4:2:0, planar or NV12.
    package var pixelFormat = PixelFormat.yuv420p
    /// Nil: square.
    package var sampleAspectRatio: SampleAspectRatio?
    /// What the pictures' numbers mean; nil: nobody knows.
    package var colour: ColourDescription?
    /// Average bits per second.
    package var bitrate = 4_000_000
    /// VBV rate, bits per second.
    package var maximumBitrate = 6_000_000
    /// VBV size, bits.
    package var bufferBits = 6_000_000
    package var keyframeInterval = Duration.seconds(2)
    /// How many B-frames in a row.
    package var bFrames = 0
    package var profile = VideoProfile.high
    package var preset = "veryfast"
    package var tune = VideoTune.zeroLatency
    /// 0: as many as the machine has use for.
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
