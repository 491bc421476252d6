import AgentCore
import Control
import Dispatch
import Logging
import Media
import Synchronization
import Terminal

/// Runs the agents of all sources in the configuration file, and reports their state to the service manager and the log.
final class CameraService: Sendable {
    private static let lookMilliseconds = 1_000

    private let console: Console
    private let threshold: LogThreshold
    private let checksOnly: Bool
    private let logger: Logger
    private let manager = ServiceManager.current()
    private let queue = DispatchQueue(label: "service")
    private let watches = Mutex<[String: ProgressWatch]>([:])
    private let status = Mutex("")

    /// - Parameter command: has the options of the first source, and those of the whole agent.
    init(_ command: AgentCommand) {
        console = command.log.console
        checksOnly = command.configuration.checks
        threshold = LogThreshold(verbose: command.log.verbose)
        logger = Self.logger("agent", nil, console, threshold)
    }

    private static func logger(
        _ label: String, _ source: String?, _ console: Console, _ threshold: LogThreshold
    ) -> Logger {
        var logger = Logger(label: label) { _ in
            LineLogHandler(console: console, threshold: threshold)
        }
        if let source { logger[metadataKey: "source"] = "\(source)" }
        return logger
    }

    /// The options of each source in the configuration file, or of a single source with a preview; nil: the options are those of
    /// one source.
    static func cameras() throws(UsageError) -> [AgentCommand]? {
        let commands = try Program.groups(of: AgentCommand.self).map { $0.command }
        if commands.isEmpty {
            let single = try Program.reread(AgentCommand.self).command
            return single.capture.preview == nil ? nil : [single]
        }
        var names: Set<String> = []
        for (index, command) in commands.enumerated() {
            guard let name = command.link.source else {
                throw UsageError(
                    "element \(index + 1) of 'cameras' has no 'source': give it a name")
            }
            let own =
                [name] + (command.capture.preview == nil ? [] : [SourcePreviews.name(of: name)])
            for name in own where !names.insert(name).inserted {
                throw UsageError("two of the cameras have the name '\(name)': rename one")
            }
        }
        return commands
    }

    /// Records until all sources have ended, or a signal stops them.
    func run(_ commands: [AgentCommand]) throws {
        let plans = try plans(commands)
        if checksOnly {
            let count = commands.count
            print(
                count == 1 ? "the options are valid" : "the options of \(count) cameras are valid")
            return
        }
        let group = AgentGroup(plans) { [console, threshold] source in
            Self.logger("agent", source, console, threshold)
        }
        let signals = StopSignals { [self] count in
            if count > 1 { return group.abandon() }
            StopDeadline.begin(
                linger: group.plans.map(\.uplink.linger).max() ?? .zero, logger)
            manager.stopping()
            manager.status("stopping: sending the remaining samples first")
            group.stop()
        }
        let reloading = ReloadSignal { [self] in reload(group) }
        let timer = watch(group)
        defer {
            timer?.cancel()
            withExtendedLifetime((signals, reloading)) {}
        }
        group.wait()
        // A service sends it at its next start.
        if let line = group.leftovers.first, !manager.isThere { throw Failure(line) }
    }

    /// Plans of all sources and previews; none if the options are only checked.
    private func plans(_ commands: [AgentCommand]) throws -> [AgentPlan] {
        try commands.flatMap { command -> [AgentPlan] in
            do {
                try command.captureSettings().check()
                return checksOnly ? [] : try command.plans(logger)
            } catch {
                throw UsageError("camera \(command.link.name): \(error)")
            }
        }
    }

    /// Reads the configuration again. Sources with unchanged options continue.
    private func reload(_ group: AgentGroup) {
        manager.reloading()
        defer { manager.ready() }
        do {
            guard let commands = try Self.cameras(), let first = commands.first else {
                throw UsageError(
                    "it has neither a list of cameras nor a preview any more; restart the agent")
            }
            let plans = try plans(commands)
            threshold.set(verbose: first.log.verbose)
            logger.notice("configuration reloaded: \(group.change(to: plans).summary)")
        } catch {
            logger.error("the configuration was not changed: \(error)")
        }
    }

    // MARK: The service manager

    /// Checks the agents once a second; nil without a service manager.
    private func watch(_ group: AgentGroup) -> (any DispatchSourceTimer)? {
        guard manager.isThere else { return nil }
        manager.ready()
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now(), repeating: .milliseconds(Self.lookMilliseconds))
        timer.setEventHandler { [self] in look(at: group) }
        timer.resume()
        return timer
    }

    /// Reports one line for all sources: the number that are recording, and the first problem.
    private func look(at group: AgentGroup) {
        let now = SystemClock.monotonic.nowNanoseconds
        var recording = 0
        var stalled = 0
        var worst: String?
        let members = group.progress
        let previews = SourcePreviews(members.map(\.source))
        let cameras = members.count { !previews.isPreview($0.source) }
        for member in members {
            guard let progress = member.progress else {
                worst = worst ?? "\(member.source): \(member.trouble ?? "starting")"
                continue
            }
            let finding = watches.withLock { watches in
                watches[member.source, default: ProgressWatch()].look(progress, now: now)
            }
            if finding.stalled != nil { stalled += 1 }
            if finding.stalled == nil, finding.line.hasPrefix("recording ") {
                if !previews.isPreview(member.source) { recording += 1 }
            } else {
                worst = worst ?? finding.line
            }
        }
        let line =
            "recording \(recording) of \(cameras) cameras" + (worst.map { "; \($0)" } ?? "")
        let isNews = status.withLock { status in
            defer { status = line }
            return status != line
        }
        if isNews { manager.status(line) }
        // The service manager restarts all sources if it gets no sign of life, so signs stop only when all sources are stalled.
        if stalled < max(1, members.count) { manager.alive() }
    }
}
