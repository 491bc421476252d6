import Media

/// Decides whether the wall clock can be trusted for removal by age: a clock that is wrong for a minute must not delete
/// recordings of a month.
///
/// A wall clock can jump: its battery is empty, a satellite receiver fails, a time server is wrong. So its progress is compared
/// with that of a clock that is never set and that also runs while the machine sleeps (`CLOCK_BOOTTIME`). Removal by age is
/// suspended when the wall clock has advanced by more than ``toleranceNanoseconds`` too much, or is far past the recordings when
/// a collector starts. It is suspended until the wall clock is back, or has been consistent for ``suspensionNanoseconds``. A
/// clock that is set back or slewed only keeps recordings longer. Recordings made before a forward step that this program
/// observed are dated later by the size of the step: the clock was wrong then, or is wrong now.
package struct RetentionClock: Sendable {
    /// Both clocks at one moment.
    package struct Reading: Hashable, Sendable {
        package var wall: UTCTime
        /// `CLOCK_BOOTTIME`, nanoseconds.
        package var bootNanoseconds: Int64

        package init(wall: UTCTime, bootNanoseconds: Int64) {
            self.wall = wall
            self.bootNanoseconds = bootNanoseconds
        }

        /// Advance of the wall clock since an earlier reading in excess of the other clock, nanoseconds.
        func ahead(of earlier: Reading) -> Int64 {
            wall.nanoseconds.clampedSubtracting(earlier.wall.nanoseconds)
                .clampedSubtracting(bootNanoseconds.clampedSubtracting(earlier.bootNanoseconds))
        }
    }

    /// The result of a check.
    package struct Verdict: Hashable, Sendable {
        /// Whether recordings may be removed by age.
        package var isBelieved: Bool
        /// One line for the log, if the result has changed.
        package var line: String?
    }

    /// Maximum advance of the wall clock between two checks: a leap second, a time server's correction, a slow check.
    static let toleranceNanoseconds: Int64 = 60_000_000_000
    /// Duration of a suspension: operators check a collector once a day.
    static let suspensionNanoseconds: Int64 = 86_400_000_000_000
    /// Maximum distance from the newest recording before the last day when a collector starts: a week without recordings is
    /// usual, and a clock that is wrong is usually wrong by more.
    static let absenceNanoseconds: Int64 = 8 * 86_400_000_000_000
    /// Before this date (2024-01-01) a clock has not been set: no recording of this program is older.
    package static let earliest = UTCTime(nanoseconds: 1_704_067_200_000_000_000)

    /// The last trusted reading.
    private var believed: Reading?
    /// The latest reading of an untrusted wall clock, and since when it has been consistent.
    private var doubtful: (reading: Reading, sinceNanoseconds: Int64)?
    private var isUnset = false
    /// Files with a date from before any clock was set, and the time at which a trusted clock first saw them.
    private var firstSeen: [String: UTCTime] = [:]
    /// The first reading since the wall clock was last set, and the last one.
    private var since: (first: Reading, last: Reading)?
    /// Periods of the wall clock before it was set forward, and the step, in order.
    private var steps: [(times: ClosedRange<UTCTime>, nanoseconds: Int64)] = []
    private static let maximumSteps = 64

    package init() {}

    /// Checks the clocks.
    /// - Parameter ended: the end times of the archive's recordings, according to their files.
    package mutating func look(
        at reading: Reading, ended: some Sequence<UTCTime>
    ) -> Verdict {
        follow(reading)
        guard reading.wall >= Self.earliest else {
            defer { isUnset = true }
            return Verdict(
                isBelieved: false,
                line: isUnset
                    ? nil
                    : "the system clock is not set (\(reading.wall)): nothing is removed by age until "
                        + "it is")
        }
        isUnset = false
        guard isDoubtful(reading, ended: ended) else {
            let wasDoubtful = doubtful != nil
            believed = reading
            doubtful = nil
            return Verdict(
                isBelieved: true,
                line: wasDoubtful
                    ? "the system clock is plausible again: removal by age resumes" : nil)
        }
        if let doubtful, abs(reading.ahead(of: doubtful.reading)) <= Self.toleranceNanoseconds {
            let since = doubtful.sinceNanoseconds
            guard reading.bootNanoseconds - since >= Self.suspensionNanoseconds else {
                self.doubtful = (reading, since)
                return Verdict(isBelieved: false, line: nil)
            }
            believed = reading
            self.doubtful = nil
            return Verdict(
                isBelieved: true,
                line: "the system clock has been consistent for a day: removal by age resumes")
        }
        doubtful = (reading, reading.bootNanoseconds)
        let why =
            believed == nil
            ? "is far past the newest recording" : "has jumped ahead"
        return Verdict(
            isBelieved: false,
            line:
                "the system clock \(why) (it reads \(reading.wall)): nothing is removed by age for a "
                + "day. If it is wrong, set it")
    }

    /// Records steps of the wall clock.
    private mutating func follow(_ reading: Reading) {
        guard let (first, last) = since else {
            since = (reading, reading)
            return
        }
        let ahead = reading.ahead(of: last)
        since = (abs(ahead) <= Self.toleranceNanoseconds ? first : reading, reading)
        if ahead < -Self.toleranceNanoseconds {
            // The clock was wrong in the meantime, not before.
            steps = []
        } else if ahead > Self.toleranceNanoseconds {
            let passed = reading.bootNanoseconds.clampedSubtracting(last.bootNanoseconds)
            let until = UTCTime(nanoseconds: last.wall.nanoseconds.clampedAdding(passed))
            if steps.count == Self.maximumSteps { steps.removeFirst() }
            steps.append((first.wall...max(first.wall, until), ahead))
        }
    }

    private func isDoubtful(_ reading: Reading, ended: some Sequence<UTCTime>) -> Bool {
        if let believed { return reading.ahead(of: believed) > Self.toleranceNanoseconds }
        // Recordings that a wrong clock has dated since then must not confirm it.
        let yesterday = reading.wall.nanoseconds - Self.suspensionNanoseconds
        let newest = ended.lazy.filter { $0 >= Self.earliest && $0.nanoseconds <= yesterday }.max()
        return newest.map { reading.wall.nanoseconds - $0.nanoseconds > Self.absenceNanoseconds }
            ?? false
    }

    /// Segments with corrected dates. A segment that was written before a forward step is younger by that step. A segment with a
    /// date from before any clock was set counts from when a trusted clock first saw it.
    /// - Parameter now: nil while no clock is trusted; segments dated by such a clock then count as the newest.
    package mutating func dated(
        _ segments: [ArchivedSegment], now: UTCTime?
    ) -> [ArchivedSegment] {
        var seen: [String: UTCTime] = [:]
        let dated = segments.map { segment in
            var dated = segment
            for step in steps where step.times.contains(dated.ended) {
                dated.ended = UTCTime(
                    nanoseconds: dated.ended.nanoseconds.clampedAdding(step.nanoseconds))
            }
            guard dated.ended < Self.earliest else { return dated }
            let first = firstSeen[segment.path] ?? now
            seen[segment.path] = first
            dated.ended = first ?? UTCTime(nanoseconds: .max)
            return dated
        }
        firstSeen = seen
        return dated
    }
}
