import ArgumentParser
import Glibc
import JSON
import Messaging
import Terminal
import Trust
import Wire

/// `tributary keys enrol`: one line that connects a box to this server.
struct EnrolBoxCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enrol",
        abstract:
            "On the server: prints a line that enrols a camera box when pasted there.",
        discussion: """
            On the box: sudo tributary-agent enrol 'LINE'. The line contains this server's address and public key, and a one-time \
            key, which the box replaces with a key of its own. Until the box has used the line, anyone who has it can \
            impersonate the box. 'keys revoke NAME' or a new line for the same name invalidates it. The collector must be running \
            for the box to enrol.
            """)

    /// The longest that a line can be good for.
    private static let maximumValidity = TimeSpan(nanoseconds: 90 * 86_400_000_000_000)

    @OptionGroup var directory: KeyDirectoryOptions

    @Argument(help: "Name for the box.")
    var name: String

    @Option(
        help: """
            Sources it may write: comma-separated names, or prefixes followed by '*'. (default: the source with the box's \
            name)
            """)
    var sources: String?

    @Option(
        help: ArgumentHelp(
            """
            Address of this server as seen from boxes: server, server:5550 or tcp://server:5550. The addresses of all collectors \
            of a group, with commas between, enrol the box with each of them.
            """, valueName: "address"))
    var server: String

    @Option(help: "How long the line is valid.")
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
            let endpoints = try EnrolmentLine.endpoints(ofServers: server)
            let patterns = try sources.map(Authorization.patterns)
            if let patterns, patterns.isEmpty {
                throw UsageError("--sources is empty: give names such as stage,door-*")
            }
            guard let own = try directory.ownKey() else {
                throw TrustError.noOwnKey(directory: directory.path)
            }
            let until = Int64(time(nil)) + expires.nanoseconds / 1_000_000_000
            let (authorization, token) = try directory.enrol(
                name: name, sources: patterns, expires: until)
            let line = EnrolmentLine(
                endpoints: endpoints, collectorKey: own.publicKey, token: token
            ).text()
            let names = authorization.sources.map(\.description)
            if json {
                try JSONOutput.print(
                    Result(
                        name: name, sources: names, line: line, expires: ExpiryTime.text(until)))
                return
            }
            print(line)
            // Instructions for people go to standard error: standard output has the line only.
            let console = Console()
            if endpoints.count > 1 {
                console.tell(
                    "First give the other servers this list, unless they share the directory \(directory.path):"
                )
                console.tell(
                    "    tributary keys export | ssh SERVER sudo tributary keys import -")
            }
            console.tell("On the box \(name), once, before \(ExpiryTime.text(until)):")
            console.tell("    sudo tributary-agent enrol '\(line)'")
            console.tell(
                "The box may then write \(names.joined(separator: ", ")). Keep the line secret until it has been used."
            )
        }
    }
}
