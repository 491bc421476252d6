import Testing

@testable import Archive

private let second: Int64 = 1_000_000_000
private let day = 86_400 * second
/// 2026-11-20.
private let today: Int64 = 1_795_132_800 * second

/// A machine's clocks, and an archive on it with a recording for each day of the last month.
private struct Machine {
    var clock = RetentionClock()
    var wall: Int64
    var boot: Int64 = 1_000 * second
    var ended: [UTCTime]
    private(set) var lines: [String] = []

    init(wall: Int64 = today, lastRecordingDaysAgo: Int64 = 0) {
        self.wall = wall
        ended = (lastRecordingDaysAgo..<lastRecordingDaysAgo + 30).map {
            UTCTime(nanoseconds: today - $0 * day)
        }
    }

    /// Advances the clocks and runs retention.
    /// - Parameter ahead: how much further the wall clock advances than the monotonic one.
    @discardableResult
    mutating func look(after elapsed: Int64 = 30 * second, ahead: Int64 = 0) -> Bool {
        boot += elapsed
        wall += elapsed + ahead
        let verdict = clock.look(
            at: .init(wall: UTCTime(nanoseconds: wall), bootNanoseconds: boot), ended: ended)
        if let line = verdict.line { lines.append(line) }
        return verdict.isBelieved
    }
}

@Suite struct RetentionClockTests {
    private func expect(
        _ isBelieved: Bool, _ wanted: Bool, at location: SourceLocation = #_sourceLocation
    ) {
        #expect(isBelieved == wanted, sourceLocation: location)
    }

    @Test func `a clock that runs normally is trusted`() {
        var machine = Machine()
        for _ in 0..<100 { expect(machine.look(), true) }
        expect(machine.look(after: 40 * day), true)
        #expect(machine.lines.isEmpty)
    }

    @Test func `a step forward suspends removal by age for a day, with one line`() {
        var machine = Machine()
        machine.look()
        expect(machine.look(ahead: 3_650 * day), false)
        for _ in 0..<2_870 { expect(machine.look(), false) }
        #expect(machine.lines.count == 1 && machine.lines[0].contains("has jumped ahead"))
        for _ in 0..<20 { machine.look() }
        expect(machine.look(), true)
        #expect(machine.lines.count == 2)
    }

    @Test func `a clock that steps back to the right time is trusted at once`() {
        var machine = Machine()
        machine.look()
        machine.look(ahead: 3_650 * day)
        expect(machine.look(ahead: -3_650 * day), true)
    }

    @Test func `a second step restarts the day of waiting`() {
        var machine = Machine()
        machine.look()
        machine.look(ahead: 100 * day)
        machine.look(after: day - 60 * second)
        expect(machine.look(ahead: 100 * day), false)
        expect(machine.look(after: day - 60 * second), false)
        expect(machine.look(after: 120 * second), true)
    }

    @Test func `a step back, and a slow slew, do not matter`() {
        var machine = Machine()
        machine.look()
        expect(machine.look(ahead: -40 * day), true)
        for _ in 0..<3_000 { expect(machine.look(ahead: second / 60), true) }
        #expect(machine.lines.isEmpty)
    }

    @Test func `a clock that is not set is not trusted`() {
        var machine = Machine(wall: 100 * second)
        expect(machine.look(), false)
        expect(machine.look(), false)
        #expect(machine.lines.count == 1 && machine.lines[0].contains("not set"))
        // The wall clock is set from the network.
        expect(machine.look(ahead: today - machine.wall), true)
    }

    @Test func `a machine that was off for sixty days waits a day`() {
        var machine = Machine(lastRecordingDaysAgo: 60)
        expect(machine.look(), false)
        #expect(machine.lines[0].contains("far past the newest recording"))
        expect(machine.look(after: day - second), false)
        expect(machine.look(after: 2 * second), true)
    }

    @Test func `a recording with a wrong clock does not confirm the clock after a restart`() {
        var machine = Machine(wall: today + 3_650 * day)
        machine.ended.append(UTCTime(nanoseconds: machine.wall - 3_600 * second))
        expect(machine.look(), false)
    }

    @Test func `the clock is trusted without recordings, or with only a recent one`() {
        var machine = Machine()
        machine.ended = []
        expect(machine.look(), true)
        machine = Machine()
        machine.ended = [UTCTime(nanoseconds: today - 60 * second)]
        expect(machine.look(), true)
    }

    @Test func `the age of recordings from before a clock step is corrected by the step`() {
        // It ran sixty days behind, for an hour.
        var machine = Machine(wall: today - 60 * day)
        machine.ended = []
        machine.look()
        machine.look(after: 3_600 * second)
        let ended = machine.wall - 600 * second
        machine.look(ahead: 60 * day)
        machine.look(after: day + 60 * second)
        let now = UTCTime(nanoseconds: machine.wall)
        func dated(_ nanoseconds: Int64) -> UTCTime {
            let segment = ArchivedSegment(
                SourceKey(session: "s", source: "camera"), path: "a", sizeBytes: 100,
                ended: UTCTime(nanoseconds: nanoseconds), isProtected: false, isOpen: false)
            return machine.clock.dated([segment], now: now)[0].ended
        }
        #expect(dated(ended).nanoseconds == ended + 60 * day)
        #expect(dated(today - 90 * day).nanoseconds == today - 90 * day)
        // The error was in the time that the clock had stepped to.
        machine.look(ahead: -60 * day)
        #expect(dated(ended).nanoseconds == ended)
    }

    @Test func `a recording dated 1970 ages from when a trusted clock first knew it`() {
        var clock = RetentionClock()
        let old = ArchivedSegment(
            SourceKey(session: "s", source: "camera"), path: "a", sizeBytes: 100,
            ended: UTCTime(nanoseconds: 5 * second), isProtected: false, isOpen: false)
        var other = old
        other.path = "b"
        other.ended = UTCTime(nanoseconds: today - 40 * day)
        let limits = RemovalLimits(maximumAgeNanoseconds: 30 * day)
        func expired(_ daysLater: Int64) -> [String] {
            let now = UTCTime(nanoseconds: today + daysLater * day)
            return limits.expired(
                of: clock.dated([old, other], now: now), freeBytes: 0, now: now
            ).map(\.segment.path)
        }
        // Without a known time, it is the last to be removed for space.
        let undated = clock.dated([old, other], now: nil)
        #expect(undated[0].ended > undated[1].ended)
        #expect(expired(0) == ["b"])
        #expect(expired(29) == ["b"])
        #expect(expired(31) == ["b", "a"])
    }
}
