import Glibc

/// An error of a file or directory, with its path. Modules whose users need advice map it to errors of their own.
package enum FileError: Error, Hashable, CustomStringConvertible {
    /// A system call failed.
    case system(operation: String, path: String, errno: Int32)
    /// A directory, pipe, socket or device in place of a file.
    case notAFile(path: String)
    case tooLarge(path: String, limitBytes: Int)
    /// Other users have permissions that the file's ``SmallFile/Access`` excludes.
    case accessibleByOthers(path: String)

    package var description: String {
        switch self {
        case .system(let operation, let path, let code):
            "cannot \(operation) \(path): \(systemMessage(code))"
        case .notAFile(let path): "\(path) is not a regular file"
        case .tooLarge(let path, let limit): "\(path) is larger than \(limit) bytes"
        case .accessibleByOthers(let path): "\(path) is accessible by other users"
        }
    }
}

/// The system's message for an errno (strerror(3)).
package func systemMessage(_ code: Int32) -> String {
    String(cString: strerror(code))
}
