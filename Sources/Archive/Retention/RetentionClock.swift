import Media

/// Decides when the wall clock may be believed that recordings are old: what it says for a minute must not cost what was kept for a month.
///
/// A wall clock jumps: a battery is empty, a receiver of satellite time is confused, a network's time server is wrong. So its progress is
/// compared with that of a clock that nobody sets and that runs while the machine sleeps (`CLOCK_BOOTTIME`). Where it has gone ahead by
/// more than ``toleranceNanoseconds``, or is far past the recordings when a collector starts, removal by age waits: until the wall clock is
/// back where it was, or has said the same for ``suspensionNanoseconds``. A clock that goes back, or is slewed, only keeps more. What was
/// recorded before a step forward, while this program looked, is dated by as much later: the clock was wrong then, or is now.
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

        /// How much further the wall clock has come since an earlier reading than the other one, nanoseconds.
        func ahead(of earlier: Reading) -> Int64 {
            wall.nanoseconds.clampedSubtracting(earlier.wall.nanoseconds)
                .clampedSubtracting(bootNanoseconds.clampedSubtracting(earlier.bootNanoseconds))
        }
    }

    /// What a look came to.
    package struct Verdict: Hashable, Sendable {
        /// Whether recordings may go by their age.
        package var isBelieved: Bool
        /// One line for the log, when that is news.
        package var line: String?
    }

    /// How far the wall clock may go ahead between two looks: a leap second, a time server's correction, a slow look.
    static let toleranceNanoseconds: Int64 = 60_000_000_000
    /// For how long removal by age waits: somebody looks at a collector once a day.
    static let suspensionNanoseconds: Int64 = 86_400_000_000_000
    /// How far past the newest recording of before the last day a collector may start: a week without recordings is usual, and a wrong
    /// clock is mostly further away.
    static let absenceNanoseconds: Int64 = 8 * 86_400_000_000_000
    /// Before this (2024-01-01) a clock has not been set: no recording of this program is older.
    package static let earliest = UTCTime(nanoseconds: 1_704_067_200_000_000_000)

    /// The last reading that was believed.
    private var believed: Reading?
    /// A wall clock that is not believed yet, as it was last, and since when it has said so.
    private var doubtful: (reading: Reading, sinceNanoseconds: Int64)?
    private var isUnset = false
    /// Files of a time at which no clock was set: when a believable clock saw them first.
    private var firstSeen: [String: UTCTime] = [:]
    /// The first reading since the wall clock was last set, and the last one.
    private var since: (first: Reading, last: Reading)?
    /// Times of the wall clock before it was set forward, and by how much, in their order.
    private var steps: [(times: ClosedRange<UTCTime>, nanoseconds: Int64)] = []
    private static let maximumSteps = 64

    package init() {}

    /// Looks at the clocks.
    /// - Parameter ended: when the archive's recordings ended, as their files say.
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
                line: wasDoubtful ? "the system clock is right again: recordings go by age" : nil)
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
                line: "the system clock has said the same for a day: recordings go by age")
        }
        doubtful = (reading, reading.bootNanoseconds)
        let why =
            believed == nil
            ? "is far past the newest recording" : "has jumped ahead"
        return Verdict(
            isBelieved: false,
            line:
                "the system clock \(why) (it says \(reading.wall)): nothing is removed by age for a "
                + "day. If it is wrong, set it")
    }

    /// Remembers steps of the wall clock.
    private mutating func follow(_ reading: Reading) {
        guard let (first, last) = since else {
            since = (reading, reading)
            return
        }
        let ahead = reading.ahead(of: last)
        since = (abs(ahead) <= Self.toleranceNanoseconds ? first : reading, reading)
        if ahead < -Self.toleranceNanoseconds {
            // It was wrong where it had gone to, not where it had been.
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
        // What a wrong clock has recorded since it is wrong must not vouch for it.
        let yesterday = reading.wall.nanoseconds - Self.suspensionNanoseconds
        let newest = ended.lazy.filter { $0 >= Self.earliest && $0.nanoseconds <= yesterday }.max()
        return newest.map { reading.wall.nanoseconds - $0.nanoseconds > Self.absenceNanoseconds }
            ?? false
    }

    /// Segments with dates that say how old they are: one that was written before the clock was set is as much younger, and one of before
    /// there were clocks counts from when a believable one saw it first.
    /// - Parameter now: nil while no clock is believed; what such a clock dates is the newest then.
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
