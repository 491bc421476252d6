import Archive
import Testing

@testable import CollectorCore

@Suite struct LedgerFoldTests {
    private static let second: Int64 = 1_000_000_000

    private func gap(_ number: UInt64, cause: String = "overrun") -> LedgerEntry {
        var entry = LedgerEntry(kind: .gap, at: UTCTime(nanoseconds: 0))
        entry.firstSequence = number
        entry.lastSequence = number
        entry.spool = "00"
        entry.cause = cause
        entry.samples = 2
        entry.startNanoseconds = Int64(number) * Self.second
        entry.durationNanoseconds = 5
        return entry
    }

    @Test func `a line is written at once while there are few`() {
        var fold = LedgerFold(SourceBudgets())
        for number in 1...100 as ClosedRange<UInt64> {
            let lines = fold.add(gap(number), sequences: number...number, now: 0)
            #expect(lines.count == 1)
            #expect(lines.first?.entry.firstSequence == number)
        }
        #expect(!fold.isWaiting)
    }

    @Test func `lines past the budget become one that names every record, and loses no sample`() {
        var fold = LedgerFold(SourceBudgets())
        var explained: Set<UInt64> = []
        var samples: UInt64 = 0
        var bytes = 0
        func take(_ lines: [LedgerFold.Line]) {
            for line in lines {
                #expect(line.entry.sequences == line.sequences)
                for range in line.sequences { explained.formUnion(range) }
                samples += line.entry.samples ?? 0
                bytes += Ledger.line(line.entry).count
            }
        }
        // Every second number, so that no two of them touch; a hundred a second.
        for number in 1...20_000 as ClosedRange<UInt64> {
            let now = Int64(number) * Self.second / 100
            take(fold.add(gap(number * 2), sequences: number * 2...number * 2, now: now))
            if number % 10 == 0 { take(fold.tick(now: now)) }
        }
        take(fold.end())
        #expect(explained == Set((1...20_000).map { $0 * 2 }))
        #expect(samples == 40_000)
        #expect(bytes < 1_200_000, "\(bytes) bytes; one line each would be seven million")
    }

    @Test
    func `no line makes a ledger longer than readers accept`() {
        var fold = LedgerFold(SourceBudgets(), writtenBytes: 200 << 20)
        var bytes: Int64 = 200 << 20
        var entry = LedgerEntry(kind: .opened, at: UTCTime(nanoseconds: 0))
        entry.text = String(repeating: "x", count: 100)
        for second in 0..<1_000_000 as Range<Int64>
        where fold.addAtOnce(entry, now: second * Self.second) {
            bytes += Int64(Ledger.line(entry).count)
        }
        #expect(bytes < 256 << 20)
        #expect(bytes > 210 << 20)
    }

    @Test func `causes are never joined`() {
        var budgets = SourceBudgets()
        budgets.ledgerBurstBytes = 1
        var fold = LedgerFold(budgets)
        _ = fold.add(gap(1), sequences: 1...1, now: 0)
        for number in 2...9 as ClosedRange<UInt64> {
            let cause = number % 2 == 0 ? "overrun" : "policy"
            #expect(
                fold.add(gap(number, cause: cause), sequences: number...number, now: 0).isEmpty)
        }
        let lines = fold.end()
        #expect(lines.map(\.entry.cause) == ["overrun", "policy"])
        #expect(lines.map(\.sequences.count) == [4, 4])
    }

    @Test func `lines of records that are repeated are dropped, and measurements kept`() {
        var budgets = SourceBudgets()
        budgets.ledgerBurstBytes = 1
        var fold = LedgerFold(budgets)
        _ = fold.add(gap(1), sequences: 1...1, now: 0)
        let clock = LedgerEntry(kind: .clock, at: UTCTime(nanoseconds: 0))
        _ = fold.add(gap(2), sequences: 2...2, now: 0)
        _ = fold.add(clock, sequences: nil, now: 0)
        fold.forgetRecords()
        #expect(fold.isWaiting)
        #expect(fold.end().map(\.entry.kind) == [.clock])
        #expect(!fold.isWaiting)
    }

    @Test func `a full ledger accepts no more lines, whose records stay unacknowledged`() {
        var budgets = SourceBudgets()
        budgets.ledgerBytes = 2_000
        var fold = LedgerFold(budgets)
        var lines = 0
        for number in 1...100 as ClosedRange<UInt64> {
            lines += fold.add(gap(number * 2), sequences: number * 2...number * 2, now: 0).count
        }
        #expect(lines < 10)
        #expect(fold.tick(now: 3_600 * Self.second).isEmpty)
        #expect(fold.isWaiting)
    }
}
