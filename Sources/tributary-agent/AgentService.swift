import AgentCore
import Dispatch
import Glibc
import Logging
import Synchronization
import Terminal
import Wire

/// An agent's interface to its operators and the service manager: status, signals and commands.
final class AgentService: Sendable {
    private static let lookMilliseconds = 1_000

    let logger: Logger
    private let manager = ServiceManager.current()
    private let threshold: LogThreshold
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "service")

    private struct State: Sendable {
        var isReady = false
        var status = ""
        var watch = ProgressWatch()
        /// The options of the start, and those that need no restart as they were last read.
        var options: [String: String]?
    }

    init(console: Console, source: String, isVerbose: Bool) {
        let threshold = LogThreshold(verbose: isVerbose)
        self.threshold = threshold
        var logger = Logger(label: "agent") { _ in
            LineLogHandler(console: console, threshold: threshold)
        }
        logger[metadataKey: "source"] = "\(source)"
        self.logger = logger
        do throws(UsageError) {
            let options = try Program.reread(AgentCommand.self).options.values
            state.withLock { $0.options = options }
        } catch {
            // The file has become wrong in the moment since it was read first: all of it will count as changed.
            logger.warning("\(error)")
        }
    }

    /// Checks an agent's progress once a second while the returned object exists; nil without a service manager.
    func watch(_ agent: Agent) -> (any DispatchSourceTimer)? {
        guard manager.isThere else { return nil }
        let timer = DispatchSource.makeTimerSource(queue: queue)
        let interval = DispatchTimeInterval.milliseconds(Self.lookMilliseconds)
        timer.schedule(deadline: .now(), repeating: interval)
        timer.setEventHandler { [self] in look(at: agent) }
        timer.resume()
        return timer
    }

    /// Reports the state, and a sign of life if all threads make progress.
    private func look(at agent: Agent) {
        guard let progress = agent.progress else { return }
        let now = Int64(clamping: DispatchTime.now().uptimeNanoseconds)
        let isAlive = state.withLock { state in
            let finding = state.watch.look(progress, now: now)
            if !state.isReady { manager.ready() }
            state.isReady = true
            if state.status != finding.line { manager.status(finding.line) }
            state.status = finding.line
            return finding.stalled == nil
        }
        if isAlive { manager.alive() }
    }

    /// Stops the capture. Recorded data is sent within --linger.
    func stop(_ agent: Agent) {
        manager.stopping()
        manager.status("stopping: sending the remaining samples first")
        agent.stop()
    }

    /// Ends with unsent samples in the spool: a warning under a service manager, otherwise a failure.
    /// - Parameter status: exit status without a service manager.
    func leave(_ line: String, else status: Int32 = ExitStatus.failure) throws(Failure) {
        guard manager.isThere else { throw Failure(line, exitStatus: status) }
        logger.warning("\(line)")
    }

    // MARK: The configuration

    /// Reloads the options: applies those that may change, and reports the others.
    func reload(_ agent: Agent) {
        manager.reloading()
        defer { manager.ready() }
        do throws(UsageError) {
            let (command, options) = try Program.reread(AgentCommand.self)
            guard options.groups.isEmpty else {
                throw UsageError("it now has a list of cameras; restart the agent")
            }
            let change = try Self.change(of: agent, to: command)
            let changed = state.withLock { state in
                let old = state.options ?? [:]
                state.options = ReloadedOptions.inForce(
                    from: old, to: options.values, changeable: ["verbose"])
                return ReloadedOptions(
                    from: old, to: options.values,
                    inForce: (CaptureChange.options, change.changedOptions))
            }
            threshold.set(verbose: command.log.verbose)
            let line = changed.line(changeable: Self.changeable, verb: "changes now")
            logger.notice("\(line)")
            guard !change.isEmpty else { return }
            if let flaw = agent.change(change) {
                logger.error("the capture was not changed: \(flaw)")
            }
        } catch {
            logger.error("the configuration was not changed: \(error)")
        }
    }

    /// Options that need no restart: those of the capture, and the log's.
    private static let changeable = CaptureChange.options.union(["verbose"])

    /// The change after which the capture has the options of a configuration, whatever commands have changed since the start.
    private static func change(
        of agent: Agent, to command: AgentCommand
    ) throws(UsageError) -> CaptureChange {
        do {
            return agent.latestSettings.change(to: try command.captureSettings())
        } catch let error as UsageError {
            throw error
        } catch {
            throw UsageError("\(error)")
        }
    }
}
