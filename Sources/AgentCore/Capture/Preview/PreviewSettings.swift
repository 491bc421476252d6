package import Media

extension CaptureSettings {
    /// Size of a preview of another camera or the test pattern that is encoded here: a tile of a wall of sixteen on a screen
    /// of 2,560 pixels.
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
        own.audio = nil
        own.orientation = orientation
        own.keyframeInterval = keyframeInterval
        own.duration = duration
        own.loop = loop
        own.late = late
        own.encoderPreset = encoderPreset
        own.profile = profile
        own.videoBitrate = min(videoBitrate, Self.previewBitrate)
        preview.kind.prepare(&own, of: self)
        return own
    }

    /// Whether these are the settings of a preview of another source's pictures.
    package var isSmallPreview: Bool { video?.kind is SmallInput }

    /// The source whose pictures are captured: another one for a preview of its pictures.
    package var pictureSource: String {
        isSmallPreview ? SourcePreviews.source(named: sourceName) ?? sourceName : sourceName
    }
}
