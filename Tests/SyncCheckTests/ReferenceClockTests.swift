import SyncCheck
import Testing

@Suite struct ReferenceClockTests {
    @Test func `a clock that is behind shows the reference's time with the offset added`() {
        let clock = ReferenceClock(offsetNanoseconds: 500_000_000_000)
        #expect(clock.nanoseconds(at: 12) == 500_000_000_012)
    }

    @Test func `a faster clock's time is exact to the nanosecond after fifty years`() {
        // 200 ppm fast: 1.0002 of its seconds are one.
        let clock = ReferenceClock(offsetNanoseconds: -5, skewPPB: 200_000)
        #expect(clock.nanoseconds(at: 1_000_200_000_000) == 1_000_000_000_000 - 5)
        #expect(clock.nanoseconds(at: 1_800_360_000_000_000_000) == 1_800_000_000_000_000_000 - 5)
    }
}
