package import Archive
import Media

/// What playlists need to know of a fragment, computed from the index of its file.
///
/// A sample before a gap ends as soon as most others do: the index says only when the next one begins.
package struct FragmentOutline: Hashable, Sendable {
    /// Head and media, in the file.
    package var range: Range<Int64>
    /// When the last shown sample of the main track ends, nanoseconds of session time; nil: none is shown. The main track is the
    /// picture, or the sound where the file has no pictures.
    package var mainEndNanoseconds: Int64?
    /// When the last shown sample of any track ends.
    package var lastEndNanoseconds: Int64?
    /// ``RecordedFragment/decodableFromNanoseconds``.
    package var decodableFromNanoseconds: Int64?
    /// When its first shown sample begins, if it has none of the main track.
    package var soundAloneFromNanoseconds: Int64?

    package init(
        range: Range<Int64>, mainEndNanoseconds: Int64?, lastEndNanoseconds: Int64?,
        decodableFromNanoseconds: Int64?, soundAloneFromNanoseconds: Int64?
    ) {
        self.range = range
        self.mainEndNanoseconds = mainEndNanoseconds
        self.lastEndNanoseconds = lastEndNanoseconds
        self.decodableFromNanoseconds = decodableFromNanoseconds
        self.soundAloneFromNanoseconds = soundAloneFromNanoseconds
    }

    /// - Parameters:
    ///   - start: where its head begins.
    ///   - samples: all of it, in the order of their bytes; at least one.
    ///   - isShown: whether players show a sample.
    init(
        from start: Int64, _ samples: ArraySlice<IndexedSample>, main: TrackKind,
        isShown: (IndexedSample) -> Bool
    ) {
        var end = start
        var first: Int64?
        var hasMain = false
        for sample in samples {
            end = max(end, sample.range.upperBound)
            if sample.track == main { hasMain = true }
            guard isShown(sample) else { continue }
            first = min(first ?? sample.start, sample.start)
            lastEndNanoseconds = max(lastEndNanoseconds ?? sample.end, sample.end)
            if sample.track == main {
                mainEndNanoseconds = max(mainEndNanoseconds ?? sample.end, sample.end)
            }
        }
        range = start..<end
        if !hasMain { soundAloneFromNanoseconds = first }
        decodableFromNanoseconds =
            main == .video
            ? samples.first { $0.track == .video }.flatMap { $0.isSync ? $0.start : nil } : first
    }
}

/// A sample of an index, on the session's timeline.
struct IndexedSample {
    var track: TrackKind
    /// Where in the file its bytes are.
    var range: Range<Int64>
    /// When it is presented, and when it ends, nanoseconds of session time.
    var start: Int64
    var end: Int64
    var isSync: Bool
}

extension RecordedFile {
    /// Fragments that are read, and not computed: there sound begins that no player shows, which the index does not mark.
    private static let leadingFragments = 2

    /// The fragments of a finished file from its index, without the heads of all but the first ones.
    /// - Returns: the first fragments as they were read, and the others; nil where the index does not say it: the file grows, was retimed,
    ///   or has a track that begins later.
    package func outline() throws(ArchiveError) -> (
        leading: [RecordedFragment], others: [FragmentOutline]
    )? {
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
        // As the file is walked: pictures before its first keyframe are not shown, nor are those that a decoder needs to recover.
        var keyframe = samples.first { $0.track == .video && $0.isSync }?.start ?? .max
        let pictures = leading.flatMap(\.samples).filter { $0.track == .video }
        if let recovering = pictures.last(where: { $0.flags.contains(.priming) }) {
            guard let shown = pictures.first(where: { $0.dtsTicks > recovering.dtsTicks }) else {
                return nil
            }
            keyframe = shown.ptsNanoseconds
        }
        let main: TrackKind = format(.video) == nil ? .audio : .video
        var others: [FragmentOutline] = []
        var group: ArraySlice<IndexedSample> = []
        var start = end
        func close() {
            guard !group.isEmpty else { return }
            others.append(
                FragmentOutline(from: start, group, main: main) { sample in
                    sample.track == .video
                        ? sample.start >= max(keyframe, origin) : sample.end > origin
                })
        }
        var last = end
        for (index, sample) in samples.enumerated() where sample.range.lowerBound >= end {
            // Behind the media of a fragment lies the head of the next one.
            if sample.range.lowerBound > last {
                close()
                start = last
                group = samples[index..<index]
            }
            group = samples[group.startIndex...index]
            last = max(last, sample.range.upperBound)
        }
        close()
        return (leading, others)
    }
}
