import Media
import Testing

@testable import Devices

/// The kernel's stamps of arrivals, on the monotonic clock.
@Suite struct ArrivalStampTests {
    private static let utc: Int64 = 1_795_214_400_000_000_000
    private static let monotonic: Int64 = 90_000_000_000_000

    /// - Parameter waits: durations between the three readings of each, nanoseconds.
    private func readings(_ waits: [(Int64, Int64)]) -> () -> ArrivalStamp.Reading {
        var rest = waits
        var now: Int64 = 3_000_000
        return {
            let (first, second) = rest.isEmpty ? (0, 0) : rest.removeFirst()
            let before = now
            now += first
            let utc = now
            now += second
            return ArrivalStamp.Reading(
                before: Self.monotonic + before, utc: Self.utc + utc, after: Self.monotonic + now)
        }
    }

    @Test func `an arrival is as long ago as its stamp states`() {
        #expect(
            ArrivalStamp.monotonicNanoseconds(Self.utc, reading: readings([(100, 100)]))
                == Self.monotonic + 100)
    }

    @Test(arguments: [(2_000_000, 100), (100, 2_000_000), (700_000, 700_000)])
    func `an interruption between clock readings makes no arrival earlier`(first: Int, second: Int)
    {
        let all = [(Int64, Int64)](repeating: (Int64(first), Int64(second)), count: 4)
        let arrival = ArrivalStamp.monotonicNanoseconds(Self.utc, reading: readings(all))
        #expect(arrival >= Self.monotonic)
        #expect(arrival <= Self.monotonic + Int64(first + second))
    }

    @Test func `of several interrupted clock readings, the quickest is used`() {
        let waits: [(Int64, Int64)] = [(0, 900_000), (0, 400_000), (300, 50)]
        #expect(
            ArrivalStamp.monotonicNanoseconds(Self.utc, reading: readings(waits))
                == Self.monotonic + 50)
    }

    @Test(arguments: [0, -5_000_000_001, 4_000_000])
    func `an implausible stamp is replaced by the present`(later: Int64) {
        let stamp = later == 0 ? 0 : Self.utc + later
        #expect(
            ArrivalStamp.monotonicNanoseconds(stamp, reading: readings([(40, 40)]))
                == Self.monotonic + 3_000_080)
    }

    @Test func `the real clocks give a time that has passed`() {
        let before = SystemClock.monotonic.nowNanoseconds
        let stamp = SystemClock.utc.nowNanoseconds
        let arrival = ArrivalStamp.monotonicNanoseconds(stamp)
        #expect(arrival >= before && arrival <= SystemClock.monotonic.nowNanoseconds)
    }
}
