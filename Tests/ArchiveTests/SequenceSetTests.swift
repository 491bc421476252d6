import Archive
import Testing

@Suite struct SequenceSetTests {
    @Test func `the watermark waits for the hole before it`() {
        var set = SequenceSet()
        set.insert(1...4)
        set.insert(7...9)
        #expect(set.watermark == 4)
        #expect(set.holes == [5...6])
        set.insert(5...6)
        #expect(set.watermark == 9)
        #expect(set.holes.isEmpty)
    }

    @Test func `numbers that are already in the set are counted, not added`() {
        var set = SequenceSet()
        #expect(set.insert(1...10) == 0)
        #expect(set.insert(8...12) == 3)
        #expect(set.insert(20...30) == 0)
        #expect(set.insert(15...25) == 6)
        #expect(set.watermark == 12)
        #expect(set.highest == 30)
    }

    @Test func `parts of a range are in the set or missing`() {
        var set = SequenceSet()
        for range in [1...4, 7...9, 12...12, 20...30] as [ClosedRange<UInt64>] {
            set.insert(range)
        }
        for low in 1...32 as ClosedRange<UInt64> {
            for high in low...33 {
                let range = low...high
                let present = set.present(in: range)
                #expect(present.flatMap { Array($0) } == range.filter(set.contains))
                let all = (present + set.missing(in: range)).flatMap { Array($0) }
                #expect(all.sorted() == Array(range))
            }
        }
    }

    @Test(arguments: 0..<20)
    func `a set does not depend on the order of insertion`(seed: Int) {
        var generator = SplitMix(state: UInt64(seed))
        var ranges: [ClosedRange<UInt64>] = []
        var next: UInt64 = 1
        while next < 500 {
            let end = next + UInt64.random(in: 0...9, using: &generator)
            ranges.append(next...end)
            next = end + 1
        }
        var set = SequenceSet()
        var seen: Set<UInt64> = []
        for range in ranges.shuffled(using: &generator) {
            set.insert(range)
            seen.formUnion(range)
            var expected: UInt64 = 0
            while seen.contains(expected + 1) { expected += 1 }
            #expect(set.watermark == expected, "seed \(seed)")
            let from = UInt64.random(in: 1...510, using: &generator)
            let part = from...from + UInt64.random(in: 0...60, using: &generator)
            let first = set.missing(in: part).first?.lowerBound
            #expect(first == part.first { !seen.contains($0) }, "seed \(seed)")
            #expect(set.firstMissing(in: part) == first, "seed \(seed), \(part)")
        }
        #expect(set == SequenceSet(upTo: next - 1))
    }

    @Test func `the last number of all does not overflow`() {
        var set = SequenceSet(upTo: UInt64.max - 5)
        set.insert(UInt64.max - 4...UInt64.max)
        #expect(set.watermark == UInt64.max)
        set.insert(UInt64.max...UInt64.max)
        #expect(set.watermark == UInt64.max)
    }
}

/// A small generator with a seed (Steele, Lea, Flood 2014).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

extension SequenceSet {
    fileprivate func contains(_ number: UInt64) -> Bool {
        ranges.contains { $0.contains(number) }
    }
}
