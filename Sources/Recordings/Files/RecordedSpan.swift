package import Archive
import Media

/// The time range covered by a file's samples, session time in nanoseconds.
package struct RecordedSpan: Hashable, Sendable {
    package var startNanoseconds: Int64
    package var endNanoseconds: Int64

    /// Tracks that start together do so within these fragments.
    private static let leadingFragments = 2

    /// Reads the range: the end is read from the index of a finished file, and from the fragments of a growing one.
    /// - Returns: nil for a file without samples.
    package init?(of file: RecordedFile) throws(ArchiveError) {
        guard let origin = file.originNanoseconds else { return nil }
        var cursor = try FileCursor(file)
        var start: Int64?
        var end: Int64?
        if file.isFinished {
            end = FinishedFile(reading: try file.source()).map {
                file.corrected(origin.clampedAdding($0.lengthNanoseconds))
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
