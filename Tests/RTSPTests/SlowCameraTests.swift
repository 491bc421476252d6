import Testing

@testable import RTSP

/// Durations of the pictures of cameras with few pictures per second, or with pauses.
@Suite struct SlowCameraTests {
    private static let start: Int64 = 1_000_000_000_000

    /// Pictures that arrive with their capture, at these times in milliseconds.
    private func run(_ times: [Int64], depth: Int = 0) -> [UnitTimes.Timed] {
        var own = UnitTimes(clockRate: 90_000, reorderDepth: depth)
        var items: [UnitTimes.Item] = []
        for (index, time) in times.enumerated() {
            let arrival = Self.start + time * 1_000_000
            // The units before it are released when nothing else arrives.
            items += own.tick(now: arrival)
            items += own.add(
                .unit(
                    AccessUnit(
                        timestamp: UInt32(truncatingIfNeeded: time * 90), firstNumber: Int64(index),
                        lastNumber: Int64(index), firstArrivalNanoseconds: arrival,
                        lastArrivalNanoseconds: arrival, data: [])), now: arrival)
        }
        items += own.flush()
        return items.compactMap { if case .unit(let timed) = $0 { timed } else { nil } }
    }

    @Test(arguments: [2, 4, 12, 60] as [Int64])
    func `a picture lasts as long as the one before it, up to a minute`(seconds: Int64) {
        let timed = run((0..<6).map { $0 * seconds * 1_000 })
        // The first picture's duration is unknown.
        #expect(
            timed.map(\.durationNanoseconds) == [0]
                + [Int64](repeating: seconds * 1_000_000_000, count: 5))
    }

    @Test func `reordered pictures of a slow camera have decoding times near their own`() {
        for timed in run((0..<6).map { $0 * 12_000 }, depth: 2) {
            #expect(timed.dtsNanoseconds <= timed.ptsNanoseconds)
            #expect(timed.ptsNanoseconds - timed.dtsNanoseconds <= 24_000_000_000)
        }
        let first = run((0..<6).map { $0 * 12_000 }, depth: 2)[0]
        #expect(first.ptsNanoseconds - first.dtsNanoseconds <= 2_000_000_000)
    }

    @Test func `a pause is not the duration of a picture`() {
        let regular = (0..<30).map { Int64($0) * 40 }
        let timed = run(regular + regular.map { $0 + 21_200 })
        #expect(timed.count == 60)
        #expect(timed.allSatisfy { ($0.durationNanoseconds - 40_000_000).magnitude < 1_000_000 })
    }
}
