import Devices
import Encoding
import Media

/// Parameters for encoding a file's pictures.
struct FilePicturePlan {
    var encoder: VideoEncoderSettings
    /// Pictures are dropped to reach a lower rate.
    var isThinned: Bool
}

/// Converts settings and properties of the source to encoder settings.
extension CaptureSettings {
    private static let defaultSize = SizePreset.high.size
    private static let defaultRate = FrameRate(30)
    /// If neither the file nor the settings have a rate.
    private static let unknownRate = FrameRate(25)
    /// Limit of the highest levels of H.264 and H.265.
    private static let longestSide = 16_384
    private static let fastestRate = 1000
    /// libx264's own limit.
    private static let mostBFrames = 16

    /// Size of the test pattern.
    var testPictureSize: PictureSize { size ?? Self.defaultSize }

    /// The test pattern's encoder.
    func testPicturePlan() throws(CaptureError) -> VideoEncoderSettings {
        let minimum = TestPicture.minimumSize
        let size = testPictureSize
        guard size.width >= minimum.width, size.height >= minimum.height else {
            throw .settings("the test pattern needs at least \(minimum) pixels, not \(size)")
        }
        guard size.width % 2 == 0, size.height % 2 == 0 else {
            throw .settings("video needs an even width and height, not \(size)")
        }
        var plan = try plan(
            size: try wanted(of: size), rate: frameRate ?? Self.defaultRate, hasConstantRate: true)
        plan.colour = .bt709
        return plan
    }

    /// The encoder for a file's pictures.
    func filePicturePlan(
        _ picture: CodedTrack.Picture, path: String
    ) throws(CaptureError) -> FilePicturePlan {
        guard picture.width > 1, picture.height > 1 else {
            throw .source("\(path): the frame size is unknown; the file may be truncated")
        }
        // Video with 4:2:0 colour has even sides.
        let own = PictureSize(width: picture.width & ~1, height: picture.height & ~1)
        let ownRate = picture.rate
        let rate = frameRate.map { min($0, ownRate ?? $0) } ?? ownRate ?? Self.unknownRate
        let isThinned = ownRate.map { rate < $0 } ?? (frameRate != nil)
        let part = try wanted(of: own)
        var plan = try plan(
            size: size ?? part, rate: rate,
            hasConstantRate: picture.hasConstantRate && !isThinned)
        plan.colour = picture.colour
        if picture.format?.name == "yuvj420p" {
            plan.colour?.isFullRange = true
        } else if picture.format?.name.hasPrefix("yuv") == false, picture.format != .nv12 {
            // Other colour models are converted to Y′CbCr with this matrix.
            plan.colour = .bt709
        }
        plan.sampleAspectRatio = SampleAspectRatio.keepingShape(
            picture.sampleAspectRatio, of: part, at: plan.size)
        // Other encoders may not support it.
        if picture.format == .nv12, plan.encoder == VideoEncoderSettings.x264 {
            plan.pixelFormat = .nv12
        }
        return FilePicturePlan(encoder: plan, isThinned: isThinned)
    }

    /// The size after cropping.
    func wanted(of whole: PictureSize) throws(CaptureError) -> PictureSize {
        guard let crop else { return whole }
        guard crop.fits(whole) else {
            throw .settings(
                "the crop rectangle \(crop) is not within the frame size \(whole): make it smaller")
        }
        return crop.size
    }

    /// Parameters of the rate control.
    func videoRate() throws(CaptureError) -> VideoRate {
        guard videoBitrate > 0, videoBuffer > .zero else {
            throw .settings("bitrate and VBV buffer must be positive")
        }
        let cap = videoBitrateCap ?? videoBitrate + videoBitrate / 2
        guard cap >= videoBitrate else {
            throw .settings(
                "the maximum bitrate (\(cap)) is below the average bitrate (\(videoBitrate))")
        }
        return VideoRate(
            average: videoBitrate, maximum: cap,
            bufferBits: Int(
                clamping: Int128(cap) * Int128(videoBuffer.nanoseconds) / 1_000_000_000))
    }

    /// The sound's encoder.
    func soundPlan(
        sourceRate: Int, sourceChannels: Int
    ) throws(CaptureError) -> AudioEncoderSettings {
        guard audioBitrate > 0 else {
            throw .settings("the audio bitrate must be positive, not \(audioBitrate)")
        }
        let channels = channels ?? min(sourceChannels, 2)
        var plan = AudioEncoderSettings(sampleRate: sourceRate, channels: channels)
        guard plan.codec.supports(channels: channels) else {
            throw .settings("\(plan.codec) has 1 to 6 or 8 channels, not \(channels)")
        }
        plan.sampleRate = sampleRate ?? plan.codec.rate(for: sourceRate)
        plan.bitrate = audioBitrate
        return plan
    }

    /// Settings for an encoder of pictures of that size and rate.
    func plan(
        size: PictureSize, rate: FrameRate, hasConstantRate: Bool
    ) throws(CaptureError) -> VideoEncoderSettings {
        guard size.width % 2 == 0, size.height % 2 == 0 else {
            throw .settings("video needs an even width and height, not \(size)")
        }
        guard size.width > 0, size.height > 0, size.width <= Self.longestSide,
            size.height <= Self.longestSide
        else { throw .settings("the frame size \(size) is out of range") }
        guard rate < FrameRate(Int32(Self.fastestRate + 1)) else {
            throw .settings("the frame rate must be at most \(Self.fastestRate) fps, not \(rate)")
        }
        guard keyframeInterval > .zero else {
            throw .settings("the keyframe interval must be positive")
        }
        guard (0...Self.mostBFrames).contains(bFrames) else {
            throw .settings("0 to \(Self.mostBFrames) B-frames, not \(bFrames)")
        }
        guard encoderThreads >= 0 else {
            throw .settings("--encoder-threads must be 0 or more, not \(encoderThreads)")
        }
        var plan = VideoEncoderSettings(
            size: size, frameRate: rate, hasConstantRate: hasConstantRate)
        if case .named(let name) = encoder { plan.encoder = name }
        plan.rate = try videoRate()
        plan.keyframeInterval = keyframeInterval
        plan.bFrames = bFrames
        plan.profile = profile
        plan.preset = encoderPreset
        plan.tune = tune ?? (bFrames == 0 ? .zeroLatency : .none)
        plan.threads = encoderThreads
        return plan
    }
}
