package import ArgumentParser
package import Logging
package import Messaging
import Terminal

/// Command-line options for authentication between a sender and its collector.
package struct KeyOptions: ParsableArguments {
    @Option(
        help: """
            The collector's public key, as printed by 'tributary keys list' on the server. Several collectors: one key for all \
            of them, or a key for each in the order of --collector, with commas between them. (default: the key stored by \
            'tributary keys trust')
            """)
    package var collectorKey: String?

    @Option(
        help: ArgumentHelp(
            """
            Key directory. If it holds no key for this box, one is generated; the server must authorise it. (default: \
            /etc/tributary/keys for root and for users with read access to it, otherwise ~/.config/tributary/keys)
            """, valueName: "dir"))
    package var keys: String?

    @Flag(help: "Connect without keys: the connection is neither authenticated nor encrypted.")
    package var insecure = false

    package init() {}

    package func validate() throws {
        if insecure, keys != nil || collectorKey != nil {
            throw ValidationError(
                "--insecure cannot be combined with --keys or --collector-key: leave one out")
        }
        try Self.check(collectorKey: collectorKey)
    }

    /// Rejects an invalid `--collector-key`, also when options are only checked.
    package static func check(collectorKey: String?) throws {
        for key in keys(collectorKey) {
            do throws(TrustError) {
                _ = try PublicKey(text: key)
            } catch {
                throw ValidationError("--collector-key: \(error)")
            }
        }
    }

    /// The keys of a list with commas between them.
    private static func keys(_ list: String?) -> [String] {
        list?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
    }

    /// The security of the connections to each of several collectors: with one key for all of them, or one for each.
    package func securities(
        for endpoints: [String], source: String, logger: Logger
    ) throws -> [String: SocketSecurity] {
        let keys = Self.keys(collectorKey)
        guard keys.count <= 1 || keys.count == endpoints.count else {
            throw UsageError(
                "--collector-key has \(keys.count) keys and --collector \(endpoints.count) collectors: give one key for all "
                    + "of them, or one for each")
        }
        var securities: [String: SocketSecurity] = [:]
        for (index, endpoint) in endpoints.enumerated() {
            var own = self
            own.collectorKey = keys.count > 1 ? keys[index] : keys.first
            securities[endpoint] = try own.security(
                for: endpoint, source: source, logger: logger)
        }
        return securities
    }

    /// The security of a connection. Creates the box's key if it is missing, and logs how to authorise it.
    /// - Parameters:
    ///   - source: the name under which the key would be authorised.
    ///   - watches: whether the connection receives the feed instead of sending.
    package func security(
        for endpoint: String, source: String, watches: Bool = false, logger: Logger
    ) throws -> SocketSecurity {
        let chosen = try choose(for: endpoint)
        guard let chosen else { return .plain }
        let own = chosen.key.publicKey.text
        if chosen.isNewKey {
            logger.notice("generated a key for this box: \(chosen.directory.ownKeyPath)")
            let right = watches ? " --watch" : ""
            logger.notice("run on the server: tributary keys authorize \(source) \(own)\(right)")
        }
        return .client(chosen.key, server: chosen.collectorKey)
    }

    private func choose(for endpoint: String) throws -> LinkSecurity.Agent? {
        do throws(TrustError) {
            return try LinkSecurity.ofAgent(
                LinkSecurity.Request(
                    endpoint: endpoint, isLocal: Endpoint.isLocal(endpoint), isInsecure: insecure,
                    directory: keys, collectorKey: collectorKey))
        } catch {
            switch error {
            case .noCollectorKey, .notAPublicKey, .isASecretKey: throw UsageError("\(error)")
            default: throw Failure("\(error)")
            }
        }
    }
}
