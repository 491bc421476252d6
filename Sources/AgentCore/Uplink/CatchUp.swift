import Media
import Wire

/// Detects when the backlog of an outage is persisted by the collector, so that the log has the end of the outage, not only the
/// reconnection.
///
/// More is captured while the backlog is sent. Each time the goal is reached, it is moved to the newest record, until that takes
/// only a moment.
struct CatchUp: Hashable, Sendable {
    /// A record: the spool that has it, and its number there.
    struct Goal: Hashable, Sendable {
        var spool: SpoolID
        var number: UInt64
    }

    /// A shorter outage with a small backlog is not logged: it may be a restart of the collector.
    static let shortestOutageNanoseconds: Int64 = 2_000_000_000
    /// A larger backlog, from before an agent's start or of a fast source, is always logged.
    static let muchBytes = 1_000_000
    /// A smaller backlog is normal: a fragment and its commit.
    static let toleranceNanoseconds: Int64 = 3_000_000_000

    private enum State: Hashable, Sendable {
        case none
        /// Start of the time without sending.
        case away(since: Int64)
        case behind(Way)
    }

    private struct Way: Hashable, Sendable {
        var outageNanoseconds: Int64
        var beganNanoseconds: Int64
        /// Backlog at the start, and the samples captured until the goal was set.
        var bytes: Int
        var goal: Goal
        var goalNanoseconds: Int64
    }

    private var state = State.none

    /// Whether the backlog of an outage is being sent.
    var isBehind: Bool {
        if case .behind = state { return true }
        return false
    }

    /// Sending has stopped.
    mutating func lost(now: Int64) {
        switch state {
        case .none: state = .away(since: now)
        case .away: break
        // The outage continues.
        case .behind(let way): state = .away(since: way.beganNanoseconds - way.outageNanoseconds)
        }
    }

    /// The collector accepts records again.
    /// - Parameters:
    ///   - newest: the newest record.
    ///   - keptBytes: the backlog.
    mutating func resumed(newest: Goal, keptBytes: Int, now: Int64) {
        guard case .away(let since) = state else { return }
        let isLong = now - since >= Self.shortestOutageNanoseconds
        guard isLong ? keptBytes > 0 : keptBytes >= Self.muchBytes else {
            state = .none
            return
        }
        state = .behind(
            Way(
                outageNanoseconds: now - since, beganNanoseconds: now, bytes: keptBytes,
                goal: newest, goalNanoseconds: now))
    }

    /// Checks the progress.
    /// - Parameters:
    ///   - newest: the newest record.
    ///   - isPersisted: whether the collector has persisted a record.
    /// - Returns: a log line when the backlog is persisted.
    mutating func look(
        newest: Goal, keptBytes: Int, now: Int64, isPersisted: (Goal) -> Bool
    ) -> String? {
        guard case .behind(var way) = state, isPersisted(way.goal) else { return nil }
        if now - way.goalNanoseconds > Self.toleranceNanoseconds, way.goal != newest {
            way.bytes += keptBytes
            way.goal = newest
            way.goalNanoseconds = now
            state = .behind(way)
            return nil
        }
        state = .none
        return "caught up after \(Self.seconds(way.outageNanoseconds)) without a collector: "
            + "\(byteText(way.bytes)) sent within \(Self.seconds(now - way.beganNanoseconds))"
    }

    private static func seconds(_ nanoseconds: Int64) -> String {
        let tenths = nanoseconds / 100_000_000
        return tenths >= 100 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }
}
