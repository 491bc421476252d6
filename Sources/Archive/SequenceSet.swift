/// Sequence numbers that have been seen, from 1 on: a watermark, and what is known beyond it.
///
/// Numbers come nearly in order, so the part beyond the watermark stays short.
package struct SequenceSet: Hashable, Sendable {
    /// Every number up to here is in the set; 0: none.
    package private(set) var watermark: UInt64
    /// Disjoint ranges beyond the watermark, ascending, none touching another.
    private var beyond: [ClosedRange<UInt64>] = []

    /// A set of all numbers up to `watermark`.
    package init(upTo watermark: UInt64 = 0) {
        self.watermark = watermark
    }

    /// Adds a range; numbers that are in the set already change nothing.
    /// - Returns: how many of them were there before.
    @discardableResult
    package mutating func insert(_ range: ClosedRange<UInt64>) -> UInt64 {
        var known: UInt64 = 0
        var merged = range
        if range.lowerBound <= watermark {
            known += min(range.upperBound, watermark) - range.lowerBound + 1
        }
        var rest: [ClosedRange<UInt64>] = []
        for other in beyond {
            if other.overlaps(range) { known += other.clamped(to: range).count64 }
            let touches =
                other.lowerBound <= merged.upperBound.saturatingSuccessor
                && merged.lowerBound <= other.upperBound.saturatingSuccessor
            if touches {
                let low = min(other.lowerBound, merged.lowerBound)
                merged = low...max(other.upperBound, merged.upperBound)
            } else {
                rest.append(other)
            }
        }
        if merged.lowerBound <= watermark.saturatingSuccessor {
            watermark = max(watermark, merged.upperBound)
            beyond = rest
        } else {
            let place = rest.firstIndex { $0.lowerBound > merged.lowerBound } ?? rest.count
            rest.insert(merged, at: place)
            beyond = rest
        }
        return known
    }

    /// Adds all numbers of another set.
    package mutating func formUnion(_ other: SequenceSet) {
        if other.watermark > 0 { insert(1...other.watermark) }
        for range in other.beyond { insert(range) }
    }

    /// The ranges that are missing below the highest number.
    package var holes: [ClosedRange<UInt64>] {
        var next = watermark.saturatingSuccessor
        return beyond.map { range in
            defer { next = range.upperBound.saturatingSuccessor }
            return next...range.lowerBound - 1
        }
    }

    /// The parts of `range` that are not in the set, ascending.
    package func missing(in range: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
        var missing: [ClosedRange<UInt64>] = []
        var next = max(range.lowerBound, watermark.saturatingSuccessor)
        for known in beyond where next <= range.upperBound && known.upperBound >= next {
            if known.lowerBound > range.upperBound { break }
            if known.lowerBound > next { missing.append(next...known.lowerBound - 1) }
            next = known.upperBound.saturatingSuccessor
        }
        if next <= range.upperBound, watermark < range.upperBound {
            missing.append(next...range.upperBound)
        }
        return missing
    }

    /// All numbers in the set, ascending.
    package var ranges: [ClosedRange<UInt64>] { (watermark > 0 ? [1...watermark] : []) + beyond }

    /// The highest number in the set; 0: none.
    package var highest: UInt64 { beyond.last?.upperBound ?? watermark }
}

extension ClosedRange<UInt64> {
    fileprivate var count64: UInt64 { upperBound - lowerBound + 1 }
}

extension UInt64 {
    fileprivate var saturatingSuccessor: UInt64 { self == .max ? self : self + 1 }
}
