import Archive
package import Encoding
import Recordings
import Media
import Terminal

/// The picture that a player shows at an instant, as JPEG or PNG.
package struct PictureExtraction {
    private let range: ExportRange
    private let format: StillFormat
    private let target: ExtractTarget

    /// - Parameter range: its start is the instant.
    package init(_ range: ExportRange, as format: StillFormat, to target: ExtractTarget) {
        var range = range
        range.tracks = [.video]
        range.endNanoseconds = nil
        self.range = range
        self.format = format
        self.target = target
    }

    /// Extracts the picture; the summary's start is the picture's own time.
    package func run() throws -> ExportSummary {
        let picture = try shownPicture()
        let file = try target.open()
        try file.write(try StillPicture.encode(picture, as: format))
        var summary = ExportSummary()
        summary.startNanoseconds = picture.captureNanoseconds
        summary.pictures = 1
        summary.sizeBytes = file.position
        try target.close(file)
        return summary
    }

    /// The picture that is shown at the start of a range, as JPEG in memory.
    /// - Returns: the file's bytes, and the session time of the picture, nanoseconds.
    package static func jpeg(
        _ range: ExportRange, maximumWidth: Int
    ) throws -> (bytes: [UInt8], atNanoseconds: Int64) {
        let picture = try PictureExtraction(range, as: .jpeg, to: .standardOutput).shownPicture()
        return (
            try StillPicture.encode(picture, as: .jpeg, maximumWidth: maximumWidth),
            picture.captureNanoseconds
        )
    }

    private func shownPicture() throws -> RawFrame {
        let instant = range.startNanoseconds ?? .min
        if let end = try range.source.extent()?.endNanoseconds, instant >= end {
            throw ExportError.nothingThere(
                "\(range.source.name) at \(TimelinePoint.text(instant)): it ends at "
                    + TimelinePoint.text(end))
        }
        guard let picture = try picture(at: instant) else {
            throw ExportError.noTrack(.video, source: range.source.name)
        }
        guard range.startNanoseconds == nil || picture.captureNanoseconds <= instant + 1_000 else {
            throw ExportError.nothingThere(
                "\(range.source.name) at \(TimelinePoint.text(instant)): its first picture is at "
                    + TimelinePoint.text(picture.captureNanoseconds))
        }
        return picture
    }

    /// Maximum distance of a picture that is still shown: pictures can end before their audio, and a file can
    /// begin with audio, or lack its first pictures (``SegmenterSettings/videoPatienceNanoseconds``).
    private static let stepsBackNanoseconds: [Int64] = [1_000_000_000, 10_000_000_000]

    /// The last picture at or before the instant, or else the first one.
    private func picture(at instant: Int64) throws -> RawFrame? {
        let found = try picture(at: instant, in: range)
        func isShown(_ picture: RawFrame) -> Bool {
            picture.captureNanoseconds <= instant + 1_000
        }
        guard let start = range.startNanoseconds, found.map(isShown) != true else { return found }
        var range = range
        for step in Self.stepsBackNanoseconds {
            range.startNanoseconds = start.clampedSubtracting(step)
            if let earlier = try picture(at: instant, in: range), isShown(earlier) {
                return earlier
            }
        }
        return found
    }

    private func picture(at instant: Int64, in range: ExportRange) throws -> RawFrame? {
        var samples = try SelectedSamples(range)
        // One thread: each additional one would decode unneeded pictures.
        var pictures = RecordedPictures(threads: 1)
        var found: RawFrame?
        var isPast = false
        func take(_ frame: RawFrame) {
            // Times are rounded to nanoseconds, and users write milliseconds: a microsecond of tolerance.
            if !isPast, found == nil || frame.captureNanoseconds <= instant + 1_000 {
                found = frame
            } else {
                isPast = true
            }
        }
        while !isPast, let sample = try samples.next() { try pictures.decode(sample, emit: take) }
        if !isPast { try pictures.finish(emit: take) }
        return found
    }
}
