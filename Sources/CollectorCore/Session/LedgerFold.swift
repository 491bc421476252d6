import Archive
import Media

/// Bounds the growth of a source's ledger without losing a record or a cause. Lines are written individually until
/// their budget is used up. From then on, lines of the same kind and cause are collected, and written as one line.
///
/// A value. The missing records and their causes stay exact; of the times and amounts, the earliest start and the sum
/// remain.
struct LedgerFold: Sendable {
    /// One line to be written, and the records that it explains.
    struct Line: Sendable {
        var entry: LedgerEntry
        var sequences: [ClosedRange<UInt64>]
    }

    /// A kind of lines that can be joined.
    private struct Kind: Hashable {
        var kind: LedgerEntry.Kind
        var cause: String?
        var track: String?
        var epoch: String?
        var spool: String?
    }

    private struct Pending {
        var line: Line
        var count: UInt64 = 1
    }

    /// Maximum ranges of numbers in one line: twelve thousand bytes.
    private static let rangesPerLine = 512
    /// Maximum kinds that are collected separately; above it, all clocks share one.
    private static let maximumKinds = 256

    /// Margin above the ledger's maximum for lines that are written immediately: half a day of a Hello every half
    /// second.
    private static let spareBytes: Int64 = 32 << 20

    private let bytesPerSecond: Int64
    private let burstBytes: Int64
    private let maximumBytes: Int64
    private var savedBytes: Int64
    private var lastNanoseconds: Int64?
    private var writtenBytes: Int64
    private var waiting: [Kind: Pending] = [:]
    /// The pending kinds, oldest first.
    private var order: [Kind] = []

    /// - Parameter writtenBytes: size of the ledger before the collector was started.
    init(_ budgets: SourceBudgets, writtenBytes: Int64 = 0) {
        self.writtenBytes = writtenBytes
        bytesPerSecond = budgets.ledgerBytesPerSecond
        burstBytes = budgets.ledgerBurstBytes
        maximumBytes = budgets.ledgerBytes
        savedBytes = budgets.ledgerBurstBytes
    }

    var isWaiting: Bool { !order.isEmpty }

    /// Adds a line that has to be written immediately, regardless of the budget: there are few of its kind.
    /// - Returns: false: it would exceed the limit above which the ledger is unreadable.
    mutating func addAtOnce(_ entry: LedgerEntry, now: Int64) -> Bool {
        refill(now: now)
        guard writtenBytes < maximumBytes.clampedAdding(Self.spareBytes) else { return false }
        charge(entry)
        return true
    }

    /// Adds a line.
    /// - Returns: the lines to be written now.
    mutating func add(
        _ entry: LedgerEntry, sequences: ClosedRange<UInt64>?, now: Int64
    ) -> [Line] {
        refill(now: now)
        var kind = Kind(
            kind: entry.kind, cause: entry.cause, track: entry.track, epoch: entry.epoch,
            spool: entry.spool)
        if waiting[kind] == nil {
            if savedBytes > 0, !isFull {
                charge(entry)
                return [Line(entry: entry, sequences: sequences.map { [$0] } ?? [])]
            }
            if waiting.count >= Self.maximumKinds { kind.epoch = nil }
        }
        if waiting[kind] == nil { order.append(kind) }
        join(entry, sequences, into: kind)
        return []
    }

    /// Pending lines that may be written now.
    mutating func tick(now: Int64) -> [Line] {
        refill(now: now)
        var lines: [Line] = []
        while savedBytes > 0, !isFull, let kind = order.first { lines += write(kind) }
        return lines
    }

    /// Discards the pending lines that stand for records: those are sent again. Clock measurements are kept.
    mutating func forgetRecords() {
        waiting = waiting.filter { $0.value.line.sequences.isEmpty }
        order.removeAll { waiting[$0] == nil }
    }

    /// All pending lines: no more lines follow.
    mutating func end() -> [Line] {
        var lines: [Line] = []
        while let kind = order.first { lines += write(kind) }
        return lines
    }

    private var isFull: Bool { writtenBytes >= maximumBytes }

    private mutating func refill(now: Int64) {
        guard let last = lastNanoseconds else {
            lastNanoseconds = now
            return
        }
        // Whole bytes only, so that nothing is lost to rounding.
        let nanosecondsEach = max(1, 1_000_000_000 / bytesPerSecond)
        let bytes = max(0, now.clampedSubtracting(last)) / nanosecondsEach
        guard bytes > 0 else { return }
        lastNanoseconds = last + bytes * nanosecondsEach
        savedBytes = min(burstBytes, savedBytes.clampedAdding(bytes))
    }

    /// Charges the line's approximate size.
    private mutating func charge(_ entry: LedgerEntry) {
        let bytes =
            Int64(
                300 + (entry.text?.utf8.count ?? 0) + (entry.exchanges?.count ?? 0) * 96
                    + (entry.ranges?.count ?? 0) * 24)
        savedBytes -= bytes
        writtenBytes += bytes
    }

    private mutating func join(
        _ entry: LedgerEntry, _ sequences: ClosedRange<UInt64>?, into kind: Kind
    ) {
        guard var all = waiting.removeValue(forKey: kind) else {
            waiting[kind] = Pending(
                line: Line(entry: entry, sequences: sequences.map { [$0] } ?? []))
            return
        }
        defer { waiting[kind] = all }
        let before = all.line.entry
        all.count += 1
        all.line.entry = entry
        if let start = before.startNanoseconds {
            all.line.entry.startNanoseconds = min(start, entry.startNanoseconds ?? start)
        }
        if let duration = before.durationNanoseconds {
            all.line.entry.durationNanoseconds = duration.clampedAdding(
                entry.durationNanoseconds ?? 0)
        }
        // If the number of samples is unknown for one line, it is unknown for all.
        all.line.entry.samples = before.samples.flatMap { samples in
            entry.samples.map { samples.clampedAdding($0) }
        }
        guard let sequences else { return }
        if let last = all.line.sequences.last, last.upperBound + 1 == sequences.lowerBound {
            all.line.sequences[all.line.sequences.count - 1] =
                last.lowerBound...sequences.upperBound
        } else {
            all.line.sequences.append(sequences)
        }
    }

    private mutating func write(_ kind: Kind) -> [Line] {
        order.removeAll { $0 == kind }
        guard let all = waiting.removeValue(forKey: kind) else { return [] }
        var entry = all.line.entry
        if all.count > 1 {
            entry.epoch = kind.epoch
            entry.text = "\(all.count) lines in one; the last: \(entry.text ?? "")"
        }
        guard all.line.sequences.count > 1 else {
            if let only = all.line.sequences.first {
                entry.firstSequence = only.lowerBound
                entry.lastSequence = only.upperBound
            }
            charge(entry)
            return [Line(entry: entry, sequences: all.line.sequences)]
        }
        var lines: [Line] = []
        var rest = all.line.sequences[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Self.rangesPerLine))
            rest = rest.dropFirst(part.count)
            entry.firstSequence = nil
            entry.lastSequence = nil
            entry.ranges = part.map { [$0.lowerBound, $0.upperBound] }
            charge(entry)
            lines.append(Line(entry: entry, sequences: part))
            // The first line contains the samples and times.
            entry.samples = nil
            entry.startNanoseconds = nil
            entry.durationNanoseconds = nil
        }
        return lines
    }
}
