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

    @Option(help: "Length of media per message; 0 sends every sample in a message of its own.")
    var batch = TimeSpan(nanoseconds: 100_000_000)

    @Option(
        help: ArgumentHelp(
            """
            Unix socket for 'tributary-agent control', accessible only to the agent's user. none: no control socket. \
            (default: SOURCE.sock in the spool directory)
            """, valueName: "path"))
    var controlSocket: String?

    @Flag(name: .shortAndLong, help: "Log debug messages too.")
    var verbose = false

    /// The source's name, as given or as it is by itself.
    var name: String { source ?? SourceNames.ofThisMachine() }

    func validate() throws {
        if let flaw = Endpoint.flaw(collector) { throw ValidationError("--collector: \(flaw)") }
        if let source, !SourceName.isValid(source) {
            throw ValidationError(
                "--source '\(source.prefix(80))' is not a valid name: \(SourceName.rule)")
        }
        guard batch.nanoseconds <= 1_000_000_000 else {
            throw ValidationError("--batch \(batch) is too long: use at most 1s")
        }
    }
}
