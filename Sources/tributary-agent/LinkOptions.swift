import AgentCore
import ArgumentParser
import CollectorClient
import Media
import Terminal
import Wire

/// Options of the source and of its transmission.
struct LinkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Endpoint of the collector: tcp://ADDRESS:PORT or ipc://PATH. Several, with commas between them: the source is \
            sent to one of them, each source in an order of its own; when that one is silent for 3 s, or cannot record, to \
            the next, and back only when that one is.
            """, valueName: "endpoint[,endpoint…]"))
    var collector = "tcp://127.0.0.1:5550"

    @Option(
        help: "Source name: letters, digits, '.', '_', '-'. (default: this machine's name)")
    var source: String?

    @Option(
        help: ArgumentHelp(
            """
            How long samples wait for others before they are sent. auto: half a second while nobody watches the source live, \
            otherwise as long as the viewers wish. A time of at most 1s: always so long; 0: every sample by itself.
            """, valueName: "auto|time"))
    var batch = BatchArgument.automatic

    @Option(
        help: ArgumentHelp(
            """
            Unix socket for 'tributary-agent control', accessible only to the agent's user. none: no control socket. \
            (default: SOURCE.sock in the spool directory)
            """, valueName: "path"))
    var controlSocket: String?

    /// The endpoints with commas between them; a single one whose name has several addresses is one for each of them. A name
    /// that is not resolved in this time is resolved later by the uplink.
    var collectors: String {
        let endpoints = UplinkSettings.collectors(collector)
        guard let only = endpoints.first, endpoints.count == 1 else { return collector }
        return HostLookup.endpoints(of: only, patienceMilliseconds: 2_000).joined(separator: ",")
    }

    /// The source's name, given or default.
    var name: String { source ?? SourceNames.ofThisMachine() }

    /// The path of the control socket of this source, or of its preview; nil: none.
    /// - Parameter spool: the value of `--spool`.
    func socketPath(of name: String, spool: String?) -> String? {
        let option =
            name == self.name || controlSocket == "none"
            ? controlSocket : controlSocket.map(SourcePreviews.name)
        return ControlSocket.path(option, spool: spool, source: name)
    }

    func validate() throws {
        var known: Set<Substring> = []
        for part in collector.split(separator: ",", omittingEmptySubsequences: false) {
            let endpoint = part.drop { $0 == " " }
            guard !endpoint.isEmpty else {
                throw ValidationError(
                    "--collector '\(collector.prefix(200))' has an empty endpoint: remove a comma")
            }
            if let flaw = Endpoint.flaw(String(endpoint)) {
                throw ValidationError("--collector: \(flaw)")
            }
            guard known.insert(endpoint).inserted else {
                throw ValidationError("--collector has \(endpoint) twice: remove one")
            }
        }
        if let source, !SourceName.isValid(source) {
            throw ValidationError(
                "--source '\(source.prefix(80))' is not a valid name: \(SourceName.rule)")
        }
        if case .fixed(let time) = batch, time.nanoseconds > 1_000_000_000 {
            throw ValidationError("--batch \(batch) is too long: use at most 1s")
        }
    }
}
