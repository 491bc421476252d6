import Encoding
import Media
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
            settings.video = try CaptureInput.parse(video, for: .video)
            if isAudioOptional, let audio, audio.kind.soundFollowsPictures {
                settings.audio = settings.video.flatMap {
                    type(of: $0.kind) == type(of: audio.kind) ? $0 : nil
                }
            }
        }
        if let audio = change.audio {
            settings.audio = try CaptureInput.parse(audio, for: .audio)
            settings.isAudioOptional = false
        }
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
            if settings.isVideoCopied {
                throw .settings(
                    "the pictures of a network camera are recorded unchanged: set the bitrate at the camera"
                )
            }
            guard encoder != .copy else {
                throw .settings(
                    "the video is copied and keeps its bitrate: use --encoder libx264 to change it"
                )
            }
            guard Self.videoBitrates.contains(Int(clamping: bitrate)) else {
                throw .settings("the video bitrate cannot be \(bitrate) bit/s: use 1k to 1G")
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
