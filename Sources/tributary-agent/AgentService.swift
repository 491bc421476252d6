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
        /// The last read options.
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
            let changed = state.withLock { state in
                defer { state.options = options.values }
                return ReloadedOptions(from: state.options ?? [:], to: options.values)
            }
            threshold.set(verbose: command.log.verbose)
            let line = changed.line(changeable: Self.changeable, verb: "changes now")
            logger.notice("\(line)")
            let change = try Self.change(changed.changed, command)
            if !change.isEmpty { apply(change, to: agent) }
        } catch {
            logger.error("the configuration was not changed: \(error)")
        }
    }

    private func apply(_ change: CaptureChange, to agent: Agent) {
        agent.change(change) { [logger] reply in
            guard case .failure(_, let text) = reply else { return }
            logger.error("the capture was not changed: \(text)")
        }
    }

    /// Options that need no restart: those of ``change(_:_:)``, and the log's.
    private static let changeable: Set<String> = [
        "video", "audio", "size", "fps", "video-bitrate", "verbose",
    ]

    /// Converts changed options to changes of a running capture.
    static func change(
        _ changed: [String], _ command: AgentCommand
    ) throws(UsageError) -> CaptureChange {
        var settings = CaptureSettings(sourceName: command.link.name)
        do {
            try command.capture.apply(to: &settings)
            try command.encoding.apply(to: &settings)
        } catch let error as UsageError {
            throw error
        } catch {
            throw UsageError("\(error)")
        }
        var change = CaptureChange()
        for name in changed {
            switch name {
            case "video": change.video = settings.video.argument
            case "audio": change.audio = settings.audio.argument
            case "size": change.size = settings.size.map { .this($0) } ?? .own
            case "fps": change.frameRate = settings.frameRate.map { .this($0) } ?? .own
            case "video-bitrate": change.videoBitrate = UInt64(clamping: settings.videoBitrate)
            default: break
            }
        }
        return change
    }
}
