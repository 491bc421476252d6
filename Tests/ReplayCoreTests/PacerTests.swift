import ReplayCore
import Testing

private let second: Int64 = 1_000_000_000

@Suite struct PacerTests {
    @Test func `due times count from one anchor, at any speed`() {
        let normal = ReplayPacer(speed: .normal, from: 5 * second, now: 100 * second)
        #expect(normal.due(5 * second) == 100 * second)
        #expect(normal.due(6 * second + 1) == 101 * second + 1)
        // Items before the beginning are overdue.
        #expect(normal.due(4 * second) == 99 * second)
        let fast = ReplayPacer(speed: .millionths(8_000_000), from: 0, now: 0)
        #expect(fast.due(3_600 * second) == 450 * second)
        let slow = ReplayPacer(speed: .millionths(333_333), from: 0, now: 0)
        // A day at a third: no error adds up.
        let day = 86_400 * second
        let expected = Int64(Int128(day) * 1_000_000 / 333_333)
        #expect(slow.due(day) == expected)
        #expect(ReplayPacer(speed: .unlimited, from: 0, now: 7).due(99 * second) == .min)
    }

    @Test func `a pause delays all later items`() {
        var pacer = ReplayPacer(speed: .millionths(2_000_000), from: 0, now: 0)
        pacer.pause(now: second)
        #expect(pacer.isPaused && pacer.due(0) == nil)
        pacer.pause(now: 2 * second)
        pacer.resume(now: 5 * second, next: 2 * second)
        #expect(!pacer.isPaused)
        #expect(pacer.due(4 * second) == 6 * second)
    }

    @Test func `a step advances to the next item only`() {
        var pacer = ReplayPacer(speed: .normal, from: 0, now: 0)
        pacer.step(to: 10 * second, now: second)
        #expect(pacer.isPaused)
        #expect(pacer.due(10 * second) == .min)
        #expect(pacer.due(10 * second + 1) == nil)
        pacer.step(to: 11 * second, now: 2 * second)
        #expect(pacer.due(11 * second) == .min)
        // Skipped items are not waited for.
        pacer.resume(now: 20 * second, next: 12 * second)
        #expect(pacer.due(12 * second) == 20 * second)
        #expect(pacer.due(13 * second) == 21 * second)
    }
}
