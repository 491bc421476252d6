package import Logging
import Synchronization

/// A swift-log handler that writes a line for each event, in the console's format.
package struct LineLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    /// Level of this logger; nil: the threshold applies.
    private var ownLevel: Logger.Level?
    private let threshold: LogThreshold
    private let console: Console

    /// A handler that writes to `console`.
    /// - Parameter threshold: of all loggers that are given it.
    package init(console: Console, threshold: LogThreshold = LogThreshold()) {
        self.console = console
        self.threshold = threshold
    }

    package var logLevel: Logger.Level {
        get { ownLevel ?? threshold.level }
        set { ownLevel = newValue }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var all = metadata
        if let own = event.metadata { all.merge(own) { _, new in new } }
        console.write(
            LogEntry(event.level, "\(event.message)", metadata: all.mapValues { "\($0)" }))
    }
}

/// From which level on lines are written. It may change while a program runs; copies of a logger follow.
package final class LogThreshold: Sendable {
    private let isVerbose: Atomic<Bool>

    /// - Parameter verbose: whether details are written too.
    package init(verbose: Bool = false) {
        isVerbose = Atomic(verbose)
    }

    package func set(verbose: Bool) { isVerbose.store(verbose, ordering: .relaxed) }

    package var level: Logger.Level { isVerbose.load(ordering: .relaxed) ? .debug : .info }
}
