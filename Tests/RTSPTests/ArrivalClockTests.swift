import Testing

@testable import RTSP

/// Behaviours of cameras' timestamps, one test each. Times are nanoseconds.
@Suite struct ArrivalClockTests {
    private static let second: Int64 = 1_000_000_000

    /// A camera whose pictures are captured every 40 ms and arrive after a delay.
    private struct Camera {
        var clock = ArrivalClock(clockRate: 90_000)
        var captured: Int64 = 1_000 * ArrivalClockTests.second
        var stamp: UInt32 = 4_000_000_000
        var results: [(time: Int64, captured: Int64, arrival: Int64)] = []

        mutating func send(ticks: UInt32 = 3_600, delay: Int64) {
            let arrival = captured + delay
            let time = clock.time(of: stamp, arrivalNanoseconds: arrival)
            results.append((time, captured, arrival))
            captured += 40_000_000
            stamp &+= ticks
        }

        /// How far times are from those of capture: the greatest and the least.
        func errors(from start: Int) -> (least: Int64, greatest: Int64) {
            let errors = results[start...].map { $0.time - $0.captured }
            return (errors.min() ?? 0, errors.max() ?? 0)
        }
    }

    /// The least delay that pictures have, and some jitter.
    private static func delay(_ random: inout Numbers) -> Int64 {
        20_000_000 + Int64(random.next() % 30_000_000)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `no time is later than its arrival, or off by more than the network's jitter`(seed: UInt64)
    {
        var random = Numbers(state: seed)
        var camera = Camera()
        for _ in 0..<10_000 { camera.send(delay: Self.delay(&random)) }
        #expect(camera.results.allSatisfy { $0.time <= $0.arrival })
        let errors = camera.errors(from: 200)
        #expect(errors.least >= 20_000_000 && errors.greatest < 26_000_000)
        #expect(zip(camera.results, camera.results.dropFirst()).allSatisfy { $0.time < $1.time })
    }

    @Test func `a wrap of the timestamps changes nothing`() {
        var camera = Camera()
        camera.stamp = .max - 10 * 3_600
        for _ in 0..<100 { camera.send(delay: 20_000_000) }
        #expect(camera.errors(from: 0) == (20_000_000, 20_000_000))
        #expect(camera.clock.takeFindings() == .init())
    }

    @Test(arguments: [-200, 200] as [Int64])
    func `a clock that drifts by 200 ppm is followed`(ppm: Int64) {
        var random = Numbers(state: 7)
        var camera = Camera()
        var exact: Int64 = 0
        for _ in 0..<25 * 3_600 {
            let before = exact / 1_000_000
            exact += 3_600 * (1_000_000 + ppm)
            camera.send(ticks: UInt32(exact / 1_000_000 - before), delay: Self.delay(&random))
        }
        let errors = camera.errors(from: 500)
        #expect(camera.results.allSatisfy { $0.time <= $0.arrival })
        #expect(errors.least >= 17_000_000 && errors.greatest < 27_000_000)
        #expect(camera.clock.takeFindings() == .init())
    }

    @Test func `timestamps slower than the arrivals are replaced by arrival`() throws {
        var camera = Camera()
        // Timestamps of 50 pictures per second; 25 are sent.
        for _ in 0..<25 * 60 { camera.send(ticks: 1_800, delay: 20_000_000) }
        let findings = camera.clock.takeFindings()
        let rate = try #require(findings.ratePPM)
        #expect((490_000...510_000).contains(rate))
        let errors = camera.errors(from: 25 * 20)
        #expect(camera.results.allSatisfy { $0.time <= $0.arrival })
        #expect(errors.greatest - errors.least < 30_000_000)
        #expect(errors.least > 0)
    }

    @Test func `timestamps faster than the arrivals are replaced by arrival`() {
        var camera = Camera()
        for _ in 0..<25 * 60 { camera.send(ticks: 7_200, delay: 20_000_000) }
        #expect(camera.errors(from: 0) == (20_000_000, 20_000_000))
    }

    @Test func `a picture stamped hours away gets a time between its neighbours`() {
        var camera = Camera()
        for index in 0..<1_000 {
            if index % 100 == 50 {
                let stamp = camera.stamp
                camera.stamp &+= 90_000 * 3_600 * 5
                camera.send(delay: 20_000_000)
                camera.stamp = stamp &+ 3_600
            } else {
                camera.send(delay: 20_000_000)
            }
        }
        #expect(camera.errors(from: 0) == (20_000_000, 20_000_000))
        #expect(camera.clock.takeFindings().strayStamps == 10)
    }

    @Test func `a new timestamp sequence is followed after a moment`() {
        var camera = Camera()
        for _ in 0..<100 { camera.send(delay: 20_000_000) }
        camera.stamp = 5
        for _ in 0..<100 { camera.send(delay: 20_000_000) }
        #expect(camera.errors(from: 0) == (20_000_000, 20_000_000))
        #expect(camera.clock.takeFindings().steps == 1)
    }

    /// Capture, time and arrival of a camera whose stamps shift by some milliseconds after ten seconds, for one picture or for good.
    private func shifted(_ milliseconds: Int64, forGood: Bool, seed: UInt64) -> Camera {
        var random = Numbers(state: seed)
        var camera = Camera()
        for index in 0..<1_500 {
            let stamp = camera.stamp
            if index == 250 {
                camera.stamp = UInt32(truncatingIfNeeded: Int64(stamp) + milliseconds * 90)
            }
            camera.send(delay: Self.delay(&random))
            if index == 250, !forGood { camera.stamp = stamp &+ 3_600 }
        }
        return camera
    }

    @Test(
        arguments: [-2_500, -980, -400, -120, -90, -50, 50, 90, 120, 400, 980, 2_500],
        [true, false])
    func `stamps that are set back or forth do not move times`(milliseconds: Int64, forGood: Bool) {
        for seed in 1...5 as ClosedRange<UInt64> {
            let camera = shifted(milliseconds, forGood: forGood, seed: seed)
            #expect(camera.results.allSatisfy { $0.time <= $0.arrival })
            let errors = camera.errors(from: 100)
            // The least delay of the first seconds is known to some milliseconds; what follows is not before the capture.
            #expect(errors.least >= 0 && errors.greatest < 60_000_000, "seed \(seed): \(errors)")
            #expect(
                zip(camera.results, camera.results.dropFirst()).allSatisfy { $0.time < $1.time },
                "seed \(seed)")
        }
    }

    @Test func `a short network stall is not taken for a shift of the timestamps`() {
        for pause in [60, 120, 500, 900] as [Int64] {
            var random = Numbers(state: 3)
            var camera = Camera()
            for index in 0..<1_000 as Range<Int64> {
                // Pictures captured in the meantime arrive at once.
                let left = index >= 500 ? max(0, pause - (index - 500) * 40) : 0
                camera.send(delay: max(Self.delay(&random), left * 1_000_000))
            }
            #expect(camera.clock.takeFindings() == .init())
            let errors = camera.errors(from: 250)
            #expect(
                errors.least >= 20_000_000 && errors.greatest < 26_000_000, "\(pause): \(errors)")
        }
    }

    @Test func `times increase when the network's delay drops by a second`() {
        var camera = Camera()
        for index in 0..<2_000 as Range<Int64> {
            // Slower for twenty seconds: the stamps seem to have paused.
            let left = index >= 1_000 ? max(0, 1_200 - (index - 1_000) * 40) : 1_200
            camera.send(delay: (20 + (index < 500 ? 0 : left)) * 1_000_000)
        }
        #expect(
            zip(camera.results, camera.results.dropFirst()).allSatisfy { $0.time < $1.time })
        #expect(camera.results.allSatisfy { $0.time <= $0.arrival + 100_000 })
        #expect(camera.errors(from: 1_100).greatest < 21_000_000)
    }

    @Test(arguments: [-50, -90, -400])
    func `a backward step of timestamps is distinguished from delay at any jitter`(
        milliseconds: Int64
    ) {
        for seed in 1...20 as ClosedRange<UInt64> {
            var random = Numbers(state: seed)
            var camera = Camera()
            for index in 0..<750 {
                if index == 250 {
                    camera.stamp = UInt32(
                        truncatingIfNeeded: Int64(camera.stamp) + milliseconds * 90)
                }
                let delay = 20_000_000 + Int64(random.next() % 150_000_000)
                let before = (camera.results.last?.arrival ?? 0) - camera.captured
                camera.send(delay: max(delay, before))
            }
            #expect(
                camera.errors(from: 100).least >= 0, "seed \(seed): \(camera.errors(from: 100))")
        }
    }

    /// Slow timestamps imply a high rate; extrapolated times must saturate.
    @Test(arguments: [1, 90_000, .max] as [UInt32])
    func `no timestamps trap, at any clock rate`(clockRate: UInt32) {
        for seed in 1...40 as ClosedRange<UInt64> {
            var random = Numbers(state: seed)
            var clock = ArrivalClock(clockRate: clockRate)
            var stamp: UInt32 = 0
            var arrival: Int64 = 1_000 * Self.second
            func send(_ ticks: UInt32, after: Int64) {
                stamp &+= ticks
                arrival += after
                let time = clock.time(of: stamp, arrivalNanoseconds: arrival)
                #expect(time <= arrival + 1_000_000)
            }
            for _ in 0..<20 {
                let pause = 4 + Int64(random.next() % 4)
                for index in 0..<40 { send(index % Int(pause) == 0 ? 1 : 0, after: Self.second) }
                for _ in 0..<20 { send(1, after: pause * Self.second) }
                let far: [UInt32] = [1 << 31, .max >> 1, (1 << 31) + 1, .max]
                let jump = far[Int(random.next() % 4)]
                send(jump, after: Self.second)
                // A single one, or the beginning of another sequence.
                if random.next() % 2 == 0 { send(1 &- jump, after: Self.second) }
                for _ in 0..<Int(random.next() % 12) { send(1, after: pause * Self.second) }
            }
        }
    }

    @Test func `a network that stands still for five seconds moves no times`() {
        var camera = Camera()
        for _ in 0..<200 { camera.send(delay: 20_000_000) }
        for index in 0..<125 as Range<Int64> {
            camera.send(delay: 20_000_000 + (125 - index) * 40_000_000)
        }
        for _ in 0..<500 { camera.send(delay: 20_000_000) }
        #expect(camera.results.allSatisfy { $0.time <= $0.arrival })
        let errors = camera.errors(from: 0)
        #expect(errors.least == 20_000_000 && errors.greatest <= 30_000_000)
    }

    @Test func `timestamps that stop during a pause are mapped again`() {
        var camera = Camera()
        for _ in 0..<250 { camera.send(delay: 20_000_000) }
        camera.captured += 10 * Self.second
        for _ in 0..<500 { camera.send(delay: 20_000_000) }
        #expect(camera.results.allSatisfy { $0.time <= $0.arrival })
        #expect(camera.errors(from: 250 + 300) == (20_000_000, 20_000_000))
        #expect(camera.clock.takeFindings().steps == 1)
    }

    // MARK: Units

    private func unit(_ stamp: UInt32, at arrival: Int64) -> DepacketizedItem {
        .unit(
            AccessUnit(
                timestamp: stamp, firstNumber: 0, lastNumber: 0, firstArrivalNanoseconds: arrival,
                lastArrivalNanoseconds: arrival, data: [1]))
    }

    private func timed(_ items: [UnitTimes.Item]) -> [UnitTimes.Timed] {
        items.compactMap { if case .unit(let timed) = $0 { timed } else { nil } }
    }

    @Test func `a group of pictures that arrives at once ends at its arrival`() {
        var times = UnitTimes(clockRate: 90_000)
        let start = 100 * Self.second
        var own: [UnitTimes.Timed] = []
        for index in 0..<50 as Range<UInt32> {
            own += timed(times.add(unit(index * 3_600, at: start), now: start))
        }
        #expect(own.isEmpty)
        #expect(times.deadlineNanoseconds == start + UnitTimes.settlingNanoseconds)
        own += timed(times.tick(now: start + UnitTimes.settlingNanoseconds))
        #expect(own.count == 50)
        #expect(own.last?.ptsNanoseconds == start)
        #expect(own.first?.ptsNanoseconds == start - 49 * 40_000_000)
        #expect(own.allSatisfy { $0.durationNanoseconds == 40_000_000 })
    }

    /// Presentation order of pictures in decoding order, with B pictures that others refer to.
    private static let pyramid: [UInt32] = [0, 4, 2, 1, 3, 8, 6, 5, 7, 12, 10, 9, 11]

    @Test(arguments: [0, 2])
    func `decoding times of reordered pictures grow and precede presentation`(depth: Int) {
        var times = UnitTimes(clockRate: 90_000, reorderDepth: depth)
        var own: [UnitTimes.Timed] = []
        for (index, place) in (Self.pyramid + Self.pyramid.map { $0 + 13 }).enumerated() {
            let arrival = 100 * Self.second + Int64(index) * 40_000_000
            own += timed(times.add(unit(place * 3_600, at: arrival), now: arrival))
        }
        own += timed(times.flush())
        #expect(own.count == 26)
        #expect(own.allSatisfy { $0.dtsNanoseconds <= $0.ptsNanoseconds })
        #expect(
            zip(own, own.dropFirst()).allSatisfy { $0.dtsNanoseconds < $1.dtsNanoseconds })
        let sorted = own.map(\.ptsNanoseconds).sorted()
        #expect(zip(sorted, sorted.dropFirst()).allSatisfy { $1 - $0 == 40_000_000 })
    }

    @Test func `pictures from before the start are placed at it, in their order`() {
        var times = UnitTimes(clockRate: 90_000)
        let start = 100 * Self.second
        times.notBeforeNanoseconds = start
        for place in [0, 3, 1, 2, 4, 5] as [UInt32] {
            _ = times.add(unit(place * 3_600, at: start + 60_000_000), now: start)
        }
        let own = timed(times.flush())
        #expect(
            own.map { $0.ptsNanoseconds - start } == [
                0, 450_000, 150_000, 300_000, 20_000_000, 60_000_000,
            ])
        #expect(own.allSatisfy { $0.dtsNanoseconds <= $0.ptsNanoseconds })
    }

    /// B pictures, in decoding order, from before the earliest time: some are held, and some follow.
    @Test(arguments: [120, 150, 300, 500, 900] as [Int64])
    func `pictures from before the start keep their presentation order`(delay: Int64) {
        var times = UnitTimes(clockRate: 90_000, delayNanoseconds: delay * 1_000_000)
        let start = 100 * Self.second
        times.notBeforeNanoseconds = start
        var own: [UnitTimes.Timed] = []
        for (index, place) in Self.pyramids.enumerated() {
            let arrival = start + 20_000_000 + Int64(index) * 40_000_000
            own += timed(times.add(unit(place * 3_600, at: arrival), now: arrival))
        }
        own += timed(times.flush())
        expectOrder(own)
        #expect(own.allSatisfy { $0.ptsNanoseconds >= start })
        // Those after the start are at their times.
        #expect(own.suffix(10).allSatisfy { $0.ptsNanoseconds > start + 500_000_000 })
    }

    @Test(arguments: [true, false], [10, 20, 30] as [Int64])
    func `a cached group that is sent faster keeps its presentation order`(
        hasStart: Bool, step: Int64
    ) {
        var times = UnitTimes(clockRate: 90_000, reorderDepth: 2)
        let start = 100 * Self.second
        if hasStart { times.notBeforeNanoseconds = start }
        var own: [UnitTimes.Timed] = []
        var arrival = start
        for (index, place) in Self.pyramids.enumerated() {
            arrival += (index < 40 ? step : 40) * 1_000_000
            own += timed(times.tick(now: arrival))
            own += timed(times.add(unit(place * 3_600, at: arrival), now: arrival))
        }
        own += timed(times.flush())
        expectOrder(own)
    }

    /// Presentation order of many groups in decoding order.
    private static let pyramids = (0..<6 as Range<UInt32>).flatMap { group in
        pyramid.map { $0 + 13 * group }
    }

    private func expectOrder(_ own: [UnitTimes.Timed]) {
        #expect(own.count == Self.pyramids.count)
        let byTime = own.sorted { $0.ptsNanoseconds < $1.ptsNanoseconds }.map(\.unit.timestamp)
        #expect(byTime == own.map(\.unit.timestamp).sorted())
        #expect(Set(own.map(\.ptsNanoseconds)).count == own.count)
        #expect(own.allSatisfy { $0.dtsNanoseconds <= $0.ptsNanoseconds })
        #expect(zip(own, own.dropFirst()).allSatisfy { $0.dtsNanoseconds < $1.dtsNanoseconds })
    }

    @Test func `holes keep their place among units that are held back`() {
        var times = UnitTimes(clockRate: 90_000)
        _ = times.add(unit(0, at: 0), now: 0)
        let hole = StreamHole(cause: .malformed("x"), arrivalNanoseconds: 1)
        _ = times.add(.hole(hole), now: 1)
        _ = times.add(unit(3_600, at: 2), now: 2)
        let items = times.flush()
        #expect(items.count == 3 && items[1] == .hole(hole))
    }

    @Test func `a known delay is subtracted from every time`() {
        func times(delay: Int64) -> [Int64] {
            var own = UnitTimes(clockRate: 90_000, delayNanoseconds: delay)
            var items: [UnitTimes.Item] = []
            for index in 0..<50 {
                // Some packets are late.
                let arrival =
                    5_000_000_000 + Int64(index) * 40_000_000 + Int64(index % 3) * 7_000_000
                items += own.add(
                    .unit(
                        AccessUnit(
                            timestamp: UInt32(index * 3_600), firstNumber: 0, lastNumber: 0,
                            firstArrivalNanoseconds: arrival, lastArrivalNanoseconds: arrival,
                            data: [1])), now: arrival)
            }
            items += own.flush()
            return items.compactMap {
                if case .unit(let unit) = $0 { unit.ptsNanoseconds } else { nil }
            }
        }
        let plain = times(delay: 0)
        let own = times(delay: 120_000_000)
        #expect(plain.count == 50)
        #expect(own == plain.map { $0 - 120_000_000 })
    }
}

/// SplitMix64: the same numbers for the same seed.
struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
