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
    /// - Parameter holder: the one under whose name the key would be authorised.
    package func securities(
        for endpoints: [String], holder: KeyHolder, logger: Logger
    ) throws -> [String: SocketSecurity] {
        var securities: [String: SocketSecurity] = [:]
        for (endpoint, own) in try each(of: endpoints) {
            securities[endpoint] = try own.security(
                for: endpoint, holder: holder, watches: false, logger: logger)
        }
        return securities
    }

    /// Checks the options for these collectors without creating a key.
    package func check(for endpoints: [String]) throws {
        for (endpoint, own) in try each(of: endpoints) {
            try Self.resolve { () throws(TrustError) in
                try LinkSecurity.checkAgent(own.request(for: endpoint))
            }
        }
    }

    /// The options for each collector.
    private func each(of endpoints: [String]) throws -> [(endpoint: String, options: KeyOptions)] {
        let keys = Self.keys(collectorKey)
        guard keys.count <= 1 || keys.count == endpoints.count else {
            throw UsageError(
                "--collector-key has \(keys.count) keys and --collector \(endpoints.count) collectors: give one key for all "
                    + "of them, or one for each")
        }
        return endpoints.enumerated().map { index, endpoint in
            var own = self
            own.collectorKey = keys.count > 1 ? keys[index] : keys.first
            return (endpoint, own)
        }
    }

    /// The security of a connection. Creates the box's key if it is missing, and logs how to authorise it.
    /// - Parameters:
    ///   - source: the name under which the key would be authorised.
    ///   - watches: whether the connection receives the feed instead of sending.
    package func security(
        for endpoint: String, source: String, watches: Bool = false, logger: Logger
    ) throws -> SocketSecurity {
        try security(
            for: endpoint, holder: KeyHolder(name: source), watches: watches, logger: logger)
    }

    private func security(
        for endpoint: String, holder: KeyHolder, watches: Bool, logger: Logger
    ) throws -> SocketSecurity {
        let chosen = try Self.resolve { () throws(TrustError) in
            try LinkSecurity.ofAgent(request(for: endpoint))
        }
        guard let chosen else { return .plain }
        if chosen.isNewKey {
            let command = holder.command(for: chosen.key.publicKey, watches: watches)
            logger.notice("generated a key for this box: \(chosen.directory.ownKeyPath)")
            logger.notice("run on the server: \(command)")
        }
        return .client(chosen.key, server: chosen.collectorKey)
    }

    private func request(for endpoint: String) -> LinkSecurity.Request {
        LinkSecurity.Request(
            endpoint: endpoint, isLocal: Endpoint.isLocal(endpoint), isInsecure: insecure,
            directory: keys, collectorKey: collectorKey)
    }

    /// Reports errors of options as wrong usage, and others as failures.
    package static func resolve<Result>(
        _ body: () throws(TrustError) -> Result
    ) throws -> Result {
        do throws(TrustError) {
            return try body()
        } catch {
            switch error {
            case .noCollectorKey, .notAPublicKey, .isASecretKey: throw UsageError("\(error)")
            default: throw Failure("\(error)")
            }
        }
    }
}
