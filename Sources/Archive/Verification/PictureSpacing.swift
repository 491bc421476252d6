import MP4
import Media

/// Pictures that follow each other faster than a camera gives them: stamps that somebody made up, or that could not be kept.
///
/// Two fields of one picture, or one picture whose stamp was pushed behind another's, are close together and mean nothing. A whole
/// second's worth of them within a thirtieth of it does.
enum PictureSpacing {
    /// So many pictures in a row …
    static let pictures = 30
    /// … within less than this: more than 1,000 a second. Industrial cameras end below that at sizes that anybody encodes live.
    static let milliseconds: Int64 = 30

    /// How many pictures are part of such a crowd.
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

    /// How many pictures a source's ledger says were not kept where their stamps said; nil: some, and not how many.
    static func explained(by ledger: [LedgerEntry]) -> UInt64? {
        let lines = ledger.filter { $0.kind == .time && $0.isAboutPictures }
        // Early versions said it in words alone.
        return lines.contains { $0.samples == nil } ? nil : lines.compactMap(\.samples).clampedSum
    }
}

extension LedgerEntry {
    /// Of a `time` line: whether it is of stamps, and of pictures'.
    fileprivate var isAboutPictures: Bool {
        guard samples == nil else { return track == nil || track == TrackKind.video.description }
        return text?.contains("video samples with times that could not be kept") ?? false
    }
}

extension FileVerifier {
    /// Says of pictures that cannot have been captured as fast as they are presented.
    /// - Parameter ledger: the source's; nil: there is none to look at.
    mutating func checkSpacing(_ ledger: [LedgerEntry]?) {
        guard let video = tracks[.video] else { return }
        let crowded = PictureSpacing.crowded(video.samples, video.format.timescale)
        guard crowded > 0 else { return }
        let text =
            "\(crowded) pictures lie closer together than a camera gives them (more than "
            + "\(1_000 * Int64(PictureSpacing.pictures) / PictureSpacing.milliseconds) a second)"
        guard let ledger else {
            return note("\(text); there is no ledger beside the file that could say why")
        }
        // The first picture of a crowd is where its stamp says.
        let unexplained = UInt64(crowded) - UInt64(crowded) / UInt64(PictureSpacing.pictures)
        if let explained = PictureSpacing.explained(by: ledger), explained < unexplained {
            damage("\(text), and the ledger explains \(explained) of them")
        } else {
            note("\(text); the ledger says that their times could not be kept")
        }
    }
}
