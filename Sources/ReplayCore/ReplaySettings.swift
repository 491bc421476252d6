package import Messaging

/// Destination and settings of a replay.
package struct ReplaySettings: Sendable {
    /// The capture times that are sent to the collector.
    package enum Timeline: Hashable, Sendable {
        /// The recording's own: its zero is this instant, nanoseconds since 1970 (UTC).
        case kept(zeroUTCNanoseconds: Int64)
        /// The recording's own, moved so that it begins now.
        case moved
        /// The present times, like those of a camera.
        case live
    }

    /// The collector's ZeroMQ endpoint.
    package var endpoint: String
    package var security: SocketSecurity
    package var speed: ReplaySpeed
    package var timeline: Timeline
    /// Restart at the end, indefinitely.
    package var loops: Bool
    /// This machine's name, for the collector's log.
    package var agentName: String
    /// Name and version, sent to the collector.
    package var software: String

    package init(
        endpoint: String, security: SocketSecurity, speed: ReplaySpeed, timeline: Timeline,
        loops: Bool, agentName: String, software: String
    ) {
        self.endpoint = endpoint
        self.security = security
        self.speed = speed
        self.timeline = timeline
        self.loops = loops
        self.agentName = agentName
        self.software = software
    }
}

/// A replay's state at one moment.
package struct ReplayStatus: Hashable, Sendable {
    /// Position on the recording's timeline, nanoseconds; nil before it has begun.
    package var positionNanoseconds: Int64?
    package var isPaused = false
    /// Whether the collector accepts samples now.
    package var isFlowing = false
    package var sentSamples: UInt64 = 0
    package var sentBytes: UInt64 = 0
    /// Samples that are missing in the recording without an explanation, of one round.
    package var unexplainedSamples: UInt64 = 0
    package var rounds = 0
    /// Files written; set at the end of the replay.
    package var files: [String] = []
    /// Lateness of messages, nanoseconds: median, 99th percentile, maximum. Only with a given speed.
    package var lateness: Lateness?

    package struct Lateness: Hashable, Sendable {
        package var median: Int64
        package var percentile99: Int64
        package var greatest: Int64
    }

    package init() {}
}

/// The end of a replay's work.
package enum ReplayOutcome: Hashable, Sendable {
    /// The collector has everything on disk.
    case complete
    /// One line with the reason, or with the amount of discarded data.
    case failed(String)
    /// Ended because the collector did not admit this key: one line with the reason.
    case refused(String)
}
