import Archive
import Media
import MP4

/// The error bounds of times stated in a recording: in its fragments, or in the index of a retimed file.
package struct RecordedBounds: Sendable {
    private struct Entry {
        var startNanoseconds: Int64
        var boundNanoseconds: Int64
    }

    /// In the order of their starts.
    private var entries: [Entry] = []
    /// The file's origin on its session's timeline, nanoseconds; nil when it has no record.
    package private(set) var originNanoseconds: Int64?

    package init() {}

    /// A constant bound.
    package init(boundNanoseconds: Int64) {
        entries = [Entry(startNanoseconds: .min, boundNanoseconds: boundNanoseconds)]
    }

    /// Reads a file's records; empty without any.
    /// - Throws: when the file cannot be read.
    package init(readingFile path: String) throws {
        do {
            try FileSystem.withFile(path) { try read($0) }
        } catch MP4Error.notARecording {
            return
        }
    }

    private mutating func read(_ source: DescriptorSource) throws {
        var scanner = try FragmentScanner(source)
        let movie = scanner.layout.initialMovie
        while let fragment = try scanner.next() {
            guard
                let box = fragment.userBoxes.first(where: { $0.userType == FragmentRecord.userType }
                ),
                let run = fragment.runs.first, let first = run.samples.first,
                let track = movie.track(run.track)
            else { continue }
            let record = try FragmentRecord(parsing: box.payload)
            let origin = originNanoseconds ?? record.segmentOriginNanoseconds
            originNanoseconds = origin
            let start = try rescale(
                first.dts - track.mediaTimeShift, from: track.timescale, to: .nanoseconds)
            entries.append(
                Entry(
                    startNanoseconds: origin + start,
                    boundNanoseconds: Int64(clamping: record.clock.boundNanoseconds)))
        }
        guard scanner.layout.isFinished else { return }
        try readRetiming(source, scanner.layout, fragmentsEnd: scanner.validEnd)
    }

    /// A retimed file has better bounds in its active index; those of its fragments apply to the original times.
    private mutating func readRetiming(
        _ source: DescriptorSource, _ layout: RecordingLayout, fragmentsEnd: Int64
    ) throws {
        let indices = try IndexReplacement(of: source, layout: layout, fragmentsEnd: fragmentsEnd)
        guard indices.isReplaced else { return }
        let movie = try Movie(reading: indices.current, from: source)
        guard let box = movie.userBoxes.first(where: { $0.userType == RetimingRecord.userType })
        else { return }
        let record = try RetimingRecord(parsing: box.payload)
        // Codes are in pictures.
        guard let mapping = record.track(.video) ?? record.track(.audio),
            let track = layout.initialMovie.track(mapping.kind)
        else { return }
        var retiming = FileRetiming(record, movie: layout.initialMovie)
        var scanner = try FragmentScanner(source)
        var samples: [(presentationNanoseconds: Int64, boundNanoseconds: Int64)] = []
        while var fragment = try scanner.next() {
            let recorded = fragment.samples(of: mapping.kind).map(\.dts)
            retiming.apply(to: &fragment)
            for (ticks, sample) in zip(recorded, fragment.samples(of: mapping.kind)) {
                let presentation = try rescale(
                    sample.dts + Int64(sample.compositionOffset) - track.mediaTimeShift,
                    from: track.timescale, to: .nanoseconds)
                samples.append(
                    (
                        (originNanoseconds ?? 0) + presentation,
                        Int64(clamping: mapping.boundNanoseconds(at: ticks))
                    ))
            }
        }
        self = RecordedBounds(samples: samples, originNanoseconds: originNanoseconds)
    }

    /// The bounds of samples, by their presentation times.
    package init(
        samples: [(presentationNanoseconds: Int64, boundNanoseconds: Int64)],
        originNanoseconds: Int64? = nil
    ) {
        self.originNanoseconds = originNanoseconds
        var last: Int64?
        for (presentation, bound) in samples.sorted(by: { $0 < $1 }) {
            defer { last = presentation }
            guard bound != entries.last?.boundNanoseconds else { continue }
            // Between two samples, so that a time that is rounded differently has its own sample's bound.
            let start = last.map { $0 + (presentation - $0) / 2 } ?? presentation
            entries.append(Entry(startNanoseconds: start, boundNanoseconds: bound))
        }
    }

    /// The bounds on the file's own timeline, which starts at zero.
    package func movedToZero() -> RecordedBounds {
        var moved = self
        let origin = originNanoseconds ?? 0
        moved.entries = entries.map { entry in
            Entry(
                startNanoseconds: entry.startNanoseconds - origin,
                boundNanoseconds: entry.boundNanoseconds)
        }
        return moved
    }

    /// Shifts all times, and adds the maximum error of the shift to the bounds. A bound of 0 stays 0: no clock has measured those
    /// times.
    /// - Parameter shift: returns the shift of a time and its maximum error, nanoseconds.
    package mutating func move(by shift: (Int64) -> (Int64, UInt64)) {
        let moved = entries.indices.map { index in
            let (move, bound) = shift(entries[index].startNanoseconds)
            // A bound holds until the next entry.
            let next = index + 1 < entries.count ? shift(entries[index + 1].startNanoseconds).1 : 0
            let own = entries[index].boundNanoseconds
            let sum = own.addingReportingOverflow(Int64(clamping: max(bound, next)))
            return Entry(
                startNanoseconds: entries[index].startNanoseconds + move,
                boundNanoseconds: own == 0 ? 0 : sum.overflow ? .max : sum.partialValue)
        }
        entries = moved
    }

    /// Adds the bounds of another file of the same source, at another position on the timeline.
    package mutating func add(_ other: RecordedBounds) {
        entries.append(contentsOf: other.entries)
        entries.sort { $0.startNanoseconds < $1.startNanoseconds }
    }

    /// The bound at a presentation time, nanoseconds; nil when nothing is recorded.
    package func bound(at presentation: Int64) -> Int64? {
        let next = entries.partitioningIndex { $0.startNanoseconds > presentation }
        return entries.isEmpty ? nil : entries[max(0, next - 1)].boundNanoseconds
    }

    /// The smallest and the largest bound, nanoseconds.
    package var range: ClosedRange<Int64>? {
        let bounds = entries.map(\.boundNanoseconds)
        guard let least = bounds.min(), let most = bounds.max() else { return nil }
        return least...most
    }
}

extension ScannedFragment {
    fileprivate func samples(of kind: TrackKind) -> [ScannedSample] {
        runs.filter { $0.track == kind }.flatMap(\.samples)
    }
}
