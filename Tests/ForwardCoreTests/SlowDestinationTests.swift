import Testing

@testable import ForwardCore

@Suite struct SlowDestinationTests {
    private static let second: Int64 = 1_000_000_000

    @Test func `drops are reported at once, and then every ten seconds`() {
        var slow = SlowDestination()
        var reports: [[UInt64]] = []
        for second in 0..<30 {
            let dropped = slow.note(
                lateSamples: second < 2 ? 0 : UInt64(min(second, 15)) * 10, isConnected: true,
                now: Int64(second) * Self.second)
            if let dropped { reports.append([UInt64(second), dropped]) }
        }
        #expect(reports == [[2, 20], [12, 100], [22, 30]])
    }

    @Test func `it is slow until ten seconds without drops`() {
        var slow = SlowDestination()
        #expect(!slow.isSlow(now: 0))
        _ = slow.note(lateSamples: 5, isConnected: true, now: Self.second)
        #expect(slow.isSlow(now: 10 * Self.second))
        #expect(!slow.isSlow(now: 11 * Self.second))
    }

    @Test func `drops without a connection are not the destination's slowness`() {
        var slow = SlowDestination()
        #expect(slow.note(lateSamples: 5, isConnected: false, now: 0) == nil)
        #expect(slow.note(lateSamples: 5, isConnected: true, now: Self.second) == nil)
        #expect(!slow.isSlow(now: Self.second))
        #expect(slow.note(lateSamples: 7, isConnected: true, now: 2 * Self.second) == 2)
    }
}
