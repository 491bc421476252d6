import ArgumentParser
import Glibc
import Messaging
import Terminal
import Trust
import Wire

/// `tributary keys enrol`: one line that connects a box to this server.
struct EnrolBoxCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enrol",
        abstract:
            "On the server: prints a line that connects a camera box when it is pasted there.",
        discussion: """
            On the box: sudo tributary-agent enrol 'LINE'. The line holds this server's address and public key, and a key that is good \
            once: the box makes a key of its own, which takes its place. Who has the line before the box has used it can pose as \
            the box; 'keys revoke NAME' makes it worthless, and so does a new line for the same name. \
            The collector has to run for the box to enrol.
            """)

    /// The longest that a line can be good for.
    private static let maximumValidity = TimeSpan(nanoseconds: 90 * 86_400_000_000_000)

    @OptionGroup var directory: KeyDirectoryOptions

    @Argument(help: "What the box is called here.")
    var name: String

    @Option(
        help: """
            What it may write: names of sources, or beginnings of names and '*', separated by commas. (default: the source that \
            is called as the box is)
            """)
    var sources: String?

    @Option(
        help: ArgumentHelp(
            "Where boxes find this server: server, server:5550 or tcp://server:5550.",
            valueName: "address"))
    var server: String

    @Option(help: "How long the line is good for.")
    var expires = TimeSpan(nanoseconds: 86_400_000_000_000)

    @Flag(help: "Print JSON.")
    var json = false

    private struct Result: Encodable {
        var name: String
        var sources: [String]
        var line: String
        var expires: String
    }

    func validate() throws {
        guard expires.nanoseconds >= 60_000_000_000,
            expires.nanoseconds <= Self.maximumValidity.nanoseconds
        else { throw ValidationError("--expires \(expires) must be from 1m to 90d") }
    }

    func run() throws {
        try directory.with { directory in
            let endpoint = try EnrolmentLine.endpoint(ofServer: server)
            let patterns = try sources.map(Authorization.patterns)
            if let patterns, patterns.isEmpty {
                throw UsageError("--sources names none: write names such as stage,door-*")
            }
            guard let own = try directory.ownKey() else {
                throw TrustError.noOwnKey(directory: directory.path)
            }
            let until = Int64(time(nil)) + expires.nanoseconds / 1_000_000_000
            let (authorization, token) = try directory.enrol(
                name: name, sources: patterns, expires: until)
            let line = EnrolmentLine(
                endpoint: endpoint, collectorKey: own.publicKey, token: token
            ).text()
            let names = authorization.sources.map(\.description)
            if json {
                try JSONOutput.print(
                    Result(
                        name: name, sources: names, line: line, expires: ExpiryTime.text(until)))
                return
            }
            print(line)
            // What to do next is for people: standard output is the line alone.
            let console = Console()
            console.line("On the box \(name), once, before \(ExpiryTime.text(until)):")
            console.line("    sudo tributary-agent enrol '\(line)'")
            console.line(
                "It may write \(names.joined(separator: ", ")) then. The line is a secret until it has been used."
            )
        }
    }
}
