import CZeroMQ

/// A socket error, with errno.
package enum MessagingError: Error, Hashable, CustomStringConvertible {
    /// Another process already listens there.
    case addressInUse(endpoint: String)
    /// The path is an existing file, which is kept.
    case notASocket(endpoint: String)
    /// The endpoint is not of the form `tcp://HOST:PORT` (or another transport that is built in).
    case invalidEndpoint(String)
    /// This machine has no such address or interface.
    case addressNotAvailable(endpoint: String)
    /// Any other error: the operation, its subject, and errno.
    case system(operation: String, subject: String, errno: Int32)

    package var description: String {
        switch self {
        case .addressInUse(let endpoint):
            "\(endpoint) is in use by another program: stop it, or choose another port"
        case .notASocket(let endpoint):
            "\(endpoint) exists and is not a socket: choose another path"
        case .invalidEndpoint(let endpoint):
            "\(endpoint) is not a valid endpoint: use tcp://ADDRESS:PORT"
        case .addressNotAvailable(let endpoint):
            "\(endpoint) is not an address of this machine"
        case .system(let operation, let subject, let errno):
            "cannot \(operation) \(subject): \(String(cString: zmq_strerror(errno)))"
        }
    }

    /// The error of the last call on this thread.
    static func last(_ operation: String, _ subject: String) -> MessagingError {
        .system(operation: operation, subject: subject, errno: zmq_errno())
    }

    /// The error of the last call on this thread, which had an endpoint.
    static func last(_ operation: String, endpoint: String) -> MessagingError {
        switch zmq_errno() {
        case EADDRINUSE: .addressInUse(endpoint: endpoint)
        case EADDRNOTAVAIL, ENODEV: .addressNotAvailable(endpoint: endpoint)
        case EINVAL, EPROTONOSUPPORT, ENOCOMPATPROTO: .invalidEndpoint(endpoint)
        case let errno: .system(operation: operation, subject: endpoint, errno: errno)
        }
    }
}
