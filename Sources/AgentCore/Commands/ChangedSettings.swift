import Encoding
import Media
import RTSP
import Wire

extension CaptureSettings {
    /// The settings after a change.
    /// - Throws: if they are contradictory; nothing has been opened then.
    func changed(by change: CaptureChange) throws(CaptureError) -> CaptureSettings {
        var settings = self
        if isSmallPreview, change.video == nil {
            let follows =
                change.size != nil || change.frameRate != nil || change.crop != nil
                || change.rotation != nil || change.isMirrored != nil
            if follows {
                throw .settings(
                    "the size, rate and rotation of this preview follow its source: change the source '\(pictureSource)'"
                )
            }
        }
        if let video = change.video {
            settings.video = try VideoChoice(argument: video)
            // Sound of a file stays with that file.
            if case .fileIfPresent(let path) = audio { settings.audio = .file(path: path) }
            // Sound of a network camera changes with its pictures.
            if case .networkIfPresent = audio {
                if case .network(let url) = settings.video {
                    settings.audio = .networkIfPresent(url)
                } else {
                    settings.audio = .none
                }
            }
        }
        if let audio = change.audio { settings.audio = try AudioChoice(argument: audio) }
        switch change.size {
        case .own: settings.size = nil
        case .this(let size): settings.size = size
        case nil: break
        }
        switch change.frameRate {
        case .own: settings.frameRate = nil
        case .this(let rate): settings.frameRate = rate
        case nil: break
        }
        switch change.crop {
        case .own: settings.crop = nil
        case .this(let crop): settings.crop = crop
        case nil: break
        }
        if let bitrate = change.videoBitrate {
            if case .network = settings.video {
                throw .settings(
                    "the pictures of a network camera are recorded unchanged: set the bitrate at the camera"
                )
            }
            guard encoder != .copy else {
                throw .settings(
                    "the video is copied and keeps its bitrate: use --encoder libx264 to change it"
                )
            }
            settings.videoBitrate = Int(clamping: bitrate)
            // The maximum bitrate stays in proportion.
            settings.videoBitrateCap = videoBitrateCap.map {
                Int(clamping: Int128($0) * Int128(bitrate) / Int128(max(1, videoBitrate)))
            }
        }
        if let rotation = change.rotation { settings.orientation.rotation = rotation }
        if let isMirrored = change.isMirrored { settings.orientation.isMirrored = isMirrored }
        return settings
    }
}

extension VideoChoice {
    /// The value of `--video`.
    package var argument: String {
        switch self {
        case .none: "none"
        case .test: "test"
        case .file(let path): "file:\(path)"
        case .device(let name): name
        case .network(let url): url.text
        case .small(CaptureSettings.smallBox): "small"
        case .small(let box): "small:\(box.width)x\(box.height)"
        }
    }

    /// For logs and status, without possible passwords.
    var summary: String {
        if case .network(let url) = self { return url.summary }
        return argument
    }
}

extension AudioChoice {
    /// The value of `--audio`.
    package var argument: String {
        switch self {
        case .none: "none"
        case .test: "test"
        case .file(let path), .fileIfPresent(let path): "file:\(path)"
        case .device(let name): name
        case .network(let url), .networkIfPresent(let url): url.text
        }
    }

    /// For logs and status, without possible passwords.
    var summary: String {
        switch self {
        case .network(let url), .networkIfPresent(let url): url.summary
        case .none, .test, .file, .fileIfPresent, .device: argument
        }
    }
}
