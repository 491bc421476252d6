import CollectorClient
import Media
import Spooling
import Wire

/// Replaces a dropped group of pictures in a full log: one gap, merged with the previous one, and the format changes.
struct Dropped {
    static let text = "the collector was unreachable for longer than the spool can hold"

    /// Numbers of the group and of the gap that it was merged with.
    private(set) var numbers: ClosedRange<UInt64>
    /// All replacements in the spool from now on.
    private(set) var substitutes: [Spool.Substitute] = []
    /// Samples lost by this drop.
    private(set) var samples: UInt64 = 0
    /// Includes samples that were lost before they could be stored.
    private var gapSamples: UInt64 = 0
    private var start: Int64?
    private var end: Int64?

    /// - Parameters:
    ///   - records: of the group, with gaps where they are unreadable.
    ///   - formats: the formats at its start (nil if unknown) and after it.
    ///   - others: previous replacements in the spool.
    ///   - fixedBelow: the collector may have records with lower numbers.
    init(
        _ records: [KeptRecord<NoPayload>], _ numbers: ClosedRange<UInt64>,
        formats: (before: [TrackFormat]?, behind: [TrackFormat]), others: [Spool.Substitute],
        fixedBelow: UInt64
    ) {
        self.numbers = numbers
        for record in records { add(record) }
        var changed = Set(
            formats.behind.filter { !(formats.before ?? formats.behind).contains($0) }.map(\.kind))
        var kept = others.filter { $0.numbers.upperBound < numbers.lowerBound }
        // A preceding replacement that was not sent is merged into this one.
        while let last = kept.last, last.numbers.upperBound + 1 == self.numbers.lowerBound,
            last.numbers.lowerBound >= fixedBelow, let record = SpoolCoding.readable(last.body[...])
        {
            kept.removeLast()
            self.numbers = last.numbers.lowerBound...self.numbers.upperBound
            if let gap = record.gap { add(gap) }
            if let format = record.format { changed.insert(format.kind) }
        }
        // Format records after the gap take its last numbers.
        let updates = formats.behind.filter { changed.contains($0.kind) }
            .prefix(self.numbers.count)
        let firstUpdate = self.numbers.upperBound + 1 - UInt64(updates.count)
        if firstUpdate > self.numbers.lowerBound {
            kept.append(Self.substitute(gap(upTo: firstUpdate - 1)))
        }
        for (place, format) in updates.enumerated() {
            let update = TrackUpdate(
                source: 0, sequence: firstUpdate + UInt64(place), format: format)
            kept.append(Self.substitute(KeptRecord(update)))
        }
        // An earlier run may have started after the records that it had sent.
        substitutes = kept + others.filter { $0.numbers.lowerBound > numbers.upperBound }
    }

    private mutating func add(_ record: KeptRecord<NoPayload>) {
        if let batch = record.samples {
            samples += UInt64(record.sequences.count)
            gapSamples += UInt64(record.sequences.count)
            include(batch.runs.times)
        }
        guard let gap = record.gap else { return }
        guard gap.cause == .corruptRecord else { return add(gap) }
        // When these were captured is unknown.
        samples += gap.samples
        gapSamples += gap.samples
    }

    private mutating func add(_ gap: GapRecord) {
        gapSamples += gap.samples
        include(gap.startNanoseconds..<gap.startNanoseconds + gap.durationNanoseconds)
    }

    private mutating func include(_ times: Range<Int64>) {
        start = min(start ?? times.lowerBound, times.lowerBound)
        end = max(end ?? times.upperBound, times.upperBound)
    }

    private func gap(upTo last: UInt64) -> KeptRecord<NoPayload> {
        let start = start ?? 0
        return KeptRecord(
            GapRecord(
                source: 0, sequences: numbers.lowerBound...last, track: nil, cause: .spoolFull,
                epoch: SpoolCoding.epoch, startNanoseconds: start,
                durationNanoseconds: min(max(0, (end ?? start) - start), WireLimits.gapNanoseconds),
                samples: gapSamples, text: Self.text))
    }

    private static func substitute(_ record: KeptRecord<NoPayload>) -> Spool.Substitute {
        Spool.Substitute(
            numbers: record.sequences, kind: record.kind.rawValue,
            body: SpoolCoding.prefix(of: record.header))
    }
}
