import ArgumentParser
import Terminal
import Wire

/// Which source this is, and how it is sent.
struct LinkOptions: ParsableArguments {
    @Option(help: "Endpoint of the collector: tcp://ADDRESS:PORT or ipc://PATH.")
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

    /// The source's name, as given or as it is by itself.
    var name: String { source ?? SourceNames.ofThisMachine() }

    func validate() throws {
        if let flaw = Endpoint.flaw(collector) { throw ValidationError("--collector: \(flaw)") }
        if let source, !SourceName.isValid(source) {
            throw ValidationError(
                "--source '\(source.prefix(80))' is not a valid name: \(SourceName.rule)")
        }
        if case .fixed(let time) = batch, time.nanoseconds > 1_000_000_000 {
            throw ValidationError("--batch \(batch) is too long: use at most 1s")
        }
    }
}
