import Testing

@testable import ForwardCore

@Suite struct ForwardLatencyTests {
    private static let second: Int64 = 1_000_000_000

    /// The last sample of a batch has just been captured: the latency was always about 0.
    @Test func `the oldest sample of a batch determines the latency`() {
        var latency = ForwardLatency()
        let now = 10 * Self.second
        for age in [Int64(9), 6, 3, 0] {
            latency.sent(capturedNanoseconds: now - age * Self.second / 10, now: now)
        }
        #expect(latency.worstNanoseconds(now: now) == 9 * Self.second / 10)
    }

    @Test func `a latency counts for a second of transmission`() {
        var latency = ForwardLatency()
        latency.sent(capturedNanoseconds: 0, now: 5 * Self.second)
        latency.sent(capturedNanoseconds: 4 * Self.second, now: 6 * Self.second)
        #expect(latency.worstNanoseconds(now: 6 * Self.second) == 5 * Self.second)
        latency.sent(capturedNanoseconds: 5 * Self.second, now: 6 * Self.second + 1)
        #expect(latency.worstNanoseconds(now: 6 * Self.second + 1) == 2 * Self.second)
    }

    @Test func `there is no latency while nothing is sent`() {
        var latency = ForwardLatency()
        #expect(latency.worstNanoseconds(now: 0) == nil)
        latency.sent(capturedNanoseconds: 0, now: 1)
        #expect(latency.worstNanoseconds(now: 2 * Self.second) == 1)
        #expect(latency.worstNanoseconds(now: 3 * Self.second + 1) == nil)
    }

    @Test func `a capture time in the future is a latency of zero`() {
        var latency = ForwardLatency()
        latency.sent(capturedNanoseconds: 5, now: 1)
        #expect(latency.worstNanoseconds(now: 1) == 0)
    }
}
