package import Containers
package import Messaging

/// The reason for which a forwarder ends by itself. Each is one line.
package enum ForwardError: Error, Hashable, CustomStringConvertible {
    /// The collector does not admit this program's key, or this user may not open its socket.
    case refused(String)
    /// The destination's container does not support the source's codecs.
    case unsupported(ContainerError)
    /// The feed cannot be used.
    case messaging(MessagingError)

    package var description: String {
        switch self {
        case .refused(let line): line
        case .unsupported(let error): "\(error)"
        case .messaging(let error): "\(error)"
        }
    }
}
