/// The accounts of one version of the file, indexed by credentials.
package struct AccountIndex: Sendable {
    private var byName: [String: UserAccount] = [:]
    private var byToken: [TokenDigest: UserAccount] = [:]
    private var byLinkMaker: [LinkMaker: UserAccount] = [:]
    /// Cost parameters of the hashes of all accounts with passwords.
    private var costs: [PasswordHash.Cost] = []

    /// One without accounts.
    package init() {}

    /// - Parameters:
    ///   - accounts: from ``UserTable``, with unique names and tokens.
    ///   - key: signs their links.
    package init(_ accounts: [UserAccount], key: AccessKey) {
        for account in accounts {
            byName[account.name] = account
            byLinkMaker[LinkMaker(account, key: key)] = account
            switch account.secret {
            case .password(let hash): costs.append(hash.cost)
            case .token(let digest): byToken[digest] = account
            }
        }
    }

    package func account(named name: String) -> UserAccount? { byName[name] }

    /// The account of a token. The time of the look-up reveals nothing about existing tokens: a guesser
    /// does not choose the digest.
    package func account(token digest: TokenDigest) -> UserAccount? { byToken[digest] }

    /// The account that made a link, if it is unchanged since.
    package func account(of maker: LinkMaker) -> UserAccount? { byLinkMaker[maker] }

    /// The account of a log-in or a token.
    package func account(of identity: Identity) -> UserAccount? {
        switch identity {
        case .user(let name), .script(let name): byName[name]
        case .anonymous, .link: nil
        }
    }

    /// The cost of verifying a password for a name without an account: that of one of the accounts, always the same for a
    /// name, so that the time does not reveal which names have accounts.
    package func decoyCost(
        _ name: String, key: AccessKey, otherwise cost: PasswordHash.Cost
    ) -> PasswordHash.Cost {
        guard !costs.isEmpty else { return cost }
        let number = key.code(of: Array(name.utf8), for: .decoy).prefix(4)
            .reduce(UInt32(0)) { ($0 << 8) | UInt32($1) }
        return costs[Int(number) % costs.count]
    }
}
