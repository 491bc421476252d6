import Media
import CollectorClient
import Spooling
import Wire

/// What is put in the place of a group of pictures that a full spool has dropped: one gap, joined with the one before it, and
/// the formats that changed meanwhile.
struct Dropped {
    static let text = "the collector was unreachable for longer than the spool can hold"

    /// Of the group and the gap that it was joined with.
    let numbers: ClosedRange<UInt64>
    /// All that the spool has in the place of records from now on.
    let substitutes: [Spool.Substitute]
    /// Formats in force behind it.
    let formatsBehind: [TrackFormat]
    /// Samples that are lost now.
    let samples: UInt64

    /// - Parameters:
    ///   - fixedBelow: the collector may have what has lower numbers.
    ///   - newestFormats: those in force at the spool's end.
    init<Storage: SpoolStorage>(
        _ group: Spool.Group, _ generation: UInt32, of shelf: SpoolSet<Storage>,
        fixedBelow: UInt64, newestFormats: [TrackFormat]
    ) {
        var sum = Sum(numbers: group.numbers)
        var formatsBefore: [TrackFormat]?
        for contents in Self.contents(group, generation, of: shelf) {
            formatsBefore = formatsBefore ?? contents.preamble.flatMap(SpoolCoding.formats)
            for item in contents.items { sum.add(item) }
        }
        samples = sum.newlyLost
        var behind = newestFormats
        if !group.isNewest {
            behind = Self.preamble(group, generation, of: shelf) ?? newestFormats
        }
        formatsBehind = behind
        var changed = Set(
            behind.filter { format in
                !(formatsBefore ?? behind).contains(format)
            }.map(\.kind))
        let others = shelf.spool(generation)?.substitutes ?? []
        var kept = others.filter { $0.numbers.upperBound < group.numbers.lowerBound }
        // What was dropped just before, and was not sent since, becomes part of this.
        while let last = kept.last, last.numbers.upperBound + 1 == sum.numbers.lowerBound,
            last.numbers.lowerBound >= fixedBelow, let record = Self.record(last.body[...])
        {
            kept.removeLast()
            if let gap = record.gap { sum.join(gap) }
            if let format = record.format {
                changed.insert(format.kind)
                sum.numbers = last.numbers.lowerBound...sum.numbers.upperBound
            }
        }
        numbers = sum.numbers
        // The formats that hold behind the gap take its last numbers.
        let updates = behind.filter { changed.contains($0.kind) }.prefix(sum.numbers.count)
        let firstUpdate = sum.numbers.upperBound + 1 - UInt64(updates.count)
        if firstUpdate > sum.numbers.lowerBound {
            kept.append(Self.substitute(sum.gap(upTo: firstUpdate - 1)))
        }
        for (place, format) in updates.enumerated() {
            let update = TrackUpdate(
                source: 0, sequence: firstUpdate + UInt64(place), format: format)
            kept.append(Self.substitute(KeptRecord(update)))
        }
        // An earlier life may have begun behind what it had sent.
        substitutes = kept + others.filter { $0.numbers.lowerBound > group.numbers.upperBound }
    }

    private static func substitute(_ record: KeptRecord<NoPayload>) -> Spool.Substitute {
        Spool.Substitute(
            numbers: record.sequences, kind: record.kind.rawValue,
            body: SpoolCoding.prefix(of: record.header))
    }

    /// Nil when it says what this version does not know: its checksum was right.
    private static func record(_ body: ArraySlice<UInt8>) -> KeptRecord<NoPayload>? {
        do throws(WireError) {
            return try SpoolCoding.record(body)
        } catch {
            return nil
        }
    }

    /// What cannot be read is lost with its numbers, and counted as such.
    private static func contents<Storage: SpoolStorage>(
        _ group: Spool.Group, _ generation: UInt32, of shelf: SpoolSet<Storage>
    ) -> [SpoolContents] {
        do throws(SpoolError) {
            return try shelf.contents(of: group, generation)
        } catch {
            return [SpoolContents(items: [.missing(group.numbers, kind: nil)], preamble: nil)]
        }
    }

    private static func preamble<Storage: SpoolStorage>(
        _ group: Spool.Group, _ generation: UInt32, of shelf: SpoolSet<Storage>
    ) -> [TrackFormat]? {
        do throws(SpoolError) {
            return try shelf.preamble(behind: group, generation).flatMap(SpoolCoding.formats)
        } catch {
            // The file says so again when it is read.
            return nil
        }
    }

    /// What a gap says, while it is added up.
    private struct Sum {
        var numbers: ClosedRange<UInt64>
        /// With what was lost before it could be kept.
        var samples: UInt64 = 0
        var newlyLost: UInt64 = 0
        var start: Int64?
        var end: Int64?

        mutating func add(_ item: SpoolContents.Item) {
            switch item {
            case .record(let numbers, let kind, let body):
                count(numbers, kind)
                guard let record = Dropped.record(body) else { return }
                if let gap = record.gap {
                    samples += gap.samples
                    include(gap.startNanoseconds..<gap.startNanoseconds + gap.durationNanoseconds)
                }
                if let batch = record.samples { include(batch.runs.times) }
            case .missing(let numbers, let kind):
                count(numbers, kind)
            }
        }

        private mutating func count(_ numbers: ClosedRange<UInt64>, _ kind: UInt16?) {
            guard kind == KeptRecordKind.samples.rawValue else { return }
            samples += UInt64(numbers.count)
            newlyLost += UInt64(numbers.count)
        }

        mutating func join(_ gap: GapRecord) {
            numbers = gap.sequences.lowerBound...numbers.upperBound
            samples += gap.samples
            include(gap.startNanoseconds..<gap.startNanoseconds + gap.durationNanoseconds)
        }

        private mutating func include(_ times: Range<Int64>) {
            start = min(start ?? times.lowerBound, times.lowerBound)
            end = max(end ?? times.upperBound, times.upperBound)
        }

        func gap(upTo last: UInt64) -> KeptRecord<NoPayload> {
            let start = start ?? 0
            return KeptRecord(
                GapRecord(
                    source: 0, sequences: numbers.lowerBound...last, track: nil,
                    cause: .spoolFull, epoch: SpoolCoding.epoch, startNanoseconds: start,
                    durationNanoseconds: min(
                        max(0, (end ?? start) - start), WireLimits.gapNanoseconds),
                    samples: samples, text: Dropped.text))
        }
    }
}
