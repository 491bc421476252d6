import CollectorCore
import Glibc
import Logging
import Operations
import Synchronization
import Terminal

/// A collector's interface to its operators and the service manager: status, signals and settings.
final class Service: Sendable {
    let logger: Logger
    private let console: Console
    private let manager = ServiceManager.current()
    private let threshold: LogThreshold
    private let endpoint: String
    private let state = Mutex(State())

    private struct State: Sendable {
        var isReady = false
        var status = ""
        /// The options in force.
        var options: [String: String]?
    }

    init(console: Console, endpoint: String, isVerbose: Bool) {
        self.console = console
        self.endpoint = endpoint
        let threshold = LogThreshold(verbose: isVerbose)
        self.threshold = threshold
        logger = Logger(label: "collector") { _ in
            LineLogHandler(console: console, threshold: threshold)
        }
        do throws(UsageError) {
            let options = try Program.reread(CollectorCommand.self).options.values
            state.withLock { $0.options = options }
        } catch {
            // The file became invalid after the first read; the next reload treats every option as changed.
            logger.warning("\(error)")
        }
    }

    /// Called about once a second on the receiving thread, so it shows that this thread is alive.
    @Sendable func report(_ status: CollectorStatus) {
        console.progress(ProgressText.line(status))
        guard manager.isThere else { return }
        let line = ProgressText.summary(status, listeningAt: endpoint)
        state.withLock { state in
            if !state.isReady { manager.ready() }
            state.isReady = true
            if state.status != line { manager.status(line) }
            state.status = line
        }
        manager.alive()
    }

    func stopping() { manager.stopping() }

    /// Reloads the options: applies those that may change, and reports the others.
    func reload(_ collector: Collector) {
        manager.reloading()
        defer { manager.ready() }
        do throws(UsageError) {
            let (command, options) = try Program.reread(CollectorCommand.self)
            let shortage = try command.room.check(archive: command.archive)
            let changed = state.withLock { state in
                let old = state.options ?? [:]
                state.options = ReloadedOptions.inForce(
                    from: old, to: options.values, changeable: CollectorCommand.changeableNames)
                return ReloadedOptions(from: old, to: options.values)
            }
            collector.change(to: command.changeable)
            threshold.set(verbose: command.log.verbose)
            let line = changed.line(changeable: CollectorCommand.changeableNames, verb: "changed")
            logger.notice("\(line)")
            if let shortage { logger.warning("\(shortage)") }
        } catch {
            logger.error("the configuration was not changed: \(error)")
        }
    }
}
