import MP4
import Media

/// Detects pictures that follow each other faster than a camera delivers them: their stamps were invented, or could not be kept.
///
/// Two fields of one picture, or a picture whose stamp was moved after another's, are close together without significance. A
/// whole second's worth of pictures within some milliseconds is significant.
enum PictureSpacing {
    /// Minimum number of consecutive pictures.
    static let pictures = 30
    /// Maximum duration of that many pictures: more than 10,000 a second. Cameras for slow motion, whose files are
    /// imported, are slower.
    static let milliseconds: Int64 = 3

    /// The number of pictures in such crowded sequences.
    static func crowded(_ samples: [ScannedSample], _ timescale: Timescale) -> UInt64 {
        let span = Int64(timescale.ticksPerSecond) * milliseconds / 1_000
        var count: UInt64 = 0
        var counted = 0
        for last in samples.indices.dropFirst(pictures - 1) {
            let first = last - (pictures - 1)
            guard samples[last].dts - samples[first].dts < span else { continue }
            count += UInt64(last + 1 - max(first, counted))
            counted = last + 1
        }
        return count
    }

    /// Number of pictures that could not be kept at their stamps according to a source's ledger; nil: some, but the
    /// number is unknown.
    static func explained(by ledger: [LedgerEntry]) -> UInt64? {
        let lines = ledger.filter { $0.kind == .time && $0.isAboutPictures }
        // Early versions only recorded it as text.
        return lines.contains { $0.samples == nil } ? nil : lines.compactMap(\.samples).clampedSum
    }
}

extension LedgerEntry {
    /// Whether a `time` line is about stamps of pictures.
    fileprivate var isAboutPictures: Bool {
        guard samples == nil else { return track == nil || track == TrackKind.video.description }
        return text?.contains("video samples with times that could not be kept") ?? false
    }
}

extension FileVerifier {
    /// Reports pictures that cannot have been captured as fast as they are presented.
    /// - Parameter ledger: the source's; nil: there is none.
    mutating func checkSpacing(_ ledger: [LedgerEntry]?) {
        guard let video = tracks[.video] else { return }
        let crowded = PictureSpacing.crowded(video.samples, video.format.timescale)
        guard crowded > 0 else { return }
        let text =
            "\(crowded) pictures are closer together than a camera delivers them (more than "
            + "\(1_000 * Int64(PictureSpacing.pictures) / PictureSpacing.milliseconds) a second)"
        guard let ledger else {
            return note("\(text); there is no ledger beside the file that could explain it")
        }
        // The first picture of a crowded sequence is at its stamp.
        let unexplained = UInt64(crowded) - UInt64(crowded) / UInt64(PictureSpacing.pictures)
        if let explained = PictureSpacing.explained(by: ledger), explained < unexplained {
            damage("\(text), and the ledger explains \(explained) of them")
        } else {
            note("\(text); the ledger says that their times could not be kept")
        }
    }
}
