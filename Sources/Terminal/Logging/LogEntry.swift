import JSON
package import Logging
import Media

/// One line of a log, before it is written: a value, whatever its format.
package struct LogEntry: Sendable {
    /// Since 1970, UTC.
    package var nanoseconds: Int64
    package var level: Logger.Level
    package var message: String
    /// Names of its subjects: source, session, agent, address.
    package var metadata: [String: String]

    /// - Parameter nanoseconds: since 1970, UTC.
    package init(
        _ level: Logger.Level, _ message: String, metadata: [String: String] = [:],
        nanoseconds: Int64
    ) {
        self.nanoseconds = nanoseconds
        self.level = level
        self.message = message
        self.metadata = metadata
    }

    /// An entry of the present moment.
    package init(
        _ level: Logger.Level, _ message: String, metadata: [String: String] = [:]
    ) {
        self.init(
            level, message, metadata: metadata, nanoseconds: SystemClock.utc.nowNanoseconds)
    }

    /// Its severity (RFC 5424 §6.2.1), as sd-daemon(3) has it in front of a line: 7 is debug, 3 an error.
    package var priority: Int {
        switch level {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }

    // MARK: Text

    /// `09:40:01.123 info   camera1: recording 1280×720 H.264 (agent=box7, address=10.0.0.7)`
    ///
    /// The session is omitted: nearly all lines of a collector are about one session, and the texts of others contain its name.
    package var text: String {
        var all = metadata
        let source = all.removeValue(forKey: "source").map { "\($0): " } ?? ""
        all.removeValue(forKey: "session")
        let pairs = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let name = level.rawValue
        let column = name + String(repeating: " ", count: max(0, 7 - name.count))
        let rest = pairs.isEmpty ? "" : " (\(pairs.joined(separator: ", ")))"
        return "\(time.clock).\(fraction(digits: 3)) \(column) " + oneLine(source + message + rest)
    }

    // MARK: For programs

    /// Names that a line has whatever it is about.
    private static let ownNames: Set = ["time", "level", "message"]

    /// `{"time":"2026-11-20T09:40:01.123456Z","level":"info","message":"recording …","agent":"box7","source":"camera1"}`
    ///
    /// The time is UTC (RFC 3339 §5.6). Subjects follow by name; a name that the line itself uses gets an underscore as suffix.
    package var json: String {
        let instant = "\(time.date)T\(time.clock).\(fraction(digits: 6))Z"
        var bytes = Array("{\"time\":\"\(instant)\",\"level\":\"\(level.rawValue)\"".utf8)
        bytes += ",\"message\":".utf8
        JSONString.append(message, to: &bytes)
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) {
            bytes.append(UInt8(ascii: ","))
            JSONString.append(Self.ownNames.contains(name) ? "\(name)_" : name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            JSONString.append(value, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
        return String(decoding: bytes, as: UTF8.self)
    }

    private var time: CivilTime { CivilTime(nanosecondsSince1970: nanoseconds) }

    private func fraction(digits: Int) -> String {
        let rest = (nanoseconds % 1_000_000_000 + 1_000_000_000) % 1_000_000_000
        return String(padded(Int(rest), 9).prefix(digits))
    }
}
