import Files
import Glibc
package import Messaging
package import Wire

// The registered agents of a server: one file each, below `agents`.
extension KeyDirectory {
    /// Maximum number of agent files: that of a collector's agents (`CollectorLinkSettings.maximumAgents`).
    static let maximumAgents = 4_096
    private static let suffix = ".pub"

    /// The agents, and a flaw for each unusable file: that agent is not admitted, the others are.
    package struct Agents: Hashable, Sendable {
        package var authorizations: [Authorization] = []
        package var flaws: [TrustError] = []

        package var register: AgentRegister { AgentRegister(authorizations) }
    }

    /// Reads all agent files.
    package func agents() throws(TrustError) -> Agents {
        try PrivateFile.checkDirectory(agentsPath)
        var agents = Agents()
        var keys: [PublicKey: String] = [:]
        for name in try agentNames() {
            do throws(TrustError) {
                guard let agent = try agent(named: name) else { continue }
                if let other = keys.updateValue(name, forKey: agent.key), !agent.isRevoked {
                    agents.flaws.append(
                        .malformed(
                            path: agentPath(name), line: 1,
                            reason:
                                "\(other)\(Self.suffix) holds the same key: remove one of them")
                    )
                }
                agents.authorizations.append(agent)
            } catch {
                agents.flaws.append(error)
            }
        }
        return agents
    }

    /// Authorises an agent to write sources, or changes its rights.
    /// - Parameters:
    ///   - key: nil: the name's present key.
    ///   - sources: nil: the name's present sources, or else the source of its own name; none for a new name that may
    ///     watch.
    ///   - mayWatch: whether it may watch live; nil: unchanged.
    ///   - expires: the expiry of a one-time key, seconds since 1970; nil: the kind of key is unchanged, or the key is
    ///     permanent.
    @discardableResult
    package func authorize(
        name: String, key given: PublicKey?, sources: [SourcePattern]?, mayWatch: Bool? = nil,
        expires: Int64? = nil
    ) throws(TrustError) -> Authorization {
        if given == nil { _ = try known(name) }
        return try withLock { () throws(TrustError) in
            try authorizeAlone(
                name: name, key: given, sources: sources, mayWatch: mayWatch, expires: expires)
        }
    }

    private func authorizeAlone(
        name: String, key given: PublicKey?, sources: [SourcePattern]?, mayWatch: Bool?,
        expires: Int64?
    ) throws(TrustError) -> Authorization {
        let known = try agents().authorizations
        let before = known.first { $0.name == name }
        guard let key = given ?? before?.key else {
            throw .noSuchAgent(name, directory: agentsPath)
        }
        // A one-time key may be replaced.
        if let before, before.key != key, !before.isRevoked, before.expires == nil {
            throw .nameTaken(name: name, path: agentPath(name))
        }
        if let other = known.first(where: { $0.key == key && $0.name != name }) {
            guard other.isRevoked else { throw .keyTaken(name: other.name) }
            // Otherwise one file would revoke what the other permits.
            try remove(other.name)
        }
        guard before != nil || known.count < Self.maximumAgents else {
            throw .tooManyAgents(directory: agentsPath, limit: Self.maximumAgents)
        }
        // The successor of a one-time key inherits its rights, also when it was installed by hand.
        let isKept = before?.key == key || expires != nil || before?.expires != nil
        let kept = isKept ? before : nil
        let own = mayWatch == true ? [] : SourcePattern(name).map { [$0] } ?? []
        let authorization = try Authorization(
            name: name, key: key, sources: sources ?? kept?.sources ?? own,
            mayWatch: mayWatch ?? kept?.mayWatch ?? false,
            expires: given == nil || given == before?.key ? before?.expires : expires)
        try save(authorization)
        return authorization
    }

    /// Revokes an agent's key.
    /// - Parameter nameOrKey: its registered name, or its key.
    @discardableResult
    package func revoke(_ nameOrKey: String) throws(TrustError) -> Authorization {
        _ = try known(nameOrKey)
        return try withLock { () throws(TrustError) in
            var authorization = try known(nameOrKey)
            authorization.isRevoked = true
            try save(authorization)
            return authorization
        }
    }

    /// Deletes an agent's file: its key is not admitted, and its name is free.
    /// - Parameter nameOrKey: its registered name, or its key.
    @discardableResult
    package func forget(_ nameOrKey: String) throws(TrustError) -> Authorization {
        _ = try known(nameOrKey)
        return try withLock { () throws(TrustError) in
            let authorization = try known(nameOrKey)
            try remove(authorization.name)
            return authorization
        }
    }

    /// Looks up an agent by name or key. Called before the lock as well, which would create the directory: a mistyped
    /// name leaves nothing on disk.
    private func known(_ nameOrKey: String) throws(TrustError) -> Authorization {
        let all = try agents().authorizations
        guard
            let found = all.first(where: { $0.name == nameOrKey })
                ?? all.first(where: { $0.key.text == nameOrKey })
        else {
            throw .noSuchAgent(nameOrKey, directory: agentsPath)
        }
        return found
    }

    /// Runs `body` with an exclusive lock on the agent files, for read-modify-write.
    func withLock<Result>(
        _ body: () throws(TrustError) -> Result
    ) throws(TrustError) -> Result {
        try PrivateFile.makeDirectory(agentsPath)
        let lock: FileLock
        do throws(FileError) { lock = try FileLock.wait(directory: agentsPath) } catch {
            throw TrustError(error)
        }
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }

    func save(_ authorization: Authorization) throws(TrustError) {
        try PrivateFile.makeDirectory(agentsPath)
        try PrivateFile.write(
            agentPath(authorization.name), Array(authorization.fileText.utf8), mode: 0o644,
            .replace)
    }

    private func remove(_ name: String) throws(TrustError) {
        guard unlink(agentPath(name)) == 0 else {
            throw .system(operation: "remove", path: agentPath(name), errno: errno)
        }
    }

    private func agent(named name: String) throws(TrustError) -> Authorization? {
        let path = agentPath(name)
        let limit = FieldFile.maximumBytes
        guard let bytes = try PrivateFile.read(path, limit: limit, .trusted) else { return nil }
        return try Authorization(
            name: name, file: String(decoding: bytes, as: UTF8.self), path: path)
    }

    /// Sorted names of the agents with files; empty if the directory does not exist.
    func agentNames() throws(TrustError) -> [String] {
        let names = Directory.names(in: agentsPath) {
            $0.hasSuffix(Self.suffix) && !$0.hasPrefix(".")
        }
        guard let names else {
            if errno == ENOENT { return [] }
            throw .system(operation: "read", path: agentsPath, errno: errno)
        }
        guard names.count <= Self.maximumAgents else {
            throw .tooManyAgents(directory: agentsPath, limit: Self.maximumAgents)
        }
        return names.map { String($0.dropLast(Self.suffix.count)) }.sorted()
    }
}
