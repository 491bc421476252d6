package import Logging

/// Plays recordings again into a collector, over the protocol that agents speak.
package struct CollectorReplay {
    private let settings: ReplaySettings
    private let control: ReplayControl
    private let logger: Logger

    /// - Parameter control: controls the replay from other threads.
    package init(settings: ReplaySettings, control: ReplayControl, logger: Logger) {
        self.settings = settings
        self.control = control
        self.logger = logger
    }

    /// Sends everything, and waits until the collector has persisted it. Blocks the calling thread, which reads, paces and
    /// owns the sockets.
    /// - Parameter players: makes the sources at their beginning; called for every round.
    /// - Throws: if the recording is unreadable. Samples before that are complete at the collector.
    package func run(
        _ players: @escaping () throws(ReplayError) -> [any SourcePlayer]
    ) throws(ReplayError) -> ReplayOutcome {
        let schedule = try ReplaySchedule(loops: settings.loops, players)
        guard !schedule.sources.isEmpty else { throw .nothing }
        var loop = CollectorReplayLoop(
            settings: settings, control: control, logger: logger, schedule: schedule)
        return try loop.run()
    }
}
