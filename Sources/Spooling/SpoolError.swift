import Files

/// An error with a spool's files.
package enum SpoolError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A system call failed.
    case system(operation: String, path: String, errno: Int32)
    /// Another process writes into the directory.
    case inUse(path: String)
    /// A record is larger than readers accept.
    case recordTooLarge(sizeBytes: Int)

    init(_ error: FileError) {
        guard case .system(let operation, let path, let code) = error else {
            preconditionFailure("a spool checks no permissions")
        }
        self = .system(operation: operation, path: path, errno: code)
    }

    package var description: String {
        switch self {
        case .system(let operation, let path, let code):
            "cannot \(operation) \(path): \(systemMessage(code))"
        case .inUse(let path):
            "the spool \(path) is in use by another agent: stop that agent, or use another --spool"
        case .recordTooLarge(let size):
            "a record of \(size) bytes exceeds a spool's limit of \(SpoolFormat.maximumBodyBytes)"
        }
    }
}
