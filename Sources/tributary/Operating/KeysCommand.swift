import Archive
import ArgumentParser
import Glibc
import JSON
import Messaging
import Terminal
import Trust
import Wire

/// `tributary keys`: keys, and their permissions.
struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Manages keys: the sources that each box may write, and who may watch live.",
        discussion: """
            Every machine has its own key pair: a secret key, which stays in a file, and a public key of 56 letters and \
            digits. On the server, 'generate' creates the collector's key pair; each box needs the public key (tributary-agent \
            --collector-key, or 'keys trust'). A box's key pair is created at the first start of its agent, or by 'generate'; \
            'authorize' gives the server its public key. A running collector applies changes within two seconds. 'enrol' does \
            all of this with one line to paste on the box. Collectors that stand in for each other share their keys: 'export' and \
            'import' carry them.
            """,
        subcommands: [
            GenerateKeyCommand.self, EnrolBoxCommand.self, TrustCollectorCommand.self,
            AuthorizeKeyCommand.self, RevokeKeyCommand.self, ForgetKeyCommand.self,
            ListKeysCommand.self, ExportKeysCommand.self, ImportKeysCommand.self,
        ])
}

/// The key directory, for every subcommand.
struct KeyDirectoryOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Key directory. (default: /etc/tributary/keys for root and for users with read access to it, otherwise \
            ~/.config/tributary/keys)
            """, valueName: "dir"))
    var keys: String?

    /// The directory, and work on it with its errors as one line.
    func with<Result>(_ body: (KeyDirectory) throws -> Result) throws -> Result {
        do {
            return try body(keys.map(KeyDirectory.init) ?? .standard())
        } catch let error as TrustError {
            switch error {
            case .notAName, .notAPattern, .notAPublicKey, .isASecretKey, .notAServer:
                throw UsageError("\(error)")
            default: throw Failure("\(error)")
            }
        }
    }
}

struct GenerateKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "Generates this machine's key pair and prints the public key.")

    @OptionGroup var directory: KeyDirectoryOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        try directory.with { directory in
            let key = try directory.makeOwnKey().publicKey.text
            if json {
                try JSONOutput.print(["file": directory.ownKeyPath, "publicKey": key])
                return
            }
            print(key)
            // Instructions for people go to standard error: standard output has the key only.
            let console = Console()
            console.tell("This is the public key; the secret key is in \(directory.ownKeyPath).")
            console.tell(
                "If this is the server, run on every box: tributary-agent --collector-key \(key)"
            )
            console.tell(
                "If this is a box, run on the server: tributary keys authorize NAME \(key)")
        }
    }
}

struct TrustCollectorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust", abstract: "On a box: stores the collector's public key.")

    @OptionGroup var directory: KeyDirectoryOptions

    @Argument(help: "The collector's public key.")
    var key: String

    func run() throws {
        try directory.with { directory in
            try directory.trustCollector(PublicKey(text: key))
            print(
                "\(directory.collectorPath): agents on this machine send only to the collector with this key"
            )
        }
    }
}

struct AuthorizeKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authorize",
        abstract: "On the server: authorises a box to write sources, or a viewer to watch live.",
        discussion: """
            With --watch, the key may receive the live feed of every source (tributary-collector --feed, tributary-viewer \
            --feed). A new name with --watch is a viewer: it writes no source, unless --sources names some.
            """)

    @OptionGroup var directory: KeyDirectoryOptions

    @Argument(help: "Name for the box or the viewer.")
    var name: String

    @Argument(help: "Its public key; optional for a name that is already known.")
    var key: String?

    @Option(
        help: """
            Sources it may write, with their previews: comma-separated names, or prefixes followed by '*'. (default: unchanged; \
            for a new box, the source with the box's name)
            """)
    var sources: String?

    @Flag(
        inversion: .prefixedNo,
        help: "Whether it may watch every source live. (default: unchanged; no for a new name)")
    var watch: Bool?

    func run() throws {
        try directory.with { directory in
            let patterns = try sources.map(Authorization.patterns)
            if let patterns, patterns.isEmpty {
                throw UsageError("--sources is empty: give names such as stage,door-*")
            }
            let authorization = try directory.authorize(
                name: name, key: key.map { try PublicKey(text: $0) }, sources: patterns,
                mayWatch: watch)
            let sources = authorization.sources.map(\.description).joined(separator: ", ")
            var rights = sources.isEmpty ? [] : ["write \(sources)"]
            if authorization.mayWatch { rights.append("watch every source live") }
            let allowed = rights.isEmpty ? "write nothing" : rights.joined(separator: ", and ")
            print("\(authorization.name) (\(authorization.key.shortText)) may \(allowed)")
            if let expires = authorization.expires {
                print(
                    "Its key is that of an enrolment line, which works once, until \(UTCTime(nanoseconds: expires * 1_000_000_000)); "
                        + "'tributary keys enrol \(authorization.name)' makes a new one")
            }
        }
    }
}

struct RevokeKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "On the server: revokes a box's key; a connected box is disconnected.")

    @OptionGroup var directory: KeyDirectoryOptions

    @Argument(help: "Name or public key of the box.")
    var box: String

    func run() throws {
        try directory.with { directory in
            let revoked = try directory.revoke(box)
            print(
                "\(revoked.name) (\(revoked.key.shortText)) is revoked and may neither write nor watch any source; "
                    + "'tributary keys authorize \(revoked.name)' undoes this")
        }
    }
}

struct ForgetKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "On the server: revokes a box's key and removes the box from the list.",
        discussion: """
            For boxes that are no longer used. To replace a box and keep its name and sources, use 'keys revoke NAME' and then \
            'keys enrol NAME' instead.
            """)

    @OptionGroup var directory: KeyDirectoryOptions

    @Argument(help: "Name or public key of the box.")
    var box: String

    func run() throws {
        try directory.with { directory in
            let forgotten = try directory.forget(box)
            print(
                "\(forgotten.name) (\(forgotten.key.shortText)) is removed: it may neither write nor watch any source, and its name can be used again"
            )
        }
    }
}

struct ListKeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract:
            "Lists this machine's public key, the keys it trusts, and the sources they may write.")

    @OptionGroup var directory: KeyDirectoryOptions

    @Flag(help: "Print JSON.")
    var json = false

    private struct Listing: Encodable {
        struct Agent: Encodable {
            var name: String
            var publicKey: String
            var sources: [String]
            /// Whether it may watch every source live.
            var isAllowedToWatch: Bool
            var isRevoked: Bool
            /// Nil: the key is the box's own.
            var enrolsUntil: String?
        }

        var directory: String
        var publicKey: String?
        var collector: String?
        var agents: [Agent]
        var flaws: [String]
    }

    func run() throws {
        let listing = try directory.with(listing)
        if json {
            try JSONOutput.print(listing)
        } else {
            print("this machine  \(listing.publicKey ?? "no key yet: 'tributary keys generate'")")
            if let collector = listing.collector { print("sends to      \(collector)") }
            if !listing.agents.isEmpty { printAgents(listing.agents) }
        }
        if let flaw = listing.flaws.first { throw Failure(flaw) }
    }

    private func listing(of directory: KeyDirectory) throws -> Listing {
        var flaws: [String] = []
        func valid<Value>(_ read: () throws(TrustError) -> Value?) -> Value? {
            do throws(TrustError) {
                return try read()
            } catch {
                flaws.append("\(error)")
                return nil
            }
        }
        let own = valid { () throws(TrustError) in try directory.ownKey() }
        let collector = valid { () throws(TrustError) in try directory.collectorKey() }
        let agents = valid { () throws(TrustError) in try directory.agents() }
        flaws += agents?.flaws.map(\.description) ?? []
        return Listing(
            directory: directory.path, publicKey: own?.publicKey.text, collector: collector?.text,
            agents: (agents?.authorizations ?? []).map {
                Listing.Agent(
                    name: $0.name, publicKey: $0.key.text, sources: $0.sources.map(\.description),
                    isAllowedToWatch: $0.mayWatch, isRevoked: $0.isRevoked,
                    enrolsUntil: $0.expires.map(ExpiryTime.text))
            }, flaws: flaws)
    }

    private static func right(of agent: Listing.Agent) -> String {
        if agent.isRevoked { return "nothing: revoked" }
        let sources = agent.sources.isEmpty ? "nothing" : agent.sources.joined(separator: " ")
        guard let until = agent.enrolsUntil, let seconds = ExpiryTime.seconds(until) else {
            return sources
        }
        return seconds > time(nil)
            ? "\(sources), once enrolled (until \(until))" : "nothing: not enrolled in time"
    }

    private func printAgents(_ agents: [Listing.Agent]) {
        var table = Table(["NAME", "MAY WRITE", "MAY WATCH", "PUBLIC KEY"])
        for agent in agents {
            table.add([
                agent.name, Self.right(of: agent),
                agent.isAllowedToWatch && !agent.isRevoked ? "every source" : "nothing",
                agent.enrolsUntil == nil ? agent.publicKey : "one-time key",
            ])
        }
        print("")
        table.lines().forEach { print($0) }
    }
}
