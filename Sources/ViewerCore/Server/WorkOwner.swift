/// Whose work is counted together where it waits for its turn.
enum WorkOwner: Hashable, Sendable {
    case account(Identity)
    /// Who has no account: everybody where there are none, and who has a link.
    case network(RemoteNetwork)

    /// - Parameter remoteAddress: numeric, without a port.
    init(_ identity: Identity, remoteAddress: String) {
        switch identity {
        case .user, .script: self = .account(identity)
        case .nobody, .link: self = .network(RemoteNetwork(remoteAddress))
        }
    }
}
