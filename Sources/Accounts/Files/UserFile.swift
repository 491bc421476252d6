package import Files

/// The file of accounts (`--users FILE`), readable by its owner only. Beside it, `FILE.key` has the key for cookies and links.
package struct UserFile: Hashable, Sendable {
    /// Minimum length of a password for ``add(_:password:role:sources:replacing:)``, characters.
    package static var minimumPasswordCharacters: Int { PasswordHash.minimumCharacters }

    /// The contents, with the version of the file.
    package struct Content: Sendable {
        package var accounts: [UserAccount]
        /// Nil: there is no file.
        package var mark: SmallFile.Mark?
    }

    package let path: String

    package init(_ path: String) { self.path = path }

    /// The path of the key for cookies and links.
    package var keyPath: String { "\(path).key" }

    /// The accounts, in the order of the file.
    /// - Throws: also when there is no file.
    package func accounts() throws(AccessError) -> [UserAccount] { try read().accounts }

    /// Adds a person's account; creates the file if necessary. Blocks while the password is hashed.
    /// - Parameters:
    ///   - role: nil: as before, or else viewer.
    ///   - sources: nil: as before, or else all.
    ///   - replacing: whether an existing account gets the new password.
    package func add(
        _ name: String, password: String, role: Role? = nil, sources: SourceScope? = nil,
        replacing: Bool = false
    ) throws(AccessError) {
        try add(
            name, password: password, cost: .standard, role: role, sources: sources,
            replacing: replacing)
    }

    package func add(
        _ name: String, password: String, cost: PasswordHash.Cost, role: Role? = nil,
        sources: SourceScope? = nil, replacing: Bool = false
    ) throws(AccessError) {
        // Before the hash, which is slow.
        guard UserName.isValid(name) else { throw .notAUserName(name) }
        let hash = try PasswordHash(of: password, cost: cost)
        try add(
            name, .password(hash), role: role, sources: sources, replacing: replacing)
    }

    /// Adds a script's account, as ``add(_:password:role:sources:replacing:)`` does a person's.
    /// - Returns: its token, which is not stored.
    package func addScript(
        _ name: String, role: Role? = nil, sources: SourceScope? = nil, replacing: Bool = false
    ) throws(AccessError) -> String {
        let token = AccessToken.random()
        try add(
            name, .token(token.digest), role: role, sources: sources, replacing: replacing)
        return token.text
    }

    /// Removes an account. Its log-ins end.
    package func remove(_ name: String) throws(AccessError) {
        try change(makesFile: false) { table throws(AccessError) in
            try table.remove(name, path: path)
        }
    }

    /// The accounts, and the state of their file.
    package func read() throws(AccessError) -> Content {
        guard let content = try SecretFile.read(path, limit: UserTable.maximumBytes) else {
            throw .noUserFile(path: path)
        }
        let table = try UserTable(content.bytes, path: path)
        return Content(accounts: table.accounts, mark: content.mark)
    }

    private func add(
        _ name: String, _ secret: UserAccount.Secret, role: Role?, sources: SourceScope?,
        replacing: Bool
    ) throws(AccessError) {
        try change(makesFile: true) { table throws(AccessError) in
            let before = table.account(named: name)?.rights
            let rights = Rights(
                role: role ?? before?.role ?? .viewer,
                sources: sources ?? before?.sources ?? .all)
            try table.add(
                try UserAccount(name: name, rights: rights, secret: secret),
                replacing: replacing, path: path)
        }
    }

    private func change(
        makesFile: Bool, _ body: (inout UserTable) throws(AccessError) -> Void
    ) throws(AccessError) {
        try SecretFile.withLock(besides: path) { () throws(AccessError) -> Void in
            var table = UserTable()
            if let content = try SecretFile.read(path, limit: UserTable.maximumBytes) {
                table = try UserTable(content.bytes, path: path)
            } else if !makesFile {
                throw .noUserFile(path: path)
            }
            try body(&table)
            let bytes = try table.bytes(path: path)
            try SecretFile.replace(path, with: bytes)
        }
    }
}
