import Media
package import Wire

// Differences between the settings of a running capture and those of a configuration.
extension CaptureSettings {
    /// The change of a running capture with these settings after which it has the settings `new`, as far as a capture can be
    /// changed.
    package func change(to new: CaptureSettings) -> CaptureChange {
        var change = CaptureChange()
        if video != new.video { change.video = new.video.argument }
        // Default sound follows the pictures.
        if audio != new.audio, !new.isAudioOptional || !isAudioOptional {
            change.audio = new.audio.argument
        }
        if videoBitrate != new.videoBitrate {
            change.videoBitrate = UInt64(clamping: new.videoBitrate)
        }
        // The others of a small preview follow its source.
        if new.isSmallPreview { return change }
        if size != new.size { change.size = new.size.map { .this($0) } ?? .own }
        if frameRate != new.frameRate {
            change.frameRate = new.frameRate.map { .this($0) } ?? .own
        }
        if crop != new.crop { change.crop = new.crop.map { .this($0) } ?? .own }
        if orientation.rotation != new.orientation.rotation {
            change.rotation = new.orientation.rotation
        }
        if orientation.isMirrored != new.orientation.isMirrored {
            change.isMirrored = new.orientation.isMirrored
        }
        return change
    }

    /// Whether a running capture can be changed to the settings `new`: all other settings are equal.
    func isChangeable(to new: CaptureSettings) -> Bool {
        var own = self
        own.video = new.video
        own.audio = new.audio
        own.isAudioOptional = new.isAudioOptional
        own.videoBitrate = new.videoBitrate
        own.size = new.size
        own.frameRate = new.frameRate
        own.crop = new.crop
        own.orientation = new.orientation
        return own == new
    }
}

extension CaptureChange {
    /// The names of the options that ``CaptureSettings/change(to:)`` can change, without hyphens.
    package static let options: Set<String> = [
        "video", "audio", "video-bitrate", "size", "fps", "crop", "rotate", "mirror",
    ]

    /// The names of the changed options.
    package var changedOptions: Set<String> {
        let changes: [(String, Bool)] = [
            ("video", video != nil), ("audio", audio != nil),
            ("video-bitrate", videoBitrate != nil), ("size", size != nil),
            ("fps", frameRate != nil), ("crop", crop != nil), ("rotate", rotation != nil),
            ("mirror", isMirrored != nil),
        ]
        return Set(changes.filter(\.1).map(\.0))
    }
}
