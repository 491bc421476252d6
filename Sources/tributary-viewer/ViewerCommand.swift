import Archive
import ArgumentParser
import Catalog
import CLinux
import Dispatch
import Files
import Glibc
import Library
import Logging
import Messaging
import Operations
import Recordings
import Synchronization
import Terminal
import Threads
import Trust
import ViewerCore

/// The viewer's command line.
@main
struct ViewerCommand: RepeatingCommand {
    static let repeatableOptions: Set = ["archive", "embed-origin", "forward", "host-name"]

    static let configuration = CommandConfiguration(
        commandName: "tributary-viewer",
        abstract: "Serves an archive's recordings over HTTP, to browsers, players and scripts.",
        discussion: """
            Other commands: 'tributary-viewer users' manages the accounts.

            The viewer only reads the archive. It can run as another user than the collector, with read-only access to the \
            archive's directory.

            Without --users, every client may see and change everything, so the address must be a loopback address. With \
            --users, other machines are served over TLS (--tls-certificate and --tls-key), or through a proxy that speaks TLS \
            (--behind-proxy).

            Every option can be set in the environment (--tls-key is TRIBUTARY_TLS_KEY) and in a file (--config). Stop \
            with Ctrl-C or SIGTERM.
            """,
        version: Version.number)

    @Option(
        help: ArgumentHelp(
            """
            Directory of the recordings, or an object store: \(StoreOptions.form). Repeatable: several archives are shown as one, \
            with each record once. (default: with --catalog \(CatalogReference.serverForm) the archives of the site that can be read from here, \
            without it ./recordings)
            """, valueName: "dir"))
    var archive: [String] = []

    @OptionGroup(title: "Object store") var store: StoreOptions

    @Option(
        help: ArgumentHelp(
            """
            Let players and browsers fetch media that is in the object store alone from there: they are redirected to addresses \
            that are valid for this long. They must be able to reach the store at its endpoint. (default: the viewer sends all media)
            """, valueName: "time"))
    var storeRedirect: TimeSpan?

    @OptionGroup var catalog: CatalogOptions

    @Option(
        help: ArgumentHelp(
            "Address to listen on. HOST defaults to 127.0.0.1.", valueName: "[host:]port"))
    var listen = HTTPAddress(host: "127.0.0.1", port: 8080)

    @Option(
        help: ArgumentHelp(
            """
            Address at which players, recorders and home automation fetch live sources and recordings over RTSP: \
            rtsp://HOST:PORT/live/SOURCE and rtsp://HOST:PORT/SESSION/SOURCE?from=83.5. With a certificate, rtsps://. HOST defaults \
            to 127.0.0.1. (default: no RTSP)
            """, valueName: "[host:]port"))
    var rtsp: HTTPAddress?

    @Option(
        help: ArgumentHelp(
            """
            Endpoint at which a collector publishes live pictures: tcp://ADDRESS:PORT or ipc://PATH. An endpoint on another \
            machine needs keys, or --insecure. (default: the collectors' sockets in the archives)
            """,
            valueName: "endpoint"))
    var feed: String?

    @Option(
        help: """
            Public key of the collector behind --feed, as printed by 'tributary keys list' on its server. (default: the key stored by \
            'tributary keys trust')
            """)
    var collectorKey: String?

    @Option(
        help: ArgumentHelp(
            """
            Key directory for --feed, and for the feeds of a site on other machines. If it holds no key for this machine, one \
            is generated; the server must let it watch ('tributary keys authorize NAME KEY --watch'). (default: /etc/tributary/keys for root and for users with read access \
            to it, otherwise ~/.config/tributary/keys)
            """, valueName: "dir"))
    var keys: String?

    @Option(
        help: ArgumentHelp(
            "Directory where exports are made; they are removed after an hour. (default: among the temporary files)",
            valueName: "dir"))
    var exports: String?

    @Option(
        help: ArgumentHelp(
            """
            Directory of saved walls and links. (default: the service's state directory, otherwise that of \
            --users, otherwise ~/.local/state/tributary-viewer)
            """, valueName: "dir"))
    var state: String?

    @Option(
        help: ArgumentHelp(
            "File of the accounts, as managed by 'tributary-viewer users'.", valueName: "file"))
    var users: String?

    @Option(
        help: ArgumentHelp(
            "Certificate with its chain, PEM. Read again when it is renewed.", valueName: "file"))
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("Key of the certificate, PEM.", valueName: "file"))
    var tlsKey: String?

    @Option(
        help: ArgumentHelp(
            "Name under which browsers reach the viewer, besides the listen address. Repeat it for several.",
            valueName: "name"))
    var hostName: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            Origin of a page that may frame a live source: https://HOST[:PORT], whose frames show /embed/SOURCE. Repeat it for \
            several. (default: no page may)
            """, valueName: "origin"))
    var embedOrigin: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            Source that is forwarded to another server as it is captured, and the file whose first line is the destination: \
            SOURCE=FILE. Only the owner may read the file. The viewer keeps a process of 'tributary forward' for it. Repeat it for \
            several. (default: nothing is forwarded)
            """, valueName: "source=file"))
    var forward: [String] = []

    @Flag(
        help: "A proxy in front of the viewer speaks TLS to browsers and forwards the host's name.")
    var behindProxy = false

    @Flag(
        help: """
            Answer other machines without TLS, and receive a feed of another machine without keys unless --keys or \
            --collector-key is given: passwords and pictures can be read on the way.
            """)
    var insecure = false

    @OptionGroup(title: "Site") var siteOptions: SiteOptions

    @OptionGroup(title: "Log") var log: LogOptions

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions

    func validate() throws {
        guard (tlsCertificate == nil) == (tlsKey == nil) else {
            throw ValidationError("--tls-certificate and --tls-key belong together: give both")
        }
        if let feed, let flaw = Endpoint.flaw(feed) { throw ValidationError("--feed: \(flaw)") }
        if feed == nil, collectorKey != nil {
            throw ValidationError("--collector-key is for --feed: give it, too")
        }
        if feed == nil, keys != nil, !catalog.isServer {
            throw ValidationError(
                "--keys is for --feed, and for the collectors of --catalog: give one of them, too")
        }
        try KeyOptions.check(collectorKey: collectorKey)
        do throws(UsageError) {
            try ArchiveReference.check(archive, store)
        } catch {
            throw ValidationError("\(error)")
        }
        if let storeRedirect,
            !StoreOptions.redirectSeconds.contains(storeRedirect.nanoseconds / 1_000_000_000)
        {
            throw ValidationError(
                "--store-redirect must be from 1s to \(StoreOptions.redirectSeconds.upperBound / 86_400)d, as long as a store accepts an address"
            )
        }
        let isLocal = Endpoint.isLocal("tcp://\(listen)")
        if !isLocal, users == nil {
            throw ValidationError(
                "\(listen) is open to other machines: give --users FILE, or listen on 127.0.0.1")
        }
        if let other = embedOrigin.first(where: { WebOrigin($0) == nil }) {
            throw ValidationError(
                "--embed-origin \(other) is no origin: write https://HOST or http://HOST, with :PORT (1 to 65535) where it has one"
            )
        }
        do throws(ForwardEntryError) {
            _ = try ForwardEntry.list(forward)
        } catch {
            throw ValidationError("\(error)")
        }
        if !forward.isEmpty, feed == nil, archive.count != 1 || archive[0].contains("://") {
            throw ValidationError(
                "--forward needs the feed of one collector: give its archive on this machine (--archive), or --feed"
            )
        }
        if let rtsp, !Endpoint.isLocal("tcp://\(rtsp)") {
            if users == nil {
                throw ValidationError(
                    "--rtsp \(rtsp) is open to other machines: give --users FILE, or listen on 127.0.0.1"
                )
            }
            // `--behind-proxy` does not suffice: an HTTP proxy does not forward RTSP.
            if tlsCertificate == nil, !insecure {
                throw ValidationError(
                    "--rtsp \(rtsp) is open to other machines: give --tls-certificate and --tls-key, or --insecure on a trusted"
                        + " network")
            }
        }
        if !isLocal, tlsCertificate == nil, !behindProxy, !insecure {
            throw ValidationError(
                "\(listen) is open to other machines: give --tls-certificate and --tls-key, --behind-proxy, or --insecure"
                    + " on a trusted network")
        }
    }

    /// Requested limit of descriptors: each client and each recorded file has one.
    private static let descriptors = 65_536
    private static let leastDescriptors = 64

    /// Size of the cache in memory for files in an object store: half a minute of sixteen sources.
    private static let cacheBytes = 256 << 20

    /// Maximum time that a list waits for one session's files. Users can repeat the request.
    private static let patienceNanoseconds: Int64 = 2_000_000_000
    /// Maximum time to end: a read from a hung disk cannot be cancelled.
    private static let endSeconds = 4

    func run() throws {
        try DescriptorLimit.raise(to: Self.descriptors, orFailBelow: Self.leastDescriptors)
        // Buffers of 256 KiB are allocated and freed with each answer.
        _ = CLinux_keep_freed_memory(32 << 20)
        let console = log.console
        let threshold = LogThreshold(verbose: log.verbose)
        let logger = Logger(label: "viewer") { _ in
            LineLogHandler(console: console, threshold: threshold)
        }
        let shutdown = Shutdown()
        let catalog = try catalog.forReading(Self._commandName)
        let access = try siteOptions.access { logger.notice("\($0)") }
        var site = siteSettings(catalog, access, shutdown, logger)
        let reference =
            try present(of: &site, catalog.server?.name ?? "", logger)
            ?? ownArchive(shutdown, logger)
        guard
            storeRedirect == nil || reference.storeOrigin != nil
                || reference.members.contains(where: { $0.storeOrigin != nil })
        else {
            throw StoreOptions.missing("--store-redirect needs an object store", isReading: true)
        }
        var settings = ViewerSettings(
            archive: reference, host: listen.host, port: listen.port)
        settings.site = site
        settings.siteTokens = access?.tokens
        settings.catalog = catalog
        settings.users = users
        settings.feed = feed
        // Checking the options creates no key.
        if let feed, configuration.checks {
            try KeyOptions.resolve { () throws(TrustError) in
                try LinkSecurity.checkAgent(keyRequest(for: feed))
            }
        } else if let feed {
            settings.feedSecurity = try security(for: feed, logger)
        }
        settings.exports = exports
        if let exports, !configuration.checks { try Self.checkExports(exports) }
        if let state, !configuration.checks { try Self.makeState(state) }
        settings.state = state ?? Self.usualState(users: users)
        settings.hostNames = hostName
        settings.embedOrigins = embedOrigin
        settings.forwarding = try forwarding()
        settings.isBehindProxy = behindProxy
        settings.storeRedirectSeconds = storeRedirect.map { Int($0.nanoseconds / 1_000_000_000) }
        settings.version = Version.number
        settings.rtsp = rtsp.map { RTSPAddress(host: $0.host, port: $0.port) }
        if let tlsCertificate, let tlsKey {
            settings.certificate = CertificateFiles(chain: tlsCertificate, key: tlsKey)
        }
        do throws(ViewerError) {
            let server = try ViewerServer(settings, logger: logger)
            if configuration.checks {
                print("the options are valid")
                return
            }
            try serve(server, logger) {
                shutdown.begin()
                catalog.server?.end()
            }
        } catch {
            throw Failure("\(error)")
        }
    }

    /// The entries of ``forward``, whose files are read once now; nil without one.
    private func forwarding() throws -> ForwardSettings? {
        guard !forward.isEmpty else { return nil }
        do {
            let entries = try ForwardEntry.list(forward)
            try ForwardEntry.check(entries)
            return ForwardSettings(
                entries: entries, program: try ForwardProgram(options: forwardOptions))
        } catch let error as ForwardEntryError where error.isOfUsage {
            throw UsageError("\(error)")
        } catch {
            throw Failure("\(error)")
        }
    }

    /// The collector's feed for 'tributary forward', as this viewer receives it.
    private var forwardOptions: [String] {
        guard let feed else { return archive.map { "--archive=\($0)" } }
        var options = ["--feed=\(feed)"]
        if let keys { options.append("--keys=\(keys)") }
        if let collectorKey { options.append("--collector-key=\(collectorKey)") }
        if insecure, keys == nil, collectorKey == nil { options.append("--insecure") }
        return options
    }

    /// The archives of ``archive``.
    private func ownArchive(_ shutdown: Shutdown, _ logger: Logger) throws -> ArchiveReference {
        try ArchiveReference(
            archive.isEmpty ? ["./recordings"] : archive, store, cacheBytes: Self.cacheBytes,
            patience: SessionPatience(nanoseconds: Self.patienceNanoseconds), shutdown: shutdown
        ) { logger.warning("\($0)") }
    }

    /// Settings of the site, if only its catalog was given; nil if archives, a feed or an object store were given.
    private func siteSettings(
        _ catalog: CatalogReference, _ viewers: ViewerAccess?, _ shutdown: Shutdown,
        _ logger: Logger
    ) -> SiteSettings? {
        guard archive.isEmpty, feed == nil, store.store == nil,
            let server = catalog.server
        else { return nil }
        let register = server.register
        let options = store
        let access = FeedAccess(machine: ArchiveIdentity.host, isInsecure: insecure) {
            [keys] in try Self.watchingKey(keys, logger)
        }
        let known = KnownSite(directory: state ?? Self.usualState(users: users), logger: logger) {
            try register.reports()
        }
        return SiteSettings(
            feeds: access, collectors: { try known.collectors() },
            overview: {
                SiteOverview(
                    try register.collectors(), leases: try server.leases.entries(),
                    catalog: server.name)
            }
        ) {
            try SiteArchives(
                $0, endpoint: options.storeEndpoint, readsViewers: viewers != nil
            ).reference(
                options, site: viewers, cacheBytes: Self.cacheBytes, shutdown: shutdown
            ) { logger.warning("\($0)") }
        } changes: { collectors, apply, complain in
            try SiteChanges(
                SiteArchives(
                    collectors, endpoint: nil, readsViewers: viewers != nil, isForChanges: true),
                site: viewers, namesAddresses: false, shutdown: shutdown, apply: apply,
                complain: complain)
        }
    }

    /// The archives of a site that can be read from here. If there are none, an archive without recordings, until one can be
    /// read. Nil without a site.
    /// - Parameter name: the catalog's name.
    private func present(
        of site: inout SiteSettings?, _ name: String, _ logger: Logger
    ) throws -> ArchiveReference? {
        // `--check-config` makes no requests.
        guard let settings = site, !configuration.checks else { return nil }
        do {
            let collectors = try settings.collectors()
            // Reused by the viewer, so that problems are not reported twice.
            site?.known = collectors
            if let archive = try settings.archive(collectors) { return archive }
            logger.warning(
                collectors.isEmpty
                    ? "no collector has reported in \(name) yet: its recordings are shown when it has"
                    : "none of the site's archives can be read from here: live pictures are shown, and no recordings until one can be read"
            )
            return ArchiveReference(nothingOf: name)
        } catch let error as ArchiveError {
            throw Failure(
                "\(error): without the catalog the site's archives are not known; give them in --archive"
            )
        }
    }

    /// Makes the directory that `--state` names, so that a wrong one is an error at the start, not at the first write.
    private static func makeState(_ directory: String) throws {
        do throws(ArchiveError) {
            try FileSystem.makeDirectories(directory)
            try FileSystem.checkWritable(directory)
        } catch {
            throw Failure("\(error): give --state a directory that this user can write to")
        }
    }

    /// Checks the directory that `--exports` names, and its parent if it does not exist yet: the viewer makes and removes it.
    private static func checkExports(_ directory: String) throws {
        do throws(ArchiveError) {
            var status = stat()
            let isThere = stat(directory, &status) == 0
            var name = directory
            while name.count > 1, name.hasSuffix("/") { name.removeLast() }
            try FileSystem.checkWritable(isThere ? name : Path.directory(of: name))
        } catch {
            throw Failure(
                "\(error): give --exports a directory that this user can write to, or one to be made in such a directory"
            )
        }
    }

    /// Default state directory; nil if there is none.
    private static func usualState(users: String?) -> String? {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        // systemd separates several directories by colons (systemd.exec(5)).
        if let service = variable("STATE_DIRECTORY")?.split(separator: ":").first {
            return String(service)
        }
        if let users { return Path.directory(of: users) }
        let own = "tributary-viewer"
        return variable("XDG_STATE_HOME").map { "\($0)/\(own)" }
            ?? variable("HOME").map { "\($0)/.local/state/\(own)" }
    }

    /// This machine's key, with which it watches; created if it is missing, with a line that has the command for the servers.
    private static func watchingKey(
        _ directory: String?, _ logger: Logger
    ) throws(TrustError) -> SecretKey {
        let own = try LinkSecurity.ownKey(in: directory)
        if own.isNew { tell(own.key, of: own.directory, logger) }
        return own.key
    }

    private static func tell(_ key: SecretKey, of directory: KeyDirectory, _ logger: Logger) {
        logger.notice("generated a key for this machine: \(directory.ownKeyPath)")
        logger.notice(
            "run on the server: tributary keys authorize viewer \(key.publicKey.text) --watch")
    }

    /// The connection to the feed; creates this machine's key if it is missing, and logs the command for it.
    private func security(for feed: String, _ logger: Logger) throws -> SocketSecurity {
        let chosen = try KeyOptions.resolve { () throws(TrustError) in
            try LinkSecurity.ofAgent(keyRequest(for: feed))
        }
        guard let chosen else { return .plain }
        if chosen.isNewKey { Self.tell(chosen.key, of: chosen.directory, logger) }
        return .client(chosen.key, server: chosen.collectorKey)
    }

    private func keyRequest(for feed: String) -> LinkSecurity.Request {
        let isNamed = keys != nil || collectorKey != nil
        return LinkSecurity.Request(
            endpoint: feed, isLocal: Endpoint.isLocal(feed), isInsecure: insecure && !isNamed,
            directory: keys, collectorKey: collectorKey)
    }

    /// Serves requests until a stop; `end` ends waits for remote systems.
    private func serve(
        _ server: ViewerServer, _ logger: Logger, end: @escaping @Sendable () -> Void
    ) throws(ViewerError) {
        let manager = ServiceManager.current()
        let scheme = tlsCertificate == nil ? "http" : "https"
        let (host, rtspHost) = (listen.host, rtsp?.host ?? "")
        let outcome = Outcome()
        let task = Task.detached {
            do {
                try await server.run(
                    ready: { port, rtspPort in
                        if let rtspPort {
                            logger.info(
                                "players: \(scheme == "https" ? "rtsps" : "rtsp")://\(HTTPAddress(host: rtspHost, port: rtspPort))/live/SOURCE"
                            )
                        }
                        logger.info(
                            "watch at \(scheme)://\(HTTPAddress(host: host, port: port))/")
                        manager.ready()
                    }, alive: { manager.alive() })
                outcome.settle(nil)
            } catch {
                outcome.settle(error)
            }
        }
        let signals = StopSignals { count in
            if count > 1 { _exit(130) }
            manager.stopping()
            // Remote archives are not waited for.
            end()
            task.cancel()
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Self.endSeconds)) {
                logger.warning("a file is still being read: its disk does not answer")
                _exit(0)
            }
        }
        defer { withExtendedLifetime(signals) {} }
        switch outcome.wait() {
        case nil: return
        case let error as ViewerError: throw error
        case is CancellationError: return
        case let error?: throw .stopped(reason: "\(error)")
        }
    }

    static func main() {
        // `users` manages the accounts. Without a command, the viewer is started.
        let words = CommandArguments.all
        switch words.first {
        case "users":
            Program.main(UsersCommand.self, arguments: Array(words.dropFirst()))
        case "help":
            Program.main(ViewerCommand.self, arguments: ["--help"])
        case .some(let word) where !word.hasPrefix("-"):
            Program.refuse(
                UsageError(
                    "there is no command '\(word)': use 'users', or options alone to serve"),
                name: Self._commandName)
        default:
            Program.main(ViewerCommand.self, signals: .service(reloads: false))
        }
    }
}

/// Result of the server's task, for the thread that waits for its end.
private final class Outcome: Sendable {
    private let error = Mutex<(any Error)?>(nil)
    private let done = Semaphore(value: 0)

    func settle(_ error: (any Error)?) {
        self.error.withLock { $0 = error }
        done.signal()
    }

    func wait() -> (any Error)? {
        done.wait()
        return error.withLock { $0 }
    }
}
