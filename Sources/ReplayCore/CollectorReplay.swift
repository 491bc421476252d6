package import Logging

/// Plays recordings again into a collector, over the protocol that agents speak.
package struct CollectorReplay {
    private let settings: ReplaySettings
    private let control: ReplayControl
    private let logger: Logger

    /// - Parameter control: what other threads steer it by.
    package init(settings: ReplaySettings, control: ReplayControl, logger: Logger) {
        self.settings = settings
        self.control = control
        self.logger = logger
    }

    /// Sends everything, and waits until the collector has it on disk. Reads, keeps the pace and owns the sockets on its caller's thread.
    /// - Parameter players: the sources from their beginning; asked again for every round.
    /// - Throws: when the recording cannot be read. What was sent before is complete at the collector.
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
