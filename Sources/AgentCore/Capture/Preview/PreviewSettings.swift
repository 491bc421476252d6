package import Media
import RTSP

extension CaptureSettings {
    /// Size of a preview of another camera or the test pattern that is encoded here: a tile of a wall of sixteen on a screen of 2,560 pixels.
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
        case .small:
            // It ends with its source, whose pictures it has at once.
            own.duration = nil
            own.loop = false
            own.late = .drop
            own.encoderCandidates = encoderCandidates
            // More threads need more time in total, and one is fast enough. It has the priority of the preview.
            own.encoderThreads = 1
            own.videoBitrate = min(videoBitrate, Self.smallBitrate)
        case .none: break
        }
        return own
    }

    /// Whether these are the settings of a preview of another source's pictures.
    package var isSmallPreview: Bool {
        if case .small = video { return true }
        return false
    }

    /// The source whose pictures are captured: another one for a preview of its pictures.
    package var pictureSource: String {
        isSmallPreview ? SourcePreviews.source(named: sourceName) ?? sourceName : sourceName
    }
}
