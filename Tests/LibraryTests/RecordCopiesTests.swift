import Archive
import Media
import Testing

@testable import Library
@testable import Recordings

/// Selection of the copy of a record, as values.
@Suite struct RecordCopiesTests {
    private let spool = SpoolID(high: 1, low: 2)
    private let other = SpoolID(high: 3, low: 4)

    private func order(_ copies: RecordCopies, _ spool: SpoolID) -> [String] {
        copies.chosen().shares(of: spool).map {
            "\($0.archive): \($0.records.lowerBound)-\($0.records.upperBound)"
        }
    }

    @Test func `among copies of one term, the archive whose name sorts first is read`() {
        var copies = RecordCopies()
        copies.add(5...20, of: spool, term: 0, archive: 1)
        copies.add(1...10, of: spool, term: 0, archive: 0)
        #expect(order(copies, spool) == ["0: 1-10", "1: 11-20"])
    }

    @Test func `the copy with the higher term is read, whatever its archive's name`() {
        var copies = RecordCopies()
        copies.add(1...10, of: spool, term: 1, archive: 0)
        copies.add(6...20, of: spool, term: 2, archive: 1)
        #expect(order(copies, spool) == ["0: 1-5", "1: 6-20"])
        // Archive 0 gets the source again, under a higher term.
        copies.add(15...30, of: spool, term: 3, archive: 0)
        #expect(order(copies, spool) == ["0: 1-5", "1: 6-14", "0: 15-30"])
    }

    @Test func `records of two spools are never copies of each other`() {
        var copies = RecordCopies()
        copies.add(1...10, of: spool, term: 0, archive: 0)
        copies.add(1...10, of: other, term: 0, archive: 1)
        #expect(order(copies, spool) == ["0: 1-10"])
        #expect(order(copies, other) == ["1: 1-10"])
    }

    @Test func `a record is read once, and every record is read`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var copies = RecordCopies()
            var all = SequenceSet()
            for _ in 0..<Int.random(in: 1...12, using: &generator) {
                let first = UInt64.random(in: 1...100, using: &generator)
                let range = first...first + UInt64.random(in: 0...30, using: &generator)
                copies.add(
                    range, of: spool, term: .random(in: 0...2, using: &generator),
                    archive: .random(in: 0...2, using: &generator))
                all.insert(range)
            }
            var read = SequenceSet()
            var repeated: UInt64 = 0
            for share in copies.chosen().shares(of: spool) {
                repeated += read.insert(share.records)
            }
            #expect(repeated == 0)
            #expect(read == all)
        }
    }

    @Test func `records around another archive's are two parts`() {
        var copies = RecordCopies()
        copies.add(1...30, of: spool, term: 1, archive: 0)
        copies.add(11...20, of: spool, term: 2, archive: 1)
        let parts = copies.chosen().parts(of: 5...25, spool: spool, archive: 0)
        #expect(parts.map(\.records) == [5...10, 21...25])
        #expect(parts.map(\.share) == [0, 2])
    }

    @Test func `a term line applies to later records, until the spool's next term line`() {
        func opened(_ after: UInt64, _ term: UInt64?) -> LedgerEntry {
            var line = LedgerEntry(kind: .opened, at: UTCTime(nanoseconds: 0))
            line.spool = spool.description
            line.after = after
            line.term = term
            return line
        }
        func terms(_ lines: [LedgerEntry]) -> [String] {
            RecordTerms(lines).divided(1...30, of: spool).map {
                "\($0.records.lowerBound)-\($0.records.upperBound): \($0.term)"
            }
        }
        #expect(terms([]) == ["1-30: 0"])
        #expect(terms([opened(0, 1), opened(10, 3)]) == ["1-10: 1", "11-30: 3"])
        // The agent repeats records that were not durable.
        #expect(terms([opened(0, 1), opened(20, 2), opened(10, 4)]) == ["1-10: 1", "11-30: 4"])
        #expect(terms([opened(30, 7)]) == ["1-30: 0"])
    }

    @Test func `two archives' times are compared by one agent's clock, with the sum of the bounds`()
    {
        func clock(_ agent: Int64, _ offset: Int64, _ bound: UInt64) -> [LedgerEntry] {
            var epoch = LedgerEntry(kind: .epoch, at: UTCTime(nanoseconds: 0))
            epoch.epoch = "e"
            epoch.collectorZeroNanoseconds = 1_000
            var model = LedgerEntry(kind: .clock, at: UTCTime(nanoseconds: 0))
            model.epoch = "e"
            model.agentNanoseconds = agent
            model.offsetNanoseconds = offset
            model.skewPartsPerBillion = 1_000
            model.boundNanoseconds = bound
            return [epoch, model]
        }
        var first = SessionClocks()
        first.add(clock(0, 5_000, 300))
        var second = SessionClocks()
        second.add(clock(1_000_000_000, 9_000, 400))
        // A second later the first one's offset is a microsecond greater, and a part in a million less certain.
        #expect(
            first.shift(of: second)
                == SessionShift(
                    nanoseconds: 5_000 + 1_000 - 9_000, boundNanoseconds: 700 + 1_000,
                    isMeasured: true))
        #expect(first.shift(of: SessionClocks()) == nil)
    }
}
