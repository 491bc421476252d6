package import ArgumentParser
package import Logging
package import Messaging
import Terminal

/// How whoever sends and its collector know each other: options of the command line.
package struct KeyOptions: ParsableArguments {
    @Option(
        help: """
            The collector's public key, as 'tributary keys generate' printed it on the server. (default: what 'tributary \
            keys trust' was told)
            """)
    package var collectorKey: String?

    @Option(
        help: ArgumentHelp(
            """
            Directory of keys. This box's own key is made there when there is none; the server has to authorise it. \
            (default: /etc/tributary/keys for root and users that may read it, otherwise \
            ~/.config/tributary/keys)
            """, valueName: "dir"))
    package var keys: String?

    @Flag(help: "Connect to another machine without keys: anybody may read along.")
    package var insecure = false

    package init() {}

    package func validate() throws {
        if insecure, keys != nil || collectorKey != nil {
            throw ValidationError(
                "--insecure means without keys: leave out --keys and --collector-key, or it")
        }
    }

    /// How to connect; makes the box's key where that is missing, and says what to do with it.
    package func security(
        for endpoint: String, source: String, logger: Logger
    ) throws -> SocketSecurity {
        let chosen = try choose(for: endpoint)
        guard let chosen else { return .plain }
        let own = chosen.key.publicKey.text
        if chosen.isNewKey {
            logger.notice("made a key for this box: \(chosen.directory.ownKeyPath)")
            logger.notice("on the server: tributary keys authorize \(source) \(own)")
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
