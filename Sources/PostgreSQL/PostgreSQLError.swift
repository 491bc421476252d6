/// An error of the server or the connection. Texts are one line, without control characters.
package enum PostgreSQLError: Error, Hashable, CustomStringConvertible {
    /// No server is available, none has the requested role, or the log-in was refused.
    case cannotConnect(reason: String)
    /// The connection was lost. Whether a pending commit succeeded is unknown.
    case lost(reason: String)
    /// No answer in time. The connection is closed.
    case timedOut(Duration)
    /// The server refused a statement.
    /// - Parameter state: five characters (PostgreSQL 15, appendix A "PostgreSQL Error Codes").
    case refused(state: String, reason: String)
    /// The answer exceeds the caller's limit. The connection is closed.
    case tooLarge(limitBytes: Int)
    /// The result does not have the columns or rows that the statement returns.
    case unexpected(reason: String)

    package var description: String {
        switch self {
        case .cannotConnect(let reason): "cannot connect: \(reason)"
        case .lost(let reason): "the connection was lost: \(reason)"
        case .timedOut(let duration):
            "no answer within \(duration.components.seconds) s"
        case .refused(let state, let reason): "\(reason) (SQLSTATE \(state))"
        case .tooLarge(let limit): "the answer is larger than \(limit >> 20) MiB"
        case .unexpected(let reason): "unexpected answer: \(reason)"
        }
    }

    /// Whether the role may not do that.
    package var isForPermission: Bool {
        if case .refused(let state, _) = self { state == "42501" } else { false }
    }

    /// Whether the statement itself must change to succeed: an invalid value, a violated constraint. Other errors may pass:
    /// a full or restarting server, a standby, a missing permission or table.
    package var isForContent: Bool {
        switch self {
        case .refused(let state, _): state.hasPrefix("22") || state.hasPrefix("23")
        case .unexpected, .tooLarge: true
        case .cannotConnect, .lost, .timedOut: false
        }
    }

    /// Text from a library or a server as one line of at most 300 characters.
    static func oneLine(_ text: String) -> String {
        let words = text.split { character in
            character.unicodeScalars.allSatisfy { $0.properties.generalCategory == .control }
                || character == " "
        }
        let line = words.joined(separator: " ").unicodeScalars.filter {
            $0.properties.generalCategory != .control
        }
        let short = String(String.UnicodeScalarView(line.prefix(300)))
        return short.isEmpty ? "no reason given" : short
    }
}
