import Testing

@testable import Archive

@Suite struct MissingTimeTests {
    private func gap(from start: Int64?, for duration: UInt64?) -> LedgerEntry {
        var entry = LedgerEntry(kind: .gap, at: UTCTime(nanoseconds: 0))
        entry.startNanoseconds = start
        entry.durationNanoseconds = duration
        return entry
    }

    @Test func `overlapping gaps are counted once`() {
        // Picture and sound of the same time, then a gap that overlaps another.
        let gaps = [
            gap(from: 10, for: 5), gap(from: 0, for: 7), gap(from: 0, for: 7),
            gap(from: 12, for: 8),
        ]
        #expect(MissingTime.nanoseconds(gaps) == 7 + 10)
    }

    @Test func `a gap without a time counts with its duration`() {
        #expect(MissingTime.nanoseconds([gap(from: nil, for: 3), gap(from: 0, for: 4)]) == 7)
        #expect(MissingTime.nanoseconds([gap(from: 5, for: nil), gap(from: nil, for: nil)]) == 0)
    }

    @Test func `no ledger's numbers are too large`() {
        let gaps = [
            gap(from: .min, for: .max), gap(from: .max, for: .max), gap(from: nil, for: .max),
        ]
        #expect(MissingTime.nanoseconds(gaps) == .max)
    }
}
