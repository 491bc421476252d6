import ArgumentParser
import Terminal

/// Which source this is, and how it is sent.
struct LinkOptions: ParsableArguments {
    @Option(help: "Where the collector listens: tcp://ADDRESS:PORT or ipc://PATH.")
    var collector = "tcp://127.0.0.1:5550"

    @Option(
        help: "The source's name: letters, digits, '.', '_', '-'. (default: this machine's name)")
    var source: String?

    @Option(help: "How much is sent in one message; 0 sends each sample at once.")
    var batch = TimeSpan(nanoseconds: 100_000_000)

    @Option(
        help: ArgumentHelp(
            """
            Where 'tributary-agent control' finds this agent, a Unix socket that only its own user may open. none: nowhere. \
            (default: the source's name with .sock, beside its spool)
            """, valueName: "path"))
    var controlSocket: String?

    @Flag(name: .shortAndLong, help: "Log details too.")
    var verbose = false

    /// The source's name, as given or as it is by itself.
    var name: String { source ?? SourceNames.ofThisMachine() }

    func validate() throws {
        if let flaw = Endpoint.flaw(collector) { throw ValidationError("--collector: \(flaw)") }
        if let source, !SourceNames.isValid(source) {
            throw ValidationError(
                "--source '\(source.prefix(80))' cannot be a name: use letters, digits, '.', '_' and "
                    + "'-', at most 64, and begin with a letter or digit")
        }
        guard batch.nanoseconds <= 1_000_000_000 else {
            throw ValidationError("--batch \(batch) is too long: use at most 1s")
        }
    }
}
