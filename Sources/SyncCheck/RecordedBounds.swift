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
            let track = layout.initialMovie.track(mapping.kind),
            let table = movie.track(mapping.kind)?.samples
        else { return }
        // A knot is at a decoding time. Samples that are decoded before it may be presented up to this much later.
        let delay = try rescale(
            Int64(table.compositionOffsets.max() ?? 0), from: track.timescale, to: .nanoseconds)
        entries = []
        for knot in mapping.knots {
            let bound = Int64(clamping: knot.boundNanoseconds)
            let decoded = try rescale(
                knot.ticks - track.mediaTimeShift, from: track.timescale, to: .nanoseconds)
            let isBetter = bound < entries.last?.boundNanoseconds ?? 0
            entries.append(
                Entry(
                    startNanoseconds: (originNanoseconds ?? 0) + decoded + knot.shiftNanoseconds
                        + (isBetter ? delay : 0),
                    boundNanoseconds: bound))
        }
        entries.sort { $0.startNanoseconds < $1.startNanoseconds }
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
