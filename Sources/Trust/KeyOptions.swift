package import ArgumentParser
package import Logging
package import Messaging
import Terminal

/// Command-line options for authentication between a sender and its collector.
package struct KeyOptions: ParsableArguments {
    @Option(
        help: """
            The collector's public key, as printed by 'tributary keys list' on the server. (default: the key stored by \
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
        guard let collectorKey else { return }
        do throws(TrustError) {
            _ = try PublicKey(text: collectorKey)
        } catch {
            throw ValidationError("--collector-key: \(error)")
        }
    }

    /// The security of a connection. Creates the box's key if it is missing, and logs how to authorise it.
    package func security(
        for endpoint: String, source: String, logger: Logger
    ) throws -> SocketSecurity {
        let chosen = try choose(for: endpoint)
        guard let chosen else { return .plain }
        let own = chosen.key.publicKey.text
        if chosen.isNewKey {
            logger.notice("generated a key for this box: \(chosen.directory.ownKeyPath)")
            logger.notice("run on the server: tributary keys authorize \(source) \(own)")
        }
        return .client(chosen.key, server: chosen.collectorKey)
    }

    private func choose(for endpoint: String) throws -> LinkSecurity.Agent? {
        do throws(TrustError) {
            return try LinkSecurity.ofAgent(
                LinkSecurity.Wish(
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
