package import Messaging

/// Decides how a program's connections are protected: with keys, unless the peer can only be on this machine, or
/// `--insecure` was given.
package enum LinkSecurity {
    /// The options that determine it.
    package struct Request: Hashable, Sendable {
        /// The collector's endpoint.
        package var endpoint: String
        /// Whether the peer can only be on this machine.
        package var isLocal: Bool
        /// `--insecure`
        package var isInsecure: Bool
        /// `--keys`
        package var directory: String?
        /// `--collector-key`
        package var collectorKey: String?

        package init(
            endpoint: String, isLocal: Bool, isInsecure: Bool, directory: String?,
            collectorKey: String? = nil
        ) {
            self.endpoint = endpoint
            self.isLocal = isLocal
            self.isInsecure = isInsecure
            self.directory = directory
            self.collectorKey = collectorKey
        }

        /// Whether keys are to be used.
        var wantsKeys: Bool {
            if isInsecure { return false }
            return !isLocal || directory != nil || collectorKey != nil
        }

        func keyDirectory() throws(TrustError) -> KeyDirectory {
            if let directory { return KeyDirectory(directory) }
            return try .standard()
        }
    }

    /// A collector's keys.
    package struct Collector: Sendable {
        package var directory: KeyDirectory
        package var key: SecretKey
    }

    /// An agent's keys.
    package struct Agent: Sendable {
        package var directory: KeyDirectory
        package var key: SecretKey
        /// Whether it has just been created.
        package var isNewKey: Bool
        package var collectorKey: PublicKey
    }

    /// The keys that a collector listens with; nil: without keys.
    package static func ofCollector(_ request: Request) throws(TrustError) -> Collector? {
        guard request.wantsKeys else { return nil }
        let directory = try request.keyDirectory()
        guard let key = try directory.ownKey() else {
            throw .noOwnKey(directory: directory.path)
        }
        return Collector(directory: directory, key: key)
    }

    /// The keys that an agent connects with; nil: without keys. Creates the box's own key if there is none: a server
    /// has to authorise it before it can be used.
    package static func ofAgent(_ request: Request) throws(TrustError) -> Agent? {
        guard request.wantsKeys else { return nil }
        let (directory, collectorKey) = try collector(of: request)
        let own = try ownKey(of: directory)
        return Agent(
            directory: directory, key: own.key, isNewKey: own.isNew, collectorKey: collectorKey)
    }

    /// Checks that an agent can connect with these options, except that the box's own key may still be missing. Creates nothing.
    package static func checkAgent(_ request: Request) throws(TrustError) {
        guard request.wantsKeys else { return }
        let (directory, _) = try collector(of: request)
        _ = try directory.ownKey()
    }

    /// The key directory, and the key of the collector.
    private static func collector(
        of request: Request
    ) throws(TrustError) -> (directory: KeyDirectory, key: PublicKey) {
        let directory = try request.keyDirectory()
        let key =
            if let text = request.collectorKey {
                try PublicKey(text: text)
            } else {
                try directory.collectorKey()
            }
        guard let key else {
            throw .noCollectorKey(endpoint: request.endpoint, directory: directory.path)
        }
        return (directory, key)
    }

    /// This machine's own key; created if there is none.
    /// - Parameter directory: nil: the standard one.
    package static func ownKey(
        in directory: String?
    ) throws(TrustError) -> (key: SecretKey, directory: KeyDirectory, isNew: Bool) {
        let chosen: KeyDirectory
        if let directory { chosen = KeyDirectory(directory) } else { chosen = try .standard() }
        let own = try ownKey(of: chosen)
        return (own.key, chosen, own.isNew)
    }

    private static func ownKey(
        of directory: KeyDirectory
    ) throws(TrustError) -> (key: SecretKey, isNew: Bool) {
        if let key = try directory.ownKey() { return (key, false) }
        return (try directory.makeOwnKey(), true)
    }
}
