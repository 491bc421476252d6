package import Media
import RTSP

extension CaptureSettings {
    /// Size of a preview that is encoded here: a tile of a wall of sixteen on a screen of 2,560 pixels.
    package static let previewSize = PictureSize(width: 640, height: 360)
    /// Bits per second of such a preview.
    package static let previewBitrate = 500_000

    /// The settings of the preview, which is a source of its own without sound; nil: none is recorded.
    ///
    /// It has the log-in, the rotation and the pace of its source. A second stream of a network camera is recorded unchanged, as
    /// is a file with the encoder `copy`. Other pictures are encoded as H.264, which every browser decodes.
    package var ownPreview: CaptureSettings? {
        guard let preview else { return nil }
        var own = CaptureSettings(sourceName: SourcePreviews.name(of: sourceName))
        own.video = preview
        own.audio = .none
        own.orientation = orientation
        own.keyframeInterval = keyframeInterval
        own.duration = duration
        own.loop = loop
        own.late = late
        own.encoderPreset = encoderPreset
        own.profile = profile
        own.videoBitrate = min(videoBitrate, Self.previewBitrate)
        switch preview {
        case .network(let url):
            own.cameraLogin = cameraLogin
            own.cameraTransport = cameraTransport
            own.cameraDelay = cameraDelay
            if url.isSecure { own.cameraTrust = cameraTrust }
        case .file: if encoder == .copy { own.encoder = .copy }
        case .device, .test:
            own.size = Self.previewSize
            own.frameRate = frameRate
        case .none: break
        }
        return own
    }
}
