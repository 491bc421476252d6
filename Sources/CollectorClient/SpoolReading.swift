package import Media
package import Spooling
package import Wire

/// Records read back from a spool, with gaps in place of unreadable ones.
package struct SpoolReading<Payload: SpooledPayload> {
    /// Contiguous; empty only when the spool has nothing there.
    package private(set) var records: [KeptRecord<Payload>] = []
    /// Formats in force before the first record; nil: unknown here.
    package private(set) var formats: [TrackFormat]?
    /// Lines for the log.
    package private(set) var complaints: [String] = []
    private var endNanoseconds: Int64?

    /// Reads from a record's number to the end of the file that contains it.
    package init(_ generation: UInt32, from number: UInt64, shelf: SpoolSet) {
        var items: [SpoolContents.Item] = []
        do throws(SpoolError) {
            if let contents = try shelf.contents(of: generation, at: number) {
                items = contents.items
                formats = contents.preamble.flatMap(SpoolCoding.formats)
            }
        } catch {
            complaints.append("\(error)")
        }
        if items.isEmpty, let numbers = shelf.unreadable(of: generation, from: number) {
            items = [.missing(numbers, kind: nil)]
        }
        for item in items {
            switch item {
            case .record(let numbers, let kind, let body):
                do throws(WireError) {
                    take(try SpoolCoding.record(body), from: number)
                } catch {
                    complaints.append("a record of the spool is damaged: \(error)")
                    lose(
                        max(numbers.lowerBound, number), numbers.upperBound,
                        isSamples: kind == KeptRecordKind.samples.rawValue)
                }
            case .missing(let numbers, let kind):
                guard numbers.upperBound >= number else { continue }
                let first = max(numbers.lowerBound, number)
                complaints.append(
                    "records \(first) to \(numbers.upperBound) of the spool \(shelf.storage.path) "
                        + "are damaged and lost")
                lose(
                    first, numbers.upperBound,
                    isSamples: kind == KeptRecordKind.samples.rawValue)
            }
        }
        measureLosses()
    }

    private mutating func take(_ record: KeptRecord<Payload>, from number: UInt64) {
        if let samples = record.samples {
            endNanoseconds = samples.runs.times.upperBound
        }
        guard record.sequences.upperBound >= number else {
            if let format = record.format { formats = formats?.replacing(format) }
            return
        }
        records.append(record)
    }

    private mutating func lose(_ first: UInt64, _ last: UInt64, isSamples: Bool) {
        guard first <= last else { return }
        records.append(
            KeptRecord(
                GapRecord(
                    source: 0, sequences: first...last, track: nil, cause: .corruptRecord,
                    epoch: SpoolCoding.epoch, startNanoseconds: endNanoseconds ?? 0,
                    durationNanoseconds: 0,
                    samples: isSamples ? last - first + 1 : 0,
                    text: "the spool is damaged")))
    }

    /// Sets the duration of each loss if the next record is known.
    private mutating func measureLosses() {
        for place in records.indices {
            guard var gap = records[place].gap, gap.cause == .corruptRecord,
                gap.durationNanoseconds == 0
            else { continue }
            let next = records[(place + 1)...].first { $0.samples != nil }?.samples
            guard let next else { continue }
            let start = next.runs.times.lowerBound
            if gap.startNanoseconds == 0 { gap.startNanoseconds = start }
            gap.durationNanoseconds = max(0, start - gap.startNanoseconds)
            records[place] = KeptRecord(gap)
        }
    }
}
