/// The content of a file of accounts. Comments and empty lines are kept when accounts change.
package struct UserTable: Hashable, Sendable {
    /// Maximum size of the file, bytes: an account with a password has about a hundred.
    package static let maximumBytes = 1 << 20
    /// Larger sites use a directory service.
    package static let maximumAccounts = 10_000
    /// Accounts, comments and empty lines.
    private static let maximumLines = 50_000

    private struct Line: Hashable, Sendable {
        var text: String
        /// Nil: a comment, or nothing.
        var account: UserAccount?
    }

    private var lines: [Line]

    /// One without accounts, with a comment that explains the form.
    package init() {
        lines = [
            "# Accounts of tributary-viewer, one per line: NAME:ROLE:SOURCES:SECRET.",
            "# ROLE is viewer or operator. SOURCES is *, or names separated by commas.",
            "# 'tributary-viewer users' changes this file, which only its owner may read (0600).",
        ].map { Line(text: $0) }
    }

    /// Reads a file's content.
    /// - Parameter path: for errors.
    package init(_ bytes: [UInt8], path: String) throws(AccessError) {
        guard bytes.count <= Self.maximumBytes else {
            throw .tooLarge(path: path, limitBytes: Self.maximumBytes)
        }
        lines = []
        var pieces = bytes.split(
            separator: UInt8(ascii: "\n"), maxSplits: Self.maximumLines,
            omittingEmptySubsequences: false)
        // The empty piece after the last line feed.
        if let last = pieces.last, last.isEmpty { pieces.removeLast() }
        guard pieces.count <= Self.maximumLines else {
            throw .malformed(
                path: path, line: Self.maximumLines + 1,
                reason: "there are more than \(Self.maximumLines) lines: remove comments")
        }
        var names: [String: Int] = [:]
        var tokens: [TokenDigest: Int] = [:]
        for (index, piece) in pieces.enumerated() {
            let number = index + 1
            guard let text = String(validating: piece, as: UTF8.self) else {
                throw .malformed(
                    path: path, line: number, reason: "this is not UTF-8 text: write it anew")
            }
            let content = Self.trimmed(text)
            guard !content.isEmpty, !content.hasPrefix("#") else {
                lines.append(Line(text: text))
                continue
            }
            let account = try UserAccount(content, line: number, path: path)
            if let other = names.updateValue(number, forKey: account.name) {
                throw .malformed(
                    path: path, line: number,
                    reason: "'\(account.name)' is in line \(other) already: remove one of them")
            }
            if case .token(let digest) = account.secret,
                let other = tokens.updateValue(number, forKey: digest)
            {
                throw .malformed(
                    path: path, line: number,
                    reason: "this token is in line \(other) already: give each script its own")
            }
            guard names.count <= Self.maximumAccounts else {
                throw .tooManyUsers(path: path, limit: Self.maximumAccounts)
            }
            lines.append(Line(text: text, account: account))
        }
    }

    /// In the order of the lines.
    package var accounts: [UserAccount] { lines.compactMap { $0.account } }

    package func account(named name: String) -> UserAccount? {
        lines.first { $0.account?.name == name }?.account
    }

    /// Appends an account, or replaces the one with its name in place.
    package mutating func add(
        _ account: UserAccount, replacing: Bool, path: String
    ) throws(AccessError) {
        let line = Line(text: account.text, account: account)
        if let index = lines.firstIndex(where: { $0.account?.name == account.name }) {
            guard replacing else { throw .userExists(account.name, path: path) }
            lines[index] = line
        } else {
            guard accounts.count < Self.maximumAccounts else {
                throw .tooManyUsers(path: path, limit: Self.maximumAccounts)
            }
            lines.append(line)
        }
    }

    package mutating func remove(_ name: String, path: String) throws(AccessError) {
        guard let index = lines.firstIndex(where: { $0.account?.name == name }) else {
            throw .noSuchUser(name, path: path)
        }
        lines.remove(at: index)
    }

    /// The file's content.
    package func bytes(path: String) throws(AccessError) -> [UInt8] {
        let bytes = lines.flatMap { Array($0.text.utf8) + [UInt8(ascii: "\n")] }
        guard bytes.count <= Self.maximumBytes, lines.count <= Self.maximumLines else {
            throw .tooLarge(path: path, limitBytes: Self.maximumBytes)
        }
        return bytes
    }

    private static func trimmed(_ text: String) -> String {
        var text = text[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
