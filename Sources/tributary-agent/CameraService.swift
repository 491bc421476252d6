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
        try check(
            commands.map {
                Element(link: $0.link, spool: $0.keeping.spool, preview: $0.capture.preview)
            })
        return commands
    }

    /// The parts of an element of the list that have to differ from those of others.
    struct Element {
        var link: LinkOptions
        /// The value of `--spool`.
        var spool: String?
        /// The value of `--preview`.
        var preview: String?

        /// The source and its preview.
        var names: [String] {
            link.source.map { [$0] + (preview == nil ? [] : [SourcePreviews.name(of: $0)]) } ?? []
        }
    }

    /// Checks that each element has a name, and that names and control sockets are unique.
    static func check(_ elements: [Element]) throws(UsageError) {
        var names: Set<String> = []
        var sockets: [String: String] = [:]
        for (index, element) in elements.enumerated() {
            guard element.link.source != nil else {
                throw UsageError(
                    "element \(index + 1) of 'cameras' has no 'source': give it a name")
            }
            for name in element.names {
                guard names.insert(name).inserted else {
                    throw UsageError("two of the cameras have the name '\(name)': rename one")
                }
                guard let path = element.link.socketPath(of: name, spool: element.spool) else {
                    continue
                }
                if let other = sockets.updateValue(name, forKey: path) {
                    throw UsageError(
                        "\(other) and \(name) have the same control-socket \(path): leave it out, or give each camera "
                            + "its own")
                }
            }
        }
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
        if let first = commands.first {
            let sources = plans.map(\.source)
            for line in first.keeping.unclaimed(except: sources) { logger.warning("\(line)") }
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
        if let failure = failure(group.leftovers) { throw failure }
    }

    /// The failure of an end with unsent samples; nil without any. A service sends samples in the spool at its next start.
    private func failure(_ leftovers: [AgentGroup.Leftover]) -> Failure? {
        let serious = leftovers.filter { !$0.isKept || !manager.isThere }
        // Lost samples first, then those that need an administrator.
        let first =
            serious.first { !$0.isKept } ?? serious.first { $0.isRefused } ?? serious.first
        return first.map {
            Failure(
                "\($0.source): \($0.text)",
                exitStatus: $0.isRefused ? ExitStatus.refused : ExitStatus.failure)
        }
    }

    /// Plans of all sources and previews; none if the options are only checked.
    private func plans(_ commands: [AgentCommand]) throws -> [AgentPlan] {
        let sources = commands.map(\.link.name)
        let previews = SourcePreviews(sources)
        let holders = sources.filter { !previews.isPreview($0) }
        return try commands.flatMap { command -> [AgentPlan] in
            do {
                try command.check()
                return checksOnly ? [] : try command.plans(logger, keySources: holders)
            } catch let failure as Failure {
                throw failure
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
        let cameras = members.count { !$0.isRemoved && !previews.isPreview($0.source) }
        for member in members where !member.isRemoved || member.progress != nil {
            guard let progress = member.progress else {
                worst = worst ?? "\(member.source): \(member.trouble ?? "starting")"
                continue
            }
            let finding = watches.withLock { watches in
                watches[member.source, default: ProgressWatch()].look(progress, now: now)
            }
            if finding.stalled != nil { stalled += 1 }
            if finding.stalled == nil, finding.line.hasPrefix("recording ") {
                if !member.isRemoved, !previews.isPreview(member.source) { recording += 1 }
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
