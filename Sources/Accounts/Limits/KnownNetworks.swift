/// The networks from which accounts have been logged in to. A restart forgets them.
package struct KnownNetworks: Sendable {
    /// Maximum networks of one account: those of its devices, and a few more for travel.
    package static let maximumOfName = 8
    /// The maximum number of accounts; only a log-in with a password adds one.
    package static let maximumNames = UserTable.maximumAccounts

    /// The latest one last.
    private var networks: [String: [RemoteNetwork]] = [:]

    package var count: Int { networks.count }

    package func contains(_ network: RemoteNetwork, of name: String) -> Bool {
        networks[name]?.contains(network) ?? false
    }

    package mutating func add(_ network: RemoteNetwork, of name: String) {
        // The table also has removed accounts. Clearing it can only slow log-ins of the forgotten accounts.
        if networks[name] == nil, networks.count >= Self.maximumNames { networks.removeAll() }
        var own = networks[name, default: []]
        own.removeAll { $0 == network }
        own.append(network)
        networks[name] = own.suffix(Self.maximumOfName)
    }
}
