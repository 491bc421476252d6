package import Archive
import Media

/// Byte range and times of a fragment, without its samples: the input of playlists.
package struct FragmentOutline: Hashable, Sendable {
    /// Position in the file of `moof` and `mdat`.
    package var range: Range<Int64>
    /// End of the last shown sample of the main track, nanoseconds of session time; nil if none is shown. The main track is video, or
    /// audio in a file without video.
    package var mainEndNanoseconds: Int64?
    /// End of the last shown sample of any track.
    package var lastEndNanoseconds: Int64?
    /// ``RecordedFragment/decodableFromNanoseconds``: nil if decoding cannot start with this fragment.
    package var decodableFromNanoseconds: Int64?
    /// Start of its first shown sample if it has none of the main track: audio captured before the first picture. If it has only audio
    /// that is decoded and not shown (priming), the end of that.
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

    package init(_ fragment: RecordedFragment) {
        let main: TrackKind = fragment.file.format(.video) == nil ? .audio : .video
        range = fragment.range
        decodableFromNanoseconds = fragment.decodableFromNanoseconds
        var hasMain = false
        var first: Int64?
        var priming: Int64?
        for piece in fragment.pieces {
            for run in piece.runs {
                guard let shown = Self.extent(of: run, isShown: true) else {
                    if run.track == .video { hasMain = true }
                    priming = Self.extent(of: run, isShown: false)?.upperBound ?? priming
                    continue
                }
                if run.track == main { hasMain = true }
                first = min(first ?? shown.lowerBound, shown.lowerBound)
                let end = shown.upperBound
                lastEndNanoseconds = max(lastEndNanoseconds ?? end, end)
                if run.track == main { mainEndNanoseconds = max(mainEndNanoseconds ?? end, end) }
            }
        }
        if !hasMain { soundAloneFromNanoseconds = first ?? priming }
    }

    /// Start and end of a run's shown or hidden samples, rescaled once because they have one timescale.
    private static func extent(of run: ReadRun, isShown: Bool) -> ClosedRange<Int64>? {
        guard let timescale = run.samples.first?.timescale else { return nil }
        var start: Int64?
        var end: Int64?
        for sample in run.samples where sample.isHidden != isShown {
            start = min(start ?? sample.ptsTicks, sample.ptsTicks)
            let ticks = sample.ptsTicks.clampedAdding(sample.durationTicks)
            end = max(end ?? ticks, ticks)
        }
        guard let start, let end else { return nil }
        let first = timescale.nanoseconds(start)
        return first...max(first, timescale.nanoseconds(end))
    }

    /// Creates the outline of a fragment from the index of its file. In the index, the duration of a sample before a gap includes
    /// the gap, so ``SeekIndex`` replaces it by the usual duration.
    /// - Parameters:
    ///   - start: file offset of its `moof`.
    ///   - samples: its samples in file order; at least one.
    ///   - isShown: whether players show a sample.
    init(
        from start: Int64, _ samples: ArraySlice<IndexedSample>, main: TrackKind,
        isShown: (IndexedSample) -> Bool
    ) {
        var end = start
        var first: Int64?
        var priming: Int64?
        var hasMain = false
        for sample in samples {
            end = max(end, sample.range.upperBound)
            guard isShown(sample) else {
                if sample.track == .video { hasMain = true }
                priming = max(priming ?? sample.end, sample.end)
                continue
            }
            if sample.track == main { hasMain = true }
            first = min(first ?? sample.start, sample.start)
            lastEndNanoseconds = max(lastEndNanoseconds ?? sample.end, sample.end)
            if sample.track == main {
                mainEndNanoseconds = max(mainEndNanoseconds ?? sample.end, sample.end)
            }
        }
        range = start..<end
        if !hasMain { soundAloneFromNanoseconds = first ?? priming }
        decodableFromNanoseconds =
            main == .video
            ? samples.first { $0.track == .video }.flatMap { $0.isSync ? $0.start : nil } : first
    }
}

struct IndexedSample {
    var track: TrackKind
    /// Position in the file.
    var range: Range<Int64>
    /// Presentation time and its end, nanoseconds of session time.
    var start: Int64
    var end: Int64
    var isSync: Bool
}

extension RecordedFile {
    /// First fragments, which are read from the file: the index does not mark audio priming, which players discard.
    private static let leadingFragments = 2

    /// The fragments of a finished file from its index; only the first `moof` boxes are read.
    /// - Returns: nil if the index is not sufficient: the file is growing, was retimed, or has a track that starts later.
    package func outline() throws(ArchiveError) -> [FragmentOutline]? {
        guard isFinished, retiming == nil, let origin = originNanoseconds else { return nil }
        var cursor = try FileCursor(self)
        var leading: [RecordedFragment] = []
        while leading.count < Self.leadingFragments, let fragment = try cursor.next() {
            leading.append(fragment)
        }
        var anchors: [TrackKind: RecordedSample] = [:]
        for sample in leading.flatMap(\.samples) where anchors[sample.track] == nil {
            anchors[sample.track] = sample
        }
        guard let end = leading.last?.range.upperBound,
            Set(anchors.keys) == Set(formats.map(\.kind)),
            let samples = try SeekIndex(self).samples(anchors)
        else { return nil }
        // As in sequential reading: pictures before the first keyframe, and those for decoder recovery, are hidden.
        var keyframe = samples.first { $0.track == .video && $0.isSync }?.start ?? .max
        let pictures = leading.flatMap(\.samples).filter { $0.track == .video }
        if let recovering = pictures.last(where: { $0.flags.contains(.priming) }) {
            guard let shown = pictures.first(where: { $0.dtsTicks > recovering.dtsTicks }) else {
                return nil
            }
            keyframe = shown.ptsNanoseconds
        }
        let main: TrackKind = format(.video) == nil ? .audio : .video
        var outlines = leading.map { FragmentOutline($0) }
        var group: ArraySlice<IndexedSample> = []
        var start = end
        func close() {
            guard !group.isEmpty else { return }
            outlines.append(
                FragmentOutline(from: start, group, main: main) { sample in
                    sample.track == .video
                        ? sample.start >= max(keyframe, origin) : sample.end > origin
                })
        }
        var last = end
        for (index, sample) in samples.enumerated() where sample.range.lowerBound >= end {
            // Between two fragments' samples is the second one's `moof`.
            if sample.range.lowerBound > last {
                close()
                start = last
                group = samples[index..<index]
            }
            group = samples[group.startIndex...index]
            last = max(last, sample.range.upperBound)
        }
        close()
        return outlines
    }
}
