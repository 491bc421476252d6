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

    /// Pictures in crowded sequences.
    struct Crowd: Hashable {
        var pictures: UInt64 = 0
        var sequences: UInt64 = 0

        /// The minimum number of these pictures whose times are not their stamps. The first picture of a sequence is at its
        /// stamp, and so is the one that ends it, if its stamp is within the span by chance.
        var unexplained: UInt64 {
            let kept = pictures / UInt64(PictureSpacing.pictures) + sequences
            return pictures - min(kept, pictures)
        }
    }

    /// Counts pictures in crowded sequences.
    static func crowded(_ samples: [ScannedSample], _ timescale: Timescale) -> Crowd {
        let span = Int64(timescale.ticksPerSecond) * milliseconds / 1_000
        var crowd = Crowd()
        var counted = 0
        for last in samples.indices.dropFirst(pictures - 1) {
            let first = last - (pictures - 1)
            guard samples[last].dts - samples[first].dts < span else { continue }
            if first >= counted { crowd.sequences += 1 }
            crowd.pictures += UInt64(last + 1 - max(first, counted))
            counted = last + 1
        }
        return crowd
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
        guard crowded.pictures > 0 else { return }
        let text =
            "\(crowded.pictures) pictures are closer together than a camera delivers them (more than "
            + "\(1_000 * Int64(PictureSpacing.pictures) / PictureSpacing.milliseconds) a second)"
        guard let ledger else {
            return note("\(text); there is no ledger beside the file that could explain it")
        }
        if let explained = PictureSpacing.explained(by: ledger), explained < crowded.unexplained {
            damage("\(text), and the ledger explains \(explained) of them")
        } else {
            note("\(text); the ledger says that their times could not be kept")
        }
    }
}
