package import Archive
import Media

/// From when to when one file of a recording has something to be seen or heard, nanoseconds of session time.
package struct RecordedSpan: Hashable, Sendable {
    package var startNanoseconds: Int64
    package var endNanoseconds: Int64

    /// Both tracks begin within so many fragments, if they begin together.
    private static let leadingFragments = 2

    /// Reads the beginning of a file, and where it ends: of a finished one from its index, of one that grows from its fragments.
    /// - Returns: nil where it has no samples yet.
    package init?(of file: RecordedFile) throws(ArchiveError) {
        guard let origin = file.originNanoseconds else { return nil }
        var cursor = try FileCursor(file)
        var start: Int64?
        var end: Int64?
        if file.isFinished {
            end = FinishedFile(reading: try file.source()).map {
                origin.clampedAdding($0.lengthNanoseconds)
            }
        }
        let isEndKnown = end != nil
        var fragments = 0
        while fragments < Self.leadingFragments || !isEndKnown, let fragment = try cursor.next() {
            for sample in fragment.samples where !sample.isHidden {
                if fragments < Self.leadingFragments {
                    start = min(start ?? sample.ptsNanoseconds, sample.ptsNanoseconds)
                }
                if !isEndKnown { end = max(end ?? sample.endNanoseconds, sample.endNanoseconds) }
            }
            if start != nil { fragments += 1 }
        }
        guard let start, let end else { return nil }
        startNanoseconds = start
        endNanoseconds = max(start, end)
    }
}
