import Media

/// A set of sequence numbers, from 1 on: a watermark, and ranges beyond it.
///
/// Numbers are added nearly in order, so there are few ranges beyond the watermark.
package struct SequenceSet: Hashable, Sendable {
    /// Every number up to this one is in the set; 0: none.
    package private(set) var watermark: UInt64
    /// Disjoint, non-adjacent ranges beyond the watermark, ascending.
    private var beyond: [ClosedRange<UInt64>] = []

    /// A set of all numbers up to `watermark`.
    package init(upTo watermark: UInt64 = 0) {
        self.watermark = watermark
    }

    /// Adds a range; numbers that are already in the set change nothing.
    /// - Returns: the number of those.
    @discardableResult
    package mutating func insert(_ range: ClosedRange<UInt64>) -> UInt64 {
        var known: UInt64 = 0
        if range.lowerBound <= watermark {
            known = (range.lowerBound...min(range.upperBound, watermark)).count64
        }
        // The ranges that it overlaps or touches: a file may have very many ranges, and they are added in order.
        let first = place { $0.upperBound.clampedAdding(1) >= range.lowerBound }
        let end = place { $0.lowerBound > range.upperBound.clampedAdding(1) }
        var merged = range
        for other in beyond[first..<end] {
            if other.overlaps(range) { known.addClamped(other.clamped(to: range).count64) }
            let low = min(other.lowerBound, merged.lowerBound)
            merged = low...max(other.upperBound, merged.upperBound)
        }
        if merged.lowerBound <= watermark.clampedAdding(1) {
            watermark = max(watermark, merged.upperBound)
            beyond.removeSubrange(first..<end)
        } else {
            beyond.replaceSubrange(first..<end, with: [merged])
        }
        return known
    }

    /// The index of the first range that satisfies a predicate which all later ranges satisfy, too.
    private func place(where holds: (ClosedRange<UInt64>) -> Bool) -> Int {
        var places = 0..<beyond.count
        while !places.isEmpty {
            let middle = places.lowerBound + places.count / 2
            places =
                holds(beyond[middle])
                ? places.lowerBound..<middle : middle + 1..<places.upperBound
        }
        return places.lowerBound
    }

    /// Adds all numbers of another set.
    package mutating func formUnion(_ other: SequenceSet) {
        if other.watermark > 0 { insert(1...other.watermark) }
        for range in other.beyond { insert(range) }
    }

    /// The numbers of both sets.
    func union(_ other: SequenceSet) -> SequenceSet {
        var all = self
        all.formUnion(other)
        return all
    }

    /// Its numbers up to `highest`.
    func limited(to highest: UInt64) -> SequenceSet {
        var limited = SequenceSet(upTo: min(watermark, highest))
        for range in beyond where range.lowerBound <= highest {
            limited.insert(range.lowerBound...min(range.upperBound, highest))
        }
        return limited
    }

    /// The ranges that are missing below the highest number.
    package var holes: [ClosedRange<UInt64>] {
        var next = watermark.clampedAdding(1)
        return beyond.map { range in
            defer { next = range.upperBound.clampedAdding(1) }
            return next...range.lowerBound - 1
        }
    }

    /// The parts of `range` that are not in the set, ascending.
    package func missing(in range: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
        var missing: [ClosedRange<UInt64>] = []
        var next = max(range.lowerBound, watermark.clampedAdding(1))
        for known in beyond where next <= range.upperBound && known.upperBound >= next {
            if known.lowerBound > range.upperBound { break }
            if known.lowerBound > next { missing.append(next...known.lowerBound - 1) }
            next = known.upperBound.clampedAdding(1)
        }
        if next <= range.upperBound, watermark < range.upperBound {
            missing.append(next...range.upperBound)
        }
        return missing
    }

    /// The parts of `range` that are in the set, ascending.
    package func present(in range: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
        var present: [ClosedRange<UInt64>] = []
        if range.lowerBound <= watermark {
            present.append(range.lowerBound...min(range.upperBound, watermark))
        }
        let first = place { $0.upperBound >= range.lowerBound }
        for known in beyond[first...] {
            if known.lowerBound > range.upperBound { break }
            present.append(known.clamped(to: range))
        }
        return present
    }

    /// The first number of `range` that is not in the set; nil: all are.
    package func firstMissing(in range: ClosedRange<UInt64>) -> UInt64? {
        let next = max(range.lowerBound, watermark.clampedAdding(1))
        guard next <= range.upperBound, watermark < range.upperBound else { return nil }
        // Ranges are not adjacent: the number after a range is missing.
        let index = place { $0.upperBound >= next }
        guard index < beyond.count, beyond[index].lowerBound <= next else { return next }
        let end = beyond[index].upperBound
        return end < range.upperBound ? end + 1 : nil
    }

    /// All numbers in the set, ascending.
    package var ranges: [ClosedRange<UInt64>] { (watermark > 0 ? [1...watermark] : []) + beyond }

    /// The highest number in the set; 0: none.
    package var highest: UInt64 { beyond.last?.upperBound ?? watermark }
}

extension ClosedRange<UInt64> {
    fileprivate var count64: UInt64 { (upperBound - lowerBound).clampedAdding(1) }
}
