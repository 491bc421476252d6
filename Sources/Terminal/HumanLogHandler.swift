import Glibc
package import Logging
import Synchronization

/// A swift-log handler whose lines a person reads: time (UTC), level, what happened, and the metadata behind it.
///
/// `09:40:01.123 info   camera1: recording 1280×720 H.264 (agent=box7, address=10.0.0.7)`
package struct HumanLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    /// Of this logger alone.
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
        var line = "\(Self.timeOfDay()) \(Self.column(event.level)) "
        if let source = all.removeValue(forKey: "source") { line += "\(source): " }
        line += oneLine("\(event.message)")
        if !all.isEmpty {
            let pairs = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            line += " (\(oneLine(pairs.joined(separator: ", "))))"
        }
        console.line(line)
    }

    private static func column(_ level: Logger.Level) -> String {
        let name = level.rawValue
        return name + String(repeating: " ", count: max(0, 7 - name.count))
    }

    private static func timeOfDay() -> String {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var parts = tm()
        gmtime_r(&now.tv_sec, &parts)
        let fields = [Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec)]
        let clock = fields.map { padded($0, 2) }.joined(separator: ":")
        return "\(clock).\(padded(now.tv_nsec / 1_000_000, 3))"
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

/// `text` with everything that could forge or break a line made visible: what peers say ends up in logs.
package func oneLine(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
        return text
    }
    return text.unicodeScalars.reduce(into: "") { result, scalar in
        if scalar.value < 0x20 || scalar.value == 0x7F {
            result += "\\u{\(String(scalar.value, radix: 16))}"
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
}

/// `number` with leading zeros.
package func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
