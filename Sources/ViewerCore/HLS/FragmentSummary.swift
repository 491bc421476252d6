package import Library
import Media

/// What a playlist needs to know of a fragment: a few numbers instead of all its samples.
package struct FragmentSummary: Hashable, Sendable {
    /// Head and media, in the file.
    package var range: Range<Int64>
    /// When the last shown sample of the main track ends, nanoseconds of session time; nil: none is shown. The main track is the
    /// picture, or the sound where the file has no pictures.
    package var mainEndNanoseconds: Int64?
    /// When the last shown sample of any track ends.
    package var lastEndNanoseconds: Int64?
    /// ``RecordedFragment/decodableFromNanoseconds``: nil where decoding cannot begin with it.
    package var decodableFromNanoseconds: Int64?

    package init(
        range: Range<Int64>, mainEndNanoseconds: Int64?, lastEndNanoseconds: Int64?,
        decodableFromNanoseconds: Int64?
    ) {
        self.range = range
        self.mainEndNanoseconds = mainEndNanoseconds
        self.lastEndNanoseconds = lastEndNanoseconds
        self.decodableFromNanoseconds = decodableFromNanoseconds
    }

    package init(_ fragment: RecordedFragment) {
        let main: TrackKind = fragment.file.format(.video) == nil ? .audio : .video
        range = fragment.range
        decodableFromNanoseconds = fragment.decodableFromNanoseconds
        for piece in fragment.pieces {
            for run in piece.runs {
                guard let end = Self.end(of: run) else { continue }
                lastEndNanoseconds = max(lastEndNanoseconds ?? end, end)
                if run.track == main { mainEndNanoseconds = max(mainEndNanoseconds ?? end, end) }
            }
        }
    }

    /// One conversion for a run, whose samples have one timescale.
    private static func end(of run: ReadRun) -> Int64? {
        guard let timescale = run.samples.first?.timescale else { return nil }
        var end: Int64?
        for sample in run.samples where !sample.isHidden {
            let ticks = sample.ptsTicks.clampedAdding(sample.durationTicks)
            end = max(end ?? ticks, ticks)
        }
        return end.map { saturatingRescale($0, from: timescale, to: .nanoseconds) }
    }
}
