import Testing

@testable import RTSP

/// Cameras whose timestamps stand still, are set back or run slowly, and networks that seem to have such a camera.
@Suite struct LaggingStampsTests {
    private static let second: Int64 = 1_000_000_000
    private static let start: Int64 = 1_000 * second

    /// A picture, or a packet of sound.
    private struct Shot {
        var captured: Int64
        var stamp: Int64
        /// Additional delay.
        var delay: Int64 = 0
        /// Place in presentation order; differs from that in decoding order where pictures are reordered.
        var place: Int
    }

    /// A shot with its times.
    private struct Result {
        var shot: Shot
        var arrival: Int64
        var time: Int64
        var decoding: Int64
        /// When the time was known.
        var given: Int64

        var error: Int64 { time - shot.captured }
    }

    private struct Run {
        var results: [Result] = []
        var findings: [ArrivalClock.Findings] = []

        var lag: Int64 { findings.reduce(0) { $0 + $1.lagNanoseconds } }
        var forward: Int64 { findings.reduce(0) { $0 + $1.forwardNanoseconds } }

        /// The least and the greatest error in a span of capture times, milliseconds.
        func errors(_ from: Int64 = 0, _ until: Int64 = .max) -> ClosedRange<Int64> {
            let errors = results.filter {
                let passed = ($0.shot.captured - LaggingStampsTests.start) / 1_000_000
                return passed >= from && passed < until
            }.map { $0.error / 1_000_000 }
            return (errors.min() ?? 0)...(errors.max() ?? 0)
        }
    }

    /// Sends shots in decoding order, over a network with a jitter of 10 ms.
    private func run(
        _ shots: [Shot], clockRate: UInt32 = 90_000, depth: Int = 0, length: UnitLength = .unknown,
        jitter: Int64 = 10, losing lost: Set<Int> = [], seed: UInt64 = 1
    ) -> Run {
        var random = Numbers(state: seed)
        var times = UnitTimes(clockRate: clockRate, reorderDepth: depth, length: length)
        var run = Run()
        var arrivals: [Int64] = []
        var now = Self.start
        func take(_ items: [UnitTimes.Item]) {
            for case .unit(let timed) in items {
                let findings = times.takeFindings()
                if findings != .init() { run.findings.append(findings) }
                let index = Int(timed.unit.firstNumber)
                run.results.append(
                    Result(
                        shot: shots[index], arrival: arrivals[index], time: timed.ptsNanoseconds,
                        decoding: timed.dtsNanoseconds, given: now))
            }
        }
        for (index, shot) in shots.enumerated() {
            let jitter = 5_000_000 + Int64(random.next() % UInt64(jitter * 1_000_000))
            let arrival = max(now, shot.captured + jitter + shot.delay)
            while now + 50_000_000 < arrival {
                now += 50_000_000
                take(times.tick(now: now))
            }
            now = arrival
            arrivals.append(arrival)
            if lost.contains(index) { continue }
            let unit = AccessUnit(
                timestamp: UInt32(truncatingIfNeeded: shot.stamp), firstNumber: Int64(index),
                lastNumber: Int64(index), firstArrivalNanoseconds: arrival,
                lastArrivalNanoseconds: arrival, data: [UInt8](repeating: 1, count: 160))
            take(times.add(.unit(unit), now: now))
        }
        take(times.flush())
        return run
    }

    /// Shots without reordering.
    /// - Parameters:
    ///   - distance: to the next shot, from the index, nanoseconds.
    ///   - stamp: from index and time since the start, ticks.
    private func shots(
        _ count: Int, distance: (Int) -> Int64 = { _ in 40_000_000 },
        delay: (Int64) -> Int64 = { _ in 0 }, stamp: (Int, Int64) -> Int64
    ) -> [Shot] {
        var passed: Int64 = 0
        return (0..<count).map { index in
            defer { passed += distance(index) }
            return Shot(
                captured: Self.start + passed, stamp: 1_000_000 + stamp(index, passed),
                delay: delay(passed), place: index)
        }
    }

    /// Pictures at 25 per second, two of three not referenced. A picture is sent as soon as those that it refers to.
    /// - Parameter shift: of the timestamp, from the place in presentation order, ticks.
    private func reordered(
        _ count: Int, pause: (Int) -> Int64 = { _ in 0 }, shift: (Int) -> Int64
    ) -> [Shot] {
        var shots: [Shot] = []
        for group in 0..<count / 3 {
            for place in [3 * group + 3, 3 * group + 1, 3 * group + 2] {
                let passed = Int64(place) * 40_000_000 + pause(place)
                // The encoder waits for the picture that comes first in decoding order.
                let known = Int64(3 * group + 3) * 40_000_000 + pause(3 * group + 3)
                let sent = known + Int64(shots.count % 3) * 40_000_000
                shots.append(
                    Shot(
                        captured: Self.start + passed,
                        stamp: 1_000_000 + Int64(place) * 3_600 + shift(place),
                        delay: sent - passed, place: place))
            }
        }
        return shots
    }

    private func expectBounds(_ run: Run, _ count: Int) {
        #expect(run.results.count == count)
        #expect(run.results.allSatisfy { $0.time <= $0.arrival + 1_000_000 })
        #expect(run.results.allSatisfy { $0.decoding <= $0.time })
        #expect(zip(run.results, run.results.dropFirst()).allSatisfy { $0.decoding < $1.decoding })
        let ordered = run.results.sorted { $0.shot.place < $1.shot.place }
        let back = zip(ordered, ordered.dropFirst()).filter { $0.time >= $1.time }
        #expect(
            back.isEmpty,
            "\(back.prefix(3).map { ($0.shot.place, $1.shot.place, $0.time, $1.time) })")
    }

    // MARK: Lags

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `timestamps that count pictures lag after a stall, and are corrected`(seed: UInt64) {
        let run = run(
            shots(1_000, distance: { $0 == 200 ? 840_000_000 : 40_000_000 }) { index, _ in
                Int64(index) * 3_600
            }, seed: seed)
        expectBounds(run, 1_000)
        #expect(run.errors().lowerBound >= 0, "\(run.errors())")
        #expect(run.errors().upperBound < 60)
        #expect(abs(run.lag - 800_000_000) < 30_000_000)
        #expect(run.findings.map(\.steps).reduce(0, +) == 1)
        // The pause was one.
        #expect(run.forward == 0)
    }

    @Test func `each stall of an encoder that stands still again and again is corrected`() {
        let run = run(
            shots(3_000, distance: { $0 % 105 == 104 ? 840_000_000 : 40_000_000 }) { index, _ in
                Int64(index) * 3_600
            })
        expectBounds(run, 3_000)
        #expect(run.errors().lowerBound >= 0, "\(run.errors())")
        #expect(run.errors().upperBound < 60)
    }

    @Test(arguments: [3, 6, 3_600] as [Int64])
    func `timestamps that stop during a pause of the camera are corrected`(seconds: Int64) {
        let run = run(
            shots(600, distance: { $0 == 200 ? seconds * Self.second : 40_000_000 }) { index, _ in
                Int64(index) * 3_600
            })
        expectBounds(run, 600)
        #expect(run.errors().lowerBound >= 0, "\(run.errors())")
        #expect(run.errors().upperBound < 60)
        #expect(run.forward == 0)
    }

    @Test(arguments: [-600, -800, -300] as [Int64])
    func `a backward step of a variable frame rate's timestamps is corrected`(milliseconds: Int64) {
        var random = Numbers(state: 4)
        let run = run(
            shots(
                800, distance: { _ in 30_000_000 + Int64(random.next() % 60_000_000) }
            ) { _, passed in
                passed * 9 / 100_000 + (passed > 8 * Self.second ? milliseconds * 90 : 0)
            })
        expectBounds(run, 800)
        #expect(run.errors().lowerBound >= 0, "\(run.errors())")
        #expect(run.errors().upperBound < 60)
    }

    @Test func `timestamps of a variable frame rate that stop for a moment are corrected`() {
        var random = Numbers(state: 5)
        let run = run(
            shots(
                800,
                distance: { index in
                    30_000_000 + Int64(random.next() % 60_000_000)
                        + (index == 150 ? 800_000_000 : 0)
                }
            ) { index, passed in (passed - (index > 150 ? 800_000_000 : 0)) * 9 / 100_000 })
        expectBounds(run, 800)
        #expect(run.errors().lowerBound >= 0, "\(run.errors())")
        #expect(run.errors().upperBound < 60)
    }

    @Test func `a new timestamp sequence is followed while late pictures are held`() {
        let run = run(
            shots(600, distance: { $0 == 200 ? 1_040_000_000 : 40_000_000 }) { index, _ in
                Int64(index) * 3_600 + (index > 210 ? 3_600 * 90_000 : 0)
            })
        expectBounds(run, 600)
        // Until the new sequence is known, the lag is not.
        #expect(run.errors().lowerBound >= -1_010, "\(run.errors())")
        #expect(run.errors(14_000).lowerBound >= 0, "\(run.errors(14_000))")
        #expect(run.errors().upperBound < 60)
    }

    @Test(arguments: [0, 2])
    func `a backward step of reordered pictures' timestamps is corrected`(depth: Int) {
        let run = run(reordered(750) { $0 >= 200 ? -54_000 : 0 }, depth: depth)
        expectBounds(run, 750)
        #expect(run.errors().lowerBound >= 0, "\(run.errors())")
        #expect(run.errors().upperBound < 200)
        // The reorder depth has not grown.
        let depths = run.results.map { $0.time - $0.decoding }
        #expect(
            (depths.suffix(100).max() ?? 0) <= (depths[50..<150].max() ?? 0) + 5_000_000,
            "\(depths[50..<150].max() ?? 0) \(depths.suffix(100).max() ?? 0)")
    }

    @Test func `timestamps of reordered pictures that stop during a pause are corrected`() {
        let run = run(
            reordered(600, pause: { $0 > 198 ? 4 * Self.second : 0 }) { _ in 0 }, depth: 2)
        expectBounds(run, 600)
        #expect(run.errors().lowerBound >= 0, "\(run.errors())")
        #expect(run.errors().upperBound < 200)
    }

    // MARK: Rates

    @Test(
        arguments: [(15, 3_000), (12, 3_600), (25, 320), (5, 9_000), (25, 2_700)]
            as [(Int64, Int64)])
    func `timestamps that run slower than stated are corrected, with one finding`(
        rate: Int64, ticks: Int64
    ) {
        let run = run(
            shots(Int(rate) * 40, distance: { _ in Self.second / rate }) { index, _ in
                Int64(index) * ticks
            })
        expectBounds(run, Int(rate) * 40)
        #expect(run.errors().lowerBound >= -120, "\(run.errors())")
        #expect(run.errors().upperBound < 120)
        #expect(run.findings.count { $0.ratePPM != nil } == 1)
        // Nothing jumps by the time that has passed.
        let steps = zip(run.results, run.results.dropFirst()).map { $1.time - $0.time }
        #expect((steps.max() ?? 0) < Self.second / rate + 150_000_000)
    }

    @Test func `a rate from the first two seconds becomes exact`() {
        // The network becomes quicker by 10 ms in the meantime.
        let run = run(
            shots(
                1_000, delay: { max(0, 2 * Self.second - $0) / 200 }
            ) { index, _ in Int64(index) * 1_800 }, jitter: 1)
        expectBounds(run, 1_000)
        #expect(run.findings.count { $0.ratePPM != nil } == 1)
        #expect(run.errors().lowerBound >= -50, "\(run.errors())")
        #expect(run.errors(20_000).lowerBound >= 0, "\(run.errors(20_000))")
    }

    @Test func `sound at twice the stated rate gets even times`() {
        let run = run(
            shots(2_000, distance: { _ in 20_000_000 }) { index, _ in Int64(index) * 320 },
            clockRate: 8_000)
        expectBounds(run, 2_000)
        // The first ones look like a cached group that comes at once.
        #expect(run.errors(700).lowerBound >= 0, "\(run.errors(700))")
        #expect(run.errors(15_000).upperBound - run.errors(15_000).lowerBound < 8)
        #expect(run.findings.contains { ($0.ratePPM ?? 0) > 1_900_000 })
    }

    @Test func `timestamps that never grow give arrival times, and one finding`() {
        let run = run(shots(1_000) { _, _ in 0 })
        #expect(run.results.count == 1_000)
        #expect(run.errors(1_000).lowerBound >= 0 && run.errors(1_000).upperBound < 20)
        #expect(run.errors().lowerBound >= -700)
        #expect(run.findings.count { $0.isStanding } == 1)
        #expect(run.findings.allSatisfy { $0.steps == 0 && $0.strayStamps == 0 })
    }

    @Test func `timestamps that count only encoded pictures are corrected if others are dropped`() {
        var random = Numbers(state: 9)
        let run = run(
            shots(
                2_000, distance: { _ in random.next() % 10 == 0 ? 80_000_000 : 40_000_000 }
            ) { index, _ in Int64(index) * 3_600 })
        expectBounds(run, 2_000)
        // The rate itself is not constant: a few seconds of pictures show it.
        #expect(run.errors(12_000).lowerBound >= -500, "\(run.errors(12_000))")
        #expect(run.errors().lowerBound >= -900, "\(run.errors())")
    }

    // MARK: Sound

    /// G.711 in packets of 20 ms whose timestamps grow by other numbers.
    @Test(arguments: [320, 1_800, 0, 80, 40_000] as [Int64], [10, 90] as [Int64])
    func `sound whose timestamps contradict its packets is counted`(ticks: Int64, jitter: Int64) {
        let run = run(
            shots(2_000, distance: { _ in 20_000_000 }) { index, _ in Int64(index) * ticks },
            clockRate: 8_000, length: .bytesPerTick(1), jitter: jitter, losing: [700, 1_200, 1_201])
        expectBounds(run, 1_997)
        #expect(run.errors().lowerBound >= 0, "\(run.errors())")
        #expect(run.errors(3_000).upperBound < 20, "\(run.errors(3_000))")
        // Its packets do not overlap.
        let sound = run.results.dropFirst(100)
        let steps = zip(sound, sound.dropFirst()).map { $1.time - $0.time }
        #expect((steps.min() ?? 0) > 10_000_000, "\(steps.min() ?? 0)")
        #expect(run.findings.count { $0.isCounting } == 1)
        #expect(run.findings.allSatisfy { $0.steps == 0 && $0.strayStamps == 0 }, "\(run.findings)")
    }

    @Test(arguments: [false, true])
    func `sound that pauses keeps its timestamps`(doStampsGoOn: Bool) {
        let run = run(
            shots(1_500, distance: { $0 == 500 ? 3 * Self.second : 20_000_000 }) { index, passed in
                doStampsGoOn ? passed * 8 / 1_000_000 : Int64(index) * 160
            }, clockRate: 8_000, length: .bytesPerTick(1))
        expectBounds(run, 1_500)
        #expect(run.errors().lowerBound >= 0 && run.errors().upperBound < 20, "\(run.errors())")
        #expect(run.findings.allSatisfy { !$0.isCounting })
        #expect(run.lag / 1_000_000_000 == (doStampsGoOn ? 0 : 2))
    }

    @Test func `timestamps that agree with the arrivals are not replaced by a wrong length`() {
        // The description says 1,024 samples for each packet, and they are 2,048.
        let run = run(
            shots(500, distance: { _ in 42_666_667 }) { index, _ in Int64(index) * 2_048 },
            clockRate: 48_000, length: .ticks(1_024))
        expectBounds(run, 500)
        #expect(run.errors().lowerBound >= 0 && run.errors().upperBound < 20, "\(run.errors())")
        #expect(run.findings.isEmpty)
    }

    // MARK: Networks

    @Test(arguments: [500, 1_000, 2_500] as [Int64], [100, 5, 2] as [Int64])
    func `a network stall that is caught up is not taken for a lag`(
        milliseconds: Int64, speed: Int64
    ) {
        // Everything that was held arrives, 1/speed of a second for each second.
        let stall = milliseconds * 1_000_000
        let run = run(
            shots(
                1_000,
                delay: { passed in
                    let since = passed - 10 * Self.second
                    guard since >= 0 else { return 0 }
                    return max(0, stall - since + since / speed)
                }
            ) { index, _ in Int64(index) * 3_600 })
        expectBounds(run, 1_000)
        #expect(run.findings.isEmpty)
        #expect(run.errors().lowerBound >= 0 && run.errors().upperBound < 20, "\(run.errors())")
        // Nothing is held after it has caught up.
        #expect(run.results.allSatisfy { $0.given - $0.arrival <= 2_200_000_000 })
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `bursts of delay are not taken for a lag`(seed: UInt64) {
        var random = Numbers(state: seed)
        // Every few seconds, packets are late by up to 2.5 s, and come back to the usual delay within a second.
        var bursts: [(at: Int64, by: Int64)] = []
        var at = 5 * Self.second
        while at < 80 * Self.second {
            bursts.append((at, 500_000_000 + Int64(random.next() % 2_000_000_000)))
            at += (4 + Int64(random.next() % 5)) * Self.second
        }
        let run = run(
            shots(
                2_000,
                delay: { passed in
                    guard let last = bursts.last(where: { $0.at <= passed }) else { return 0 }
                    let since = passed - last.at
                    // The delay grows in 0.4 s, and shrinks in the following second.
                    if since < 400_000_000 { return last.by / 400 * (since / 1_000_000) }
                    let left = max(0, 1_400_000_000 - since)
                    return last.by / 1_000 * (left / 1_000_000)
                }
            ) { index, _ in Int64(index) * 3_600 }, seed: seed)
        expectBounds(run, 2_000)
        #expect(run.findings.isEmpty)
        #expect(run.errors().lowerBound >= 0 && run.errors().upperBound < 20, "\(run.errors())")
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `bursts of delay keep the order of reordered pictures`(seed: UInt64) {
        var random = Numbers(state: seed)
        var shots = reordered(1_500) { _ in 0 }
        var left: Int64 = 0
        for index in shots.indices.dropFirst(50) {
            // Within a stall, each picture is later than the one before it by less than the time between them.
            left = random.next() % 150 == 0 ? 500 + Int64(random.next() % 2_000) : left - 80
            left = max(0, left)
            shots[index].delay += left * 1_000_000
        }
        let run = run(shots, depth: 1, seed: seed)
        expectBounds(run, 1_500)
        #expect(run.findings.isEmpty, "\(run.findings)")
        #expect(run.errors().lowerBound >= 0 && run.errors().upperBound < 150, "\(run.errors())")
    }

    @Test(arguments: [1, 2, 5] as [Int64], 1...4 as ClosedRange<UInt64>)
    func `low frame rates and a network with jitter`(rate: Int64, seed: UInt64) {
        let run = run(
            shots(
                300, distance: { _ in Self.second / rate }
            ) { index, _ in Int64(index) * 90_000 / rate }, jitter: 90, seed: seed)
        expectBounds(run, 300)
        #expect(run.errors().lowerBound >= 0 && run.errors().upperBound < 96, "\(run.errors())")
        #expect(run.findings.isEmpty, "\(run.findings)")
    }

    @Test func `a network that is slow for a while causes no early times`() {
        // Slower by 1.5 s for ten seconds: not to be told from timestamps that lag; arrivals stay the bound.
        let run = run(
            shots(
                1_000,
                delay: { passed in
                    (10 * Self.second..<20 * Self.second).contains(passed) ? 1_500_000_000 : 0
                }
            ) { index, _ in Int64(index) * 3_600 })
        #expect(run.results.allSatisfy { $0.time <= $0.arrival + 1_000_000 })
        #expect(run.errors().lowerBound >= 0, "\(run.errors())")
        #expect(run.errors(23_000).upperBound < 30)
    }

    @Test func `pictures after a pause with continuous timestamps are not held`() {
        let run = run(
            shots(600, distance: { $0 == 200 ? 6 * Self.second : 40_000_000 }) { _, passed in
                passed * 9 / 100_000
            })
        expectBounds(run, 600)
        #expect(run.findings.isEmpty)
        #expect(run.results.dropFirst(20).allSatisfy { $0.given == $0.arrival })
    }
}
