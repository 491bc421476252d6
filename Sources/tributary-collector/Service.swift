import CollectorCore
import Glibc
import Logging
import Operations
import Synchronization
import Terminal

/// A collector's interface to its operators and the service manager: status, signals and settings.
final class Service: Sendable {
    /// Options that may change without a restart.
    private static let changeable: Set<String> = [
        "idle-timeout", "reserve", "keep-age", "keep-bytes", "keep-free", "keep-local", "verbose",
    ]

    let logger: Logger
    private let console: Console
    private let manager = ServiceManager.current()
    private let threshold: LogThreshold
    private let endpoint: String
    private let state = Mutex(State())

    private struct State: Sendable {
        var isReady = false
        var status = ""
        /// The last read options.
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
            // The file has become wrong in the moment since it was read first: all of it will count as changed.
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
                defer { state.options = options.values }
                return Self.changes(from: state.options ?? [:], to: options.values)
            }
            collector.change(to: command.changeable)
            threshold.set(verbose: command.log.verbose)
            logger.notice("\(Self.report(changed))")
            if let shortage { logger.warning("\(shortage)") }
        } catch {
            logger.error("the configuration was not changed: \(error)")
        }
    }

    private static func changes(
        from old: [String: String], to new: [String: String]
    ) -> [String] {
        Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
    }

    /// One line about the effect of a changed configuration.
    private static func report(_ changed: [String]) -> String {
        let now = changed.filter(changeable.contains)
        let later = changed.filter { !changeable.contains($0) }
        var parts: [String] = []
        if !now.isEmpty { parts.append("\(now.joined(separator: ", ")) changed") }
        if !later.isEmpty {
            parts.append("\(later.joined(separator: ", ")) will change at the next start")
        }
        return "configuration reloaded: "
            + (parts.isEmpty ? "nothing has changed" : parts.joined(separator: "; "))
    }
}
