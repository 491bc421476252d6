import Glibc

/// Why a load ended early.
enum LoadError: Error, CustomStringConvertible {
    /// The file has nothing to send.
    case emptyClip(String)
    /// The collector refused a source or disconnected.
    case ended(source: String, reason: String)
    case system(operation: String, errno: Int32)

    var description: String {
        switch self {
        case .emptyClip(let path): "\(path) has no samples"
        case .ended(let source, let reason): "\(source): \(reason)"
        case .system(let operation, let errno):
            "cannot \(operation): \(String(cString: strerror(errno)))"
        }
    }
}
