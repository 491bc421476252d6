import Files
import Glibc
package import Messaging

/// The keys of a group of collectors as one text: the secret key that they share, and the agents that they admit.
///
/// An agent trusts one collector's key, so collectors that stand in for each other have the same one. The text is as secret
/// as that key. It is the files of a ``KeyDirectory``, each behind a line with its name:
///
///     # Keys of a group of collectors …
///     [own.key]
///     secret-key = …
///     [agents/stage.pub]
///     key = …
///     sources = stage
package struct KeyGroup: Sendable {
    /// Far more than the largest directory needs.
    package static let maximumBytes = 16 << 20
    private static let ownName = "own.key"
    private static let agentsStart = "agents/"
    private static let agentsEnd = ".pub"

    package let key: SecretKey
    package let agents: [Authorization]

    package init(key: SecretKey, agents: [Authorization]) {
        self.key = key
        self.agents = agents
    }

    /// The text. It contains a secret.
    package func text() -> [UInt8] {
        var bytes = Array(
            """
            # Keys of a group of collectors, for 'tributary keys import' on another server. Who has them can pose as these
            # collectors: delete this file when it has been imported.
            [\(Self.ownName)]\n
            """.utf8)
        bytes += KeyDirectory.ownKeyText(key)
        for agent in agents {
            bytes += Array("[\(Self.agentsStart)\(agent.name)\(Self.agentsEnd)]\n".utf8)
            bytes += Array(agent.fileText.utf8)
        }
        return bytes
    }

    /// Parses the output of ``text()``.
    /// - Parameter path: its file, for errors.
    package init(_ bytes: [UInt8], path: String) throws(TrustError) {
        var key: SecretKey?
        var agents: [String: Authorization] = [:]
        for section in Self.sections(String(decoding: bytes, as: UTF8.self)) {
            let place = "\(path), [\(section.name)]"
            if section.name == Self.ownName {
                guard key == nil else { throw Self.flaw(path, section, "is given twice") }
                key = try KeyDirectory.ownKey(section.text, path: place)
                continue
            }
            guard section.name.hasPrefix(Self.agentsStart), section.name.hasSuffix(Self.agentsEnd)
            else { throw Self.flaw(path, section, "is no key's name") }
            let name = String(
                section.name.dropFirst(Self.agentsStart.count).dropLast(Self.agentsEnd.count))
            guard agents[name] == nil else { throw Self.flaw(path, section, "is given twice") }
            guard agents.count < KeyDirectory.maximumAgents else {
                throw .tooManyAgents(directory: path, limit: KeyDirectory.maximumAgents)
            }
            agents[name] = try Authorization(name: name, file: section.text, path: place)
        }
        guard let key else {
            throw .malformed(
                path: path, line: 1,
                reason: "no keys of collectors: use the complete output of 'tributary keys export'")
        }
        self.key = key
        self.agents = agents.values.sorted { $0.name < $1.name }
    }

    /// Reads a file that only its owner may read.
    package static func read(_ path: String) throws(TrustError) -> KeyGroup {
        guard let bytes = try PrivateFile.read(path, limit: maximumBytes, .secret) else {
            throw .system(operation: "read", path: path, errno: ENOENT)
        }
        return try KeyGroup(bytes, path: path)
    }

    /// Writes a new file that only its owner may read.
    package func write(to path: String) throws(TrustError) {
        try PrivateFile.write(path, text(), mode: 0o600, .create)
    }

    private struct Section {
        var name: String
        var line: Int
        var text = ""
    }

    private static func sections(_ text: String) -> [Section] {
        var sections: [Section] = []
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
        for (index, line) in lines.enumerated() {
            if line.hasPrefix("["), line.hasSuffix("]") {
                sections.append(
                    Section(name: String(line.dropFirst().dropLast()), line: index + 1))
            } else if !sections.isEmpty {
                sections[sections.count - 1].text += line + "\n"
            }
        }
        return sections
    }

    private static func flaw(_ path: String, _ section: Section, _ what: String) -> TrustError {
        .malformed(path: path, line: section.line, reason: "[\(section.name.prefix(80))] \(what)")
    }
}

// Taking over the keys of a group.
extension KeyDirectory {
    /// The directory's keys, for the other collectors of its group.
    /// - Throws: also when one of its files cannot be used: the others would not admit that agent.
    package func group() throws(TrustError) -> KeyGroup {
        guard let key = try ownKey() else { throw .noOwnKey(directory: path) }
        let agents = try agents()
        if let flaw = agents.flaws.first { throw flaw }
        return KeyGroup(key: key, agents: agents.authorizations)
    }

    /// Result of an import.
    package struct Imported: Hashable, Sendable {
        /// The secret key was stored: a running collector has to be restarted.
        package var isOwnKeyNew = false
        /// Names of agents that are new, changed, and unchanged.
        package var added: [String] = []
        package var changed: [String] = []
        package var unchanged: [String] = []
        /// Agents whose entry in this directory was kept, with the reason.
        package var kept: [(name: String, reason: String)] = []

        package static func == (one: Imported, other: Imported) -> Bool {
            one.isOwnKeyNew == other.isOwnKeyNew && one.added == other.added
                && one.changed == other.changed && one.unchanged == other.unchanged
                && one.kept.map(\.name) == other.kept.map(\.name)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(isOwnKeyNew)
            hasher.combine(added)
            hasher.combine(changed)
        }
    }

    /// Imports a group's keys. Agents that only this directory has are kept. So are revocations, and a box's own key if the
    /// group still has the one-time key that it was exchanged for.
    /// - Parameter replacing: whether to replace a different secret key of this directory, and different keys with the same
    ///   names.
    package func take(_ group: KeyGroup, replacing: Bool) throws(TrustError) -> Imported {
        var imported = Imported()
        if let own = try ownKey() {
            if own.publicKey != group.key.publicKey {
                guard replacing else { throw .otherOwnKey(path: ownKeyPath) }
                try store(group.key, replacing: true)
                imported.isOwnKeyNew = true
            }
        } else {
            try make()
            try store(group.key, replacing: false)
            imported.isOwnKeyNew = true
        }
        return try withLock { () throws(TrustError) in
            let agents = try agents()
            if let flaw = agents.flaws.first { throw flaw }
            for agent in group.agents {
                try take(agent, agents.authorizations, replacing: replacing, &imported)
            }
            return imported
        }
    }

    private func take(
        _ agent: Authorization, _ known: [Authorization], replacing: Bool,
        _ imported: inout Imported
    ) throws(TrustError) {
        if let other = known.first(where: { $0.key == agent.key && $0.name != agent.name }) {
            throw .keyTaken(name: other.name)
        }
        guard let own = known.first(where: { $0.name == agent.name }) else {
            guard known.count + imported.added.count < Self.maximumAgents else {
                throw .tooManyAgents(directory: agentsPath, limit: Self.maximumAgents)
            }
            try save(agent)
            imported.added.append(agent.name)
            return
        }
        if own == agent {
            imported.unchanged.append(agent.name)
            return
        }
        if !replacing {
            if own.isRevoked, !agent.isRevoked {
                imported.kept.append((agent.name, "is revoked here"))
                return
            }
            if own.key != agent.key, own.expires == nil, agent.expires != nil {
                imported.kept.append((agent.name, "has enrolled here"))
                return
            }
            if own.key != agent.key, own.expires == nil, !own.isRevoked {
                imported.kept.append((agent.name, "has another key here"))
                return
            }
        }
        try save(agent)
        imported.changed.append(agent.name)
    }
}
