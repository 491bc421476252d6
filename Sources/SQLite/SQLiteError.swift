import CSQLite

/// An error of a database. Texts are one line, without control characters.
package enum SQLiteError: Error, Hashable, CustomStringConvertible {
    /// SQLite refused, or a file cannot be used.
    /// - Parameter code: SQLite's extended result code (`sqlite3.h`, "Extended Result Codes").
    case refused(code: Int32, message: String)
    /// A statement was interrupted: it ran longer than ``SQLiteLimits/statement``.
    case timedOut(Duration)
    /// A statement was interrupted: it needed more memory than ``SQLiteLimits/temporaryBytes``.
    case tooMuchTemporary(limitBytes: Int)
    /// The answer was larger than ``SQLiteLimits/answerBytes``.
    case tooLarge(limitBytes: Int)
    /// A value has an unexpected type.
    case unexpected(reason: String)

    package var description: String {
        switch self {
        case .refused(let code, let message): "\(message) (SQLite \(code))"
        case .timedOut(let duration): "a query took longer than \(duration.components.seconds) s"
        case .tooMuchTemporary(let limit): "a question needs more than \(limit >> 20) MiB of memory"
        case .tooLarge(let limit): "the answer is larger than \(limit >> 20) MiB"
        case .unexpected(let reason): "unexpected content: \(reason)"
        }
    }

    /// The kind of error, which determines what can be done.
    package enum Refusal: Hashable, Sendable {
        /// Another connection holds a lock; later it may succeed.
        case locked
        /// The file or its directory cannot be opened or created.
        case cannotOpen
        /// The file or its disk is read-only.
        case readOnly
        /// The disk is full.
        case full
        /// The system could not read or write.
        case inputOutput
        /// Everything else: damage, another file format, a constraint, a limit.
        case content
    }

    /// The kind of refusal by SQLite's primary result code.
    package var refusal: Refusal {
        guard case .refused(let code, _) = self else { return .content }
        return switch code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED: .locked
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: .cannotOpen
        case SQLITE_READONLY: .readOnly
        case SQLITE_FULL: .full
        case SQLITE_IOERR: .inputOutput
        default: .content
        }
    }

    /// SQLite's text as one line of at most 300 characters. It may repeat parts of the database.
    package static func oneLine(_ text: String) -> String {
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
