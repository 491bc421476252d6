import Devices
import Encoding
import Media

/// Converts settings to a camera request, and the camera's mode to encoder settings.
extension CaptureSettings {
    private static let usualCameraRate = FrameRate(30)

    /// The request to the camera.
    func cameraRequest() throws(CaptureError) -> CameraRequest {
        let needs = CameraRequest.H264Needs(
            bitrate: videoBitrate, keyframeIntervalNanoseconds: keyframeInterval.nanoseconds)
        var request = CameraRequest(
            size: .levels((preset ?? .high).levels), rate: frameRate ?? Self.usualCameraRate,
            ownH264: .ifItMeets(needs))
        if preset == nil, let size { request.size = .exactly(size) }
        let format = try videoFormat.map(Self.code)
        request.code = format
        switch encoder {
        case .auto where format != .h264:
            if crop != nil { request.ownH264 = .never("a crop rectangle was requested") }
        case .auto, .copy:
            request.ownH264 = .always(needs)
            if crop != nil {
                throw .settings(
                    "--crop needs an encoder: leave --crop out, or "
                        + (encoder == .copy ? "--encoder copy" : "--video-format h264"))
            }
            if let format, format != .h264 {
                throw .settings(
                    "--encoder copy copies H.264, not \(format): leave one of them out")
            }
        case .named(let name):
            request.ownH264 = .never("\(name) was requested")
            if format == .h264 {
                throw .settings(
                    "--video-format h264 is already encoded: leave --encoder \(name) out")
            }
        }
        return request
    }

    private static func code(_ text: String) throws(CaptureError) -> CameraPixelCode {
        guard let code = CameraPixelCode(argument: text) else {
            throw .settings(
                "--video-format \"\(text)\" is not a format: use yuyv, nv12, yu12, mjpeg, h264, or a V4L2 four "
                    + "characters")
        }
        return code
    }

    /// The encoder for a camera's pictures.
    func cameraPlan(
        _ choice: CameraChoice, _ layout: CameraPictureLayout
    ) throws(CaptureError) -> VideoEncoderSettings {
        // A camera that slows down in the dark gets fewer bits for a while; the alternative is that every picture is late.
        var plan = try plan(
            size: wanted(of: choice.recordedSize), rate: choice.recordedRate, hasConstantRate: true)
        plan.colour = layout.colour
        // Other encoders may not support it.
        if case .raw(let raw) = layout.coding, raw.format == .nv12,
            choice.recordedSize == layout.size, plan.encoder == VideoEncoderSettings.x264
        {
            plan.pixelFormat = .nv12
        }
        return plan
    }
}

extension SizePreset {
    /// This preset and the smaller ones, which replace it if the camera does not support it.
    var levels: [CameraRequest.Level] {
        Self.allCases.reversed().drop { $0 != self }.map {
            CameraRequest.Level(name: $0.rawValue, size: $0.size)
        }
    }
}

extension CameraChoice {
    /// "YUYV 640×360 at 15 fps".
    var text: String {
        let rate = rate.map { " at \($0) fps" } ?? ""
        return "\(code) \(size)\(rate)"
    }
}
