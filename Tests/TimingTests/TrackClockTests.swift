import Media
import Testing
import Timing

@Suite("A track's clock")
struct TrackClockTests {
    private static let second: Int64 = 1_000_000_000

    private func pictures() -> TrackClock {
        TrackClock(timescale: .video, continuity: .stamped, nominalDurationTicks: 3_000)
    }

    private func packets(rate: UInt32 = 48_000) -> TrackClock {
        TrackClock(
            timescale: Timescale(rate), continuity: .endToEnd(toleranceTicks: 1),
            nominalDurationTicks: 1_024)
    }

    private func stamps(_ pts: Int64, dts: Int64? = nil, duration: Int64 = 33_333_333)
        -> SampleStamps
    {
        SampleStamps(
            ptsNanoseconds: pts, dtsNanoseconds: dts ?? pts, durationNanoseconds: duration)
    }

    /// Places successive samples, with the present right behind their DTS.
    private func place(_ clock: inout TrackClock, _ samples: SampleStamps..., now: Int64? = nil)
        -> [Placement]
    {
        samples.map { clock.place($0, nowNanoseconds: now ?? 100 * Self.second) }
    }

    // MARK: Ordinary samples

    @Test func `pictures are placed at their timestamps`() {
        var clock = pictures()
        let placed = place(&clock, stamps(0), stamps(33_333_333), stamps(100_000_000))
        #expect(placed.map(\.dtsTicks) == [0, 3_000, 9_000])
        #expect(placed.map(\.ptsTicks) == [0, 3_000, 9_000])
        #expect(placed.map(\.gapTicks) == [0, 0, 3_000])
        #expect(placed.allSatisfy { $0.durationTicks == 3_000 && $0.faults.isEmpty })
        #expect(clock.faultCounts.isEmpty)
    }

    @Test func `reordered pictures keep both of their times`() {
        var clock = pictures()
        let placed = place(
            &clock, stamps(66_666_667, dts: 0), stamps(200_000_000, dts: 33_333_333),
            stamps(100_000_000, dts: 66_666_667))
        #expect(placed.map(\.dtsTicks) == [0, 3_000, 6_000])
        #expect(placed.map(\.ptsTicks) == [6_000, 18_000, 9_000])
        #expect(placed.allSatisfy { $0.faults.isEmpty })
    }

    @Test func `a track with another timescale continues after the previous one's end`() {
        var before = packets(rate: 48_000)
        _ = place(&before, stamps(1_000_000_000, duration: 21_333_333))
        var clock = packets(rate: 44_100)
        clock.goOn(after: before)
        // 1 s and 1,024 samples of 48 kHz.
        #expect(clock.endNanoseconds.map { ($0 - 1_021_333_333).magnitude < 30_000 } == true)
        let back = place(&clock, stamps(500_000_000, duration: 23_219_955))
        #expect(back.map { $0.dtsTicks > 44_100 } == [true])
        var again = packets(rate: 48_000)
        again.goOn(after: clock)
        let last = place(&again, stamps(400_000_000, duration: 21_333_333))
        #expect(last.map { $0.dtsTicks > 48_000 } == [true])
    }

    @Test func `samples with unusable timestamps are placed at most at the given limit`() {
        var clock = pictures()
        let hour = 3_600 * Self.second
        let first = clock.place(stamps(0, duration: hour), nowNanoseconds: 300 * hour)
        #expect(first.dtsTicks == 0)
        var last = first
        for _ in 0..<100 {
            last = clock.place(
                stamps(-hour, duration: hour), nowNanoseconds: 300 * hour,
                latestNanoseconds: 120 * Self.second)
        }
        #expect(last.faults.contains(.backwards))
        #expect(last.dtsTicks <= 121 * 90_000)
    }

    @Test func `samples from before the session's zero have negative ticks`() {
        var clock = pictures()
        let placed = place(&clock, stamps(-7_200 * Self.second), now: 0)
        #expect(placed.map(\.dtsTicks) == [-648_000_000])
        #expect(placed.allSatisfy { $0.faults.isEmpty })
    }

    @Test(arguments: [48_000, 44_100] as [UInt32])
    func `half an hour of sound with jittering stamps is 1024 ticks a packet`(rate: UInt32) {
        var clock = packets(rate: rate)
        var random = SeededGenerator(seed: 5)
        let scale = Timescale(rate)
        let tick = Self.second / Int64(rate)
        for packet in 0..<100_000 as Range<Int64> {
            guard let exact = try? rescale(packet * 1_024, from: scale, to: .nanoseconds) else {
                Issue.record("packet \(packet) has no time")
                return
            }
            let placed = clock.place(
                stamps(
                    exact + Int64.random(in: -tick...tick, using: &random),
                    duration: 1_024 * Self.second / Int64(rate)),
                nowNanoseconds: exact + Self.second)
            #expect(placed.durationTicks == 1_024)
            if packet > 0 { #expect(placed.gapTicks == 0) }
        }
    }

    @Test func `sound that drifts from its stamps is corrected by whole ticks`() {
        var clock = packets()
        var corrected = 0
        var lastTicks: Int64 = 0
        for packet in 0..<1_000 as Range<Int64> {
            let stamp = packet * 21_344_000
            let placed = clock.place(
                stamps(stamp, duration: 21_333_333), nowNanoseconds: stamp + Self.second)
            if placed.gapTicks != 0 { corrected += 1 }
            #expect((0...2).contains(placed.gapTicks))
            #expect(placed.faults.isEmpty)
            lastTicks = placed.dtsTicks
        }
        #expect((200...300).contains(corrected))
        #expect(abs(lastTicks - 999 * 21_344 * 48 / 1_000) <= 2)
    }

    @Test func `missing audio is a gap of its length`() {
        var clock = packets()
        let placed = place(
            &clock, stamps(0, duration: 21_333_333),
            stamps(21_333_333 + Self.second, duration: 21_333_333))
        #expect(placed.map(\.gapTicks) == [0, 48_000])
        #expect(placed.map(\.dtsTicks) == [0, 49_024])
    }

    // MARK: Invalid timestamps and durations

    @Test func `a stamp that repeats is pushed by one tick`() {
        var clock = pictures()
        let placed = place(&clock, stamps(Self.second), stamps(Self.second))
        #expect(placed.map(\.dtsTicks) == [90_000, 90_001])
        #expect(placed.map(\.ptsTicks) == [90_000, 90_001])
        #expect(placed.map(\.faults) == [[], [.notAfterPrevious]])
        #expect(clock.faultCounts == [.notAfterPrevious: 1])
    }

    @Test func `a pushed DTS leaves a later PTS where it was`() {
        var clock = pictures()
        let placed = place(
            &clock, stamps(Self.second), stamps(1_100_000_000, dts: Self.second))
        #expect(placed.map(\.dtsTicks) == [90_000, 90_001])
        #expect(placed.map(\.ptsTicks) == [90_000, 99_000])
    }

    @Test func `a timestamp an hour back is replaced by the next regular time`() {
        var clock = pictures()
        let placed = place(
            &clock, stamps(4_000 * Self.second), stamps(400 * Self.second),
            now: 5_000 * Self.second)
        #expect(placed[1].dtsTicks == placed[0].dtsTicks + 3_000)
        #expect(placed[1].ptsTicks == placed[1].dtsTicks)
        #expect(placed[1].faults == [.backwards])
    }

    @Test func `a timestamp an hour ahead is replaced, and the next valid one is used`() {
        var clock = pictures()
        let placed = place(
            &clock, stamps(Self.second), stamps(3_601 * Self.second), stamps(1_066_666_667),
            now: 2 * Self.second)
        #expect(placed.map(\.dtsTicks) == [90_000, 93_000, 96_000])
        #expect(placed.map(\.faults) == [[], [.ahead], []])
    }

    @Test func `the distance of PTS and DTS is kept when a timestamp is replaced`() {
        var clock = pictures()
        let placed = place(
            &clock, stamps(Self.second),
            stamps(3_601 * Self.second + 66_666_667, dts: 3_601 * Self.second),
            now: 2 * Self.second)
        #expect(placed[1].ptsTicks - placed[1].dtsTicks == 6_000)
    }

    @Test func `timestamps that stay ahead advance by one tick each`() {
        var clock = pictures()
        let now = 2 * Self.second
        for _ in 0..<1_000 {
            _ = clock.place(stamps(9_000 * Self.second), nowNanoseconds: now)
        }
        let last = clock.place(stamps(9_000 * Self.second), nowNanoseconds: now)
        #expect(last.dtsTicks == 180_000 + 1_000)
        #expect(clock.faultCounts == [.ahead: 1_001])
    }

    @Test func `a stamp from years ago is placed in the present`() {
        var clock = pictures()
        let placed = place(&clock, stamps(-50_000_000 * Self.second), now: Self.second)
        #expect(placed.map(\.dtsTicks) == [90_000])
        #expect(placed.map(\.faults) == [[.behind]])
    }

    @Test func `a DTS after its PTS is decoded at its PTS`() {
        var clock = pictures()
        let placed = place(&clock, stamps(Self.second, dts: 3 * Self.second))
        #expect(placed.map(\.dtsTicks) == [90_000])
        #expect(placed.map(\.ptsTicks) == [90_000])
        #expect(placed.map(\.faults) == [[.decodingAfterPresentation]])
    }

    @Test func `a PTS an hour after its DTS is presented at its DTS`() {
        var clock = pictures()
        let placed = place(&clock, stamps(3_601 * Self.second, dts: Self.second))
        #expect(placed.map(\.ptsTicks) == [90_000])
        #expect(placed.map(\.faults) == [[.presentationFarAhead]])
    }

    @Test(arguments: [0, -1, .min, .max, 3_600_000_000_001] as [Int64])
    func `an invalid duration is replaced by the previous sample's`(duration: Int64) {
        var clock = pictures()
        let placed = place(
            &clock, stamps(0, duration: 66_666_667), stamps(66_666_667, duration: duration))
        #expect(placed[1].durationTicks == 6_000)
        #expect(placed[1].faults == [.badDuration])
        var fresh = pictures()
        #expect(place(&fresh, stamps(0, duration: duration))[0].durationTicks == 3_000)
    }

    @Test(arguments: [0, 1])
    func `no input traps, repeats a DTS or puts a PTS before its DTS`(kind: Int) {
        var random = SeededGenerator(seed: 77)
        var clock =
            kind == 0
            ? pictures()
            : TrackClock(
                timescale: .nanoseconds, continuity: .endToEnd(toleranceTicks: 1),
                nominalDurationTicks: 1_024)
        let edges: [Int64] = [.min, .max, -1 << 61, 1 << 61, 0, 1, -1]
        func any() -> Int64 {
            switch random.next() % 4 {
            case 0: edges[Int(random.next() % 7)]
            case 1: Int64(bitPattern: random.next())
            default: Int64.random(in: -20_000_000_000...20_000_000_000, using: &random)
            }
        }
        var last: Int64?
        for _ in 0..<50_000 {
            let placed = clock.place(
                stamps(any(), dts: any(), duration: any()), nowNanoseconds: any())
            if let last { #expect(placed.dtsTicks > last) }
            #expect(placed.ptsTicks >= placed.dtsTicks)
            #expect(placed.durationTicks > 0)
            last = placed.dtsTicks
        }
        #expect(clock.faultCounts.count == StampFault.allCases.count)
    }
}
