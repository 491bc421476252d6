/// The rule for names of accounts: `[A-Za-z0-9][A-Za-z0-9._@-]{0,63}`.
package enum UserName {
    /// Longest name, bytes.
    package static let maximumBytes = 64

    /// Whether `name` conforms to the rule.
    package static func isValid(_ name: String) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, bytes.count <= maximumBytes else { return false }
        return isAlphanumeric(first) && bytes.allSatisfy { isAlphanumeric($0) || isMark($0) }
    }

    private static func isMark(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "@"), UInt8(ascii: "-"): true
        default: false
        }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}

/// An account: one line of the file of accounts, `NAME:ROLE:SOURCES:SECRET`.
package struct UserAccount: Hashable, Sendable {
    /// The credential of an account.
    package enum Secret: Hashable, Sendable {
        /// The password hash of a person's account.
        case password(PasswordHash)
        /// A script's.
        case token(TokenDigest)
    }

    private static let separator: Character = ":"
    private static let tokenMethod = "token$"

    package let name: String
    package let rights: Rights
    package let secret: Secret

    package init(name: String, rights: Rights, secret: Secret) throws(AccessError) {
        guard UserName.isValid(name) else { throw .notAUserName(name) }
        guard SourceScope(rights.sources.text) == rights.sources else {
            throw .notSources(rights.sources.text)
        }
        self.name = name
        self.rights = rights
        self.secret = secret
    }

    /// Whether it logs in with a token, not with a password.
    package var isScript: Bool {
        switch secret {
        case .password: false
        case .token: true
        }
    }

    /// The hash of its password; nil without one.
    package var passwordHash: PasswordHash? {
        switch secret {
        case .password(let hash): hash
        case .token: nil
        }
    }

    // MARK: Text

    /// Its line.
    package var text: String {
        let secretText =
            switch secret {
            case .password(let hash): hash.text
            case .token(let digest): Self.tokenMethod + digest.text
            }
        return [name, rights.role.rawValue, rights.sources.text, secretText]
            .joined(separator: String(Self.separator))
    }

    /// Reads a line.
    /// - Parameter line: its number, counted from 1, for the error.
    /// - Throws: ``AccessError/malformed(path:line:reason:)``, which does not show the secret.
    package init(_ text: String, line: Int, path: String) throws(AccessError) {
        func flaw(_ reason: String) -> AccessError {
            .malformed(path: path, line: line, reason: reason)
        }
        let fields = text.split(
            separator: Self.separator, maxSplits: 4, omittingEmptySubsequences: false
        ).map { String($0) }
        guard fields.count == 4 else {
            throw flaw("write 'NAME:ROLE:SOURCES:SECRET', or '#' and a comment")
        }
        guard UserName.isValid(fields[0]) else {
            throw flaw("\(AccessError.notAUserName(fields[0]))")
        }
        guard let role = Role(rawValue: fields[1]) else {
            let roles = Role.allCases.map { $0.rawValue }.joined(separator: " or ")
            throw flaw("the role '\(AccessError.excerpt(fields[1]))' is not known: use \(roles)")
        }
        guard let sources = SourceScope(fields[2]) else {
            throw flaw("\(AccessError.notSources(fields[2]))")
        }
        guard let secret = Self.secret(fields[3]) else {
            throw flaw(
                "the secret is damaged: give '\(fields[0])' a new one with "
                    + "'tributary-viewer users add --replace'")
        }
        self.name = fields[0]
        self.rights = Rights(role: role, sources: sources)
        self.secret = secret
    }

    private static func secret(_ text: String) -> Secret? {
        if let hash = PasswordHash(text: text) { return .password(hash) }
        guard text.hasPrefix(tokenMethod),
            let digest = TokenDigest(text: String(text.dropFirst(tokenMethod.count)))
        else { return nil }
        return .token(digest)
    }
}
