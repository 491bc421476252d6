import Testing
import Timing

@Suite("A clock exchange")
struct ClockExchangeTests {
    private func exchange(_ t1: Int64, _ t2: Int64, _ t3: Int64, _ t4: Int64) -> ClockExchange {
        ClockExchange(
            t1Nanoseconds: t1, t2Nanoseconds: t2, t3Nanoseconds: t3, t4Nanoseconds: t4)
    }

    @Test func `the offset is the collector's clock less the agent's`() {
        let exchange = exchange(1_000, 501_100, 501_150, 1_250)
        #expect(exchange.rejection == nil)
        #expect(exchange.roundTripDelayNanoseconds == 200)
        #expect(exchange.offsetNanoseconds == 500_000)
    }

    @Test func `an asymmetric path shifts the offset by half the difference`() {
        let exchange = exchange(1_000, 501_200, 501_250, 1_250)
        #expect(exchange.offsetNanoseconds == 500_100)
        #expect(exchange.roundTripDelayNanoseconds / 2 == 100)
    }

    @Test func `a reply before its probe is refused`() {
        #expect(exchange(1_000, 0, 0, 999).rejection == .agentClockBackwards)
    }

    @Test func `a reply sent before the probe came is refused`() {
        #expect(exchange(1_000, 10, 9, 2_000).rejection == .collectorClockBackwards)
    }

    @Test func `more processing than the exchange lasted is refused`() {
        #expect(exchange(1_000, 0, 1_001, 2_000).rejection == .processingPastRoundTrip)
        #expect(exchange(1_000, 0, 1_000, 2_000).rejection == nil)
    }

    @Test(arguments: [Int64.min, -1 << 61, 1 << 61, .max])
    func `readings that would overflow are refused`(reading: Int64) {
        #expect(exchange(reading, 0, 0, 0).rejection == .outOfRange)
        #expect(exchange(0, reading, 0, 0).rejection == .outOfRange)
        #expect(exchange(0, 0, reading, 0).rejection == .outOfRange)
        #expect(exchange(0, 0, 0, reading).rejection == .outOfRange)
    }
}
