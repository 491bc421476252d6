/// The owner of work in a queue: the unit of fair scheduling.
package enum WorkOwner: Hashable, Sendable {
    case account(Identity)
    /// A client without an account, or with a link.
    case network(RemoteNetwork)

    /// - Parameter remoteAddress: numeric, without a port.
    package init(_ identity: Identity, remoteAddress: String) {
        switch identity {
        case .user, .script: self = .account(identity)
        case .anonymous, .link: self = .network(RemoteNetwork(remoteAddress))
        }
    }
}
