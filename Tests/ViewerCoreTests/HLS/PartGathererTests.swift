import Testing
import ViewerCore

/// How live media becomes parts.
@Suite struct PartGathererTests {
    private static let seeds: ClosedRange<UInt64> = 1...60

    private func gather(
        _ feed: LiveFeed, _ timing: LiveTiming = LiveTiming()
    ) -> (parts: [GatheredPart<Int>], skipped: UInt64) {
        var gatherer = PartGatherer<Int>(timing, firstSequence: 100)
        var parts: [GatheredPart<Int>] = []
        for unit in feed.units { parts += gatherer.append(unit) }
        parts += gatherer.flush()
        return (parts, gatherer.skippedUnits)
    }

    /// A unit by its times in seconds.
    private func unit(
        _ seconds: ClosedRange<Double>, isKey: Bool = false, number: Int = 0
    ) -> LiveUnit<Int> {
        var unit = LiveUnit(
            number, sizeBytes: 100,
            nanoseconds: nanoseconds(seconds.lowerBound)..<nanoseconds(seconds.upperBound))
        unit.isIndependent = isKey
        return unit
    }

    @Test func `regular batches become regular parts`() {
        let feed = LiveFeed(LiveFeed.Traits(batch: 1), seconds: 20, seed: 1)
        let (parts, skipped) = gather(feed)
        #expect(skipped == 0)
        #expect(parts.map(\.payloads).flatMap { $0 } == Array(feed.units.indices))
        // Thirty pictures a second: six of them last 200 ms.
        #expect(parts.count == 100)
        for (index, part) in parts.enumerated() {
            #expect(abs(part.part.durationNanoseconds - 200_000_000) < 100)
            #expect(part.payloads.count == 6)
            let address = PartAddress(sequence: UInt64(100 + index / 20), part: index % 20)
            #expect(part.part.address == address)
            #expect(part.part.isIndependent == (index % 10 == 0))
            let sizes = part.payloads.map { feed.units[$0].sizeBytes }
            #expect(part.part.sizeBytes == sizes.reduce(0, +))
        }
    }

    @Test(arguments: seeds) func `parts obey the rules for any feed`(_ seed: UInt64) {
        let timing = LiveTiming()
        let traits = LiveFeed.traits(seed: seed)
        let feed = LiveFeed(traits, seconds: 60, seed: seed)
        let (parts, skipped) = gather(feed, timing)
        #expect(!parts.isEmpty)
        // Nothing is lost or repeated, except undecodable pictures after a gap.
        let payloads = parts.flatMap(\.payloads)
        #expect(payloads == payloads.sorted() && Set(payloads).count == payloads.count)
        #expect(payloads.count + Int(skipped) == feed.units.count, "seed \(seed)")
        for (index, gathered) in parts.enumerated() {
            let part = gathered.part
            let next = index + 1 < parts.count ? parts[index + 1].part : nil
            let units = gathered.payloads.map { feed.units[$0] }
            let isLast = next.map { $0.address.part == 0 } ?? true
            #expect(part.durationNanoseconds > 0)
            #expect(part.durationNanoseconds <= timing.partTargetNanoseconds, "seed \(seed)")
            #expect(
                isLast || part.isIndependent
                    || part.durationNanoseconds >= timing.leastPartNanoseconds, "seed \(seed)")
            #expect(part.isIndependent == units.contains { $0.isIndependent })
            #expect(part.nanoseconds.lowerBound == units.first?.nanoseconds.lowerBound)
            #expect(Set(units.map(\.initialization)) == [part.initialization])
            if part.isDiscontinuous {
                #expect(part.address.part == 0 && units.first?.isIndependent == true)
            }
            guard let next else { continue }
            // Addresses are consecutive, and each name was hinted.
            let inside = PartAddress(
                sequence: part.address.sequence, part: part.address.part + 1)
            let behind = PartAddress(sequence: part.address.sequence + 1, part: 0)
            #expect(next.address == inside || next.address == behind, "seed \(seed)")
            #expect(next.name == inside, "seed \(seed)")
            let jump = next.nanoseconds.lowerBound - part.nanoseconds.upperBound
            let isBroken =
                jump.magnitude > timing.gapNanoseconds.magnitude
                || next.initialization != part.initialization
            if isBroken { #expect(next.isDiscontinuous, "seed \(seed)") }
        }
    }

    @Test(arguments: seeds)
    func `segments are bounded, and begin with keyframes where that is possible`(_ seed: UInt64) {
        let timing = LiveTiming()
        let traits = LiveFeed.traits(seed: seed)
        let feed = LiveFeed(traits, seconds: 60, seed: seed)
        let parts = gather(feed, timing).parts
        for (index, gathered) in parts.enumerated() where gathered.part.address.part == 0 {
            let rest = parts[index...]
            let own = rest.prefix { $0.part.address.sequence == gathered.part.address.sequence }
            let start = gathered.part.nanoseconds.lowerBound
            let end = own.last?.part.nanoseconds.upperBound ?? start
            #expect(end - start <= timing.segmentLimitNanoseconds, "seed \(seed)")
            let isIndependent =
                gathered.payloads.first.map { feed.units[$0].isIndependent } ?? false
            // Groups of up to four seconds are not divided while they arrive in order.
            if traits.groupSeconds <= 4, traits.losses == 0, traits.requests == 0 {
                #expect(isIndependent, "seed \(seed)")
            }
        }
    }

    @Test func `listed part ends do not drift from the actual ones`() {
        for rate in [12.5, 24, 25, 29.97, 30, 60] {
            let traits = LiveFeed.Traits(
                picturesPerSecond: rate, batch: 2, jitterSeconds: 0.002)
            let parts = gather(LiveFeed(traits, seconds: 600, seed: 5)).parts.map(\.part)
            var written: Int64 = 0
            for part in parts {
                if part.address.part == 0 { written = part.nanoseconds.lowerBound }
                written += part.durationNanoseconds
                let distance = abs(part.nanoseconds.upperBound - written)
                // Two pictures and their deviations.
                #expect(Double(distance) <= (2 / rate + 0.01) * 1e9, "\(rate) \(part)")
            }
        }
    }

    @Test func `a keyframe in the middle of a part makes it independent`() {
        var gatherer = PartGatherer<Int>(LiveTiming())
        #expect(gatherer.append(unit(0...0.1, isKey: true)).isEmpty)
        let parts = gatherer.append(unit(0.1...0.2, isKey: true))
        #expect(parts.map(\.part.isIndependent) == [true])
        #expect(gatherer.append(unit(0.2...0.3)).isEmpty)
        let next = gatherer.append(unit(0.3...0.4, isKey: true))
        #expect(next.map(\.part.isIndependent) == [true])
        #expect(next.map(\.part.address) == [PartAddress(sequence: 0, part: 1)])
        #expect(gatherer.append(unit(0.4...0.5)).isEmpty)
        #expect(gatherer.append(unit(0.5...0.6)).map(\.part.isIndependent) == [false])
    }

    @Test func `a segment ends before a keyframe, with a part of any length`() {
        var gatherer = PartGatherer<Int>(LiveTiming())
        var parts: [GatheredPart<Int>] = []
        for number in 0..<41 {
            let start = Double(number) / 10
            parts += gatherer.append(unit(start...start + 0.1, isKey: number == 0))
        }
        #expect(parts.count == 20)
        // One unit of 100 ms is pending when the keyframe arrives.
        let both = gatherer.append(unit(4.1...4.3, isKey: true))
        let addresses = [PartAddress(sequence: 0, part: 20), PartAddress(sequence: 1, part: 0)]
        #expect(both.map(\.part.address) == addresses)
        #expect(both.map(\.part.durationNanoseconds) == [100_000_000, 200_000_000])
        let names = [PartAddress(sequence: 0, part: 20), PartAddress(sequence: 0, part: 21)]
        #expect(both.map(\.part.name) == names)
        #expect(both.map(\.part.isDiscontinuous) == [false, false])
    }

    @Test func `after a gap, everything waits for a keyframe`() {
        var gatherer = PartGatherer<Int>(LiveTiming())
        #expect(gatherer.append(unit(0...0.1)).isEmpty)
        #expect(gatherer.skippedUnits == 1)
        #expect(gatherer.append(unit(0.1...0.2, isKey: true)).isEmpty)
        // The pending unit is kept.
        let last = gatherer.append(unit(5...5.1))
        #expect(last.map(\.part.durationNanoseconds) == [100_000_000])
        #expect(gatherer.append(unit(5.1...5.2)).isEmpty)
        #expect(gatherer.skippedUnits == 3)
        let next = gatherer.append(unit(5.2...5.4, isKey: true))
        #expect(next.map(\.part.isDiscontinuous) == [true])
        #expect(next.map(\.part.address) == [PartAddress(sequence: 1, part: 0)])
        #expect(next.map(\.part.name) == [PartAddress(sequence: 0, part: 1)])
        #expect(gatherer.flush().isEmpty)
    }

    @Test func `a new format, or a marked discontinuity, begins a segment`() {
        for change in 0..<3 {
            var gatherer = PartGatherer<Int>(LiveTiming())
            #expect(gatherer.append(unit(0...0.2, isKey: true)).count == 1)
            var other = unit(0.2...0.4, isKey: true)
            if change == 1 { other.initialization = 1 }
            if change == 2 { other.isDiscontinuous = true }
            let parts = gatherer.append(other)
            #expect(parts.map(\.part.isDiscontinuous) == [change > 0])
            #expect(parts.map(\.part.address.sequence) == [change > 0 ? 1 : 0])
            #expect(parts.map(\.part.initialization) == [change == 1 ? 1 : 0])
        }
    }

    @Test func `a group that is longer than the target is divided`() {
        var gatherer = PartGatherer<Int>(LiveTiming())
        var parts: [LivePart] = []
        for number in 0..<100 {
            let start = Double(number) / 10
            parts += gatherer.append(unit(start...start + 0.1, isKey: number == 0)).map(\.part)
        }
        let starts = parts.filter { $0.address.part == 0 }
        #expect(starts.map(\.nanoseconds.lowerBound) == [0, 4_400_000_000, 8_800_000_000])
        #expect(starts.map(\.isIndependent) == [true, false, false])
        #expect(starts.allSatisfy { !$0.isDiscontinuous })
    }

    @Test func `pictures longer than a part are listed with a part's duration`() {
        let timing = LiveTiming()
        let traits = LiveFeed.Traits(picturesPerSecond: 3, batch: 1, groupSeconds: 4)
        let parts = gather(LiveFeed(traits, seconds: 20, seed: 3), timing).parts
        #expect(parts.count == 60)
        #expect(parts.allSatisfy { $0.part.durationNanoseconds == timing.partTargetNanoseconds })
    }

    @Test func `units of a source whose time does not advance are limited`() {
        var gatherer = PartGatherer<Int>(LiveTiming())
        var longest = 0
        for number in 0..<5_000 {
            let parts = gatherer.append(unit(1...1, isKey: number % 2 == 0, number: number))
            longest = max(longest, parts.map(\.payloads.count).max() ?? 0)
        }
        #expect(longest == PartGatherer<Int>.maximumUnits)
    }

    @Test func `timing obeys the rules that depend on it`() {
        let timing = LiveTiming()
        #expect(timing.leastPartNanoseconds == 170_000_000 && timing.advancePartLimit == 15)
        #expect(LiveTiming(partTargetNanoseconds: 1_000_000_000).advancePartLimit == 3)
        #expect(LiveTiming(partTargetNanoseconds: 333_333_333).advancePartLimit == 10)
        #expect(timing.skipBoundaryNanoseconds == 24_000_000_000)
        #expect(timing.patienceNanoseconds == 12_000_000_000)
    }
}
