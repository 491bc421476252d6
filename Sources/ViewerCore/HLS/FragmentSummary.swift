import Library
import Media
package import Recordings

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
    /// When its first shown sample begins, if it has none of the main track: sound that was captured before the first picture.
    package var soundAloneFromNanoseconds: Int64?

    package init(
        range: Range<Int64>, mainEndNanoseconds: Int64?, lastEndNanoseconds: Int64?,
        decodableFromNanoseconds: Int64?, soundAloneFromNanoseconds: Int64? = nil
    ) {
        self.range = range
        self.mainEndNanoseconds = mainEndNanoseconds
        self.lastEndNanoseconds = lastEndNanoseconds
        self.decodableFromNanoseconds = decodableFromNanoseconds
        self.soundAloneFromNanoseconds = soundAloneFromNanoseconds
    }

    /// A fragment that was not read.
    package init(_ outline: FragmentOutline) {
        self.init(
            range: outline.range, mainEndNanoseconds: outline.mainEndNanoseconds,
            lastEndNanoseconds: outline.lastEndNanoseconds,
            decodableFromNanoseconds: outline.decodableFromNanoseconds,
            soundAloneFromNanoseconds: outline.soundAloneFromNanoseconds)
    }

    package init(_ fragment: RecordedFragment) {
        let main: TrackKind = fragment.file.format(.video) == nil ? .audio : .video
        range = fragment.range
        decodableFromNanoseconds = fragment.decodableFromNanoseconds
        var hasMain = false
        var first: Int64?
        for piece in fragment.pieces {
            for run in piece.runs {
                if run.track == main { hasMain = true }
                guard let shown = Self.shown(of: run) else { continue }
                first = min(first ?? shown.lowerBound, shown.lowerBound)
                let end = shown.upperBound
                lastEndNanoseconds = max(lastEndNanoseconds ?? end, end)
                if run.track == main { mainEndNanoseconds = max(mainEndNanoseconds ?? end, end) }
            }
        }
        if !hasMain { soundAloneFromNanoseconds = first }
    }

    /// When what is shown of a run begins and ends: one conversion for a run, whose samples have one timescale.
    private static func shown(of run: ReadRun) -> ClosedRange<Int64>? {
        guard let timescale = run.samples.first?.timescale else { return nil }
        var start: Int64?
        var end: Int64?
        for sample in run.samples where !sample.isHidden {
            start = min(start ?? sample.ptsTicks, sample.ptsTicks)
            let ticks = sample.ptsTicks.clampedAdding(sample.durationTicks)
            end = max(end ?? ticks, ticks)
        }
        guard let start, let end else { return nil }
        let first = saturatingRescale(start, from: timescale, to: .nanoseconds)
        return first...max(first, saturatingRescale(end, from: timescale, to: .nanoseconds))
    }
}
