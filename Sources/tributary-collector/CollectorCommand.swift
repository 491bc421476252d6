import Archive
import ArgumentParser
import Catalog
import CLinux
import CollectorCore
import Dispatch
import Glibc
import Library
import Logging
import ObjectStore
import Operations
import OperationsServer
import Recordings
import Terminal
import Trust

/// The collector's command line.
@main
struct CollectorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tributary-collector",
        abstract: "Receives sources from agents and records each as MP4 on one common timeline.",
        discussion: """
            Recordings are in DIR/sessions/<session>/<source>/; 'tributary ls' lists them. They are playable at any time, \
            also while they grow. After a crash, start the collector again: it continues the open session.

            Every option can be set in the environment (--start-at is TRIBUTARY_START_AT) and in a file (--config). \
            Ctrl-C (SIGINT) ends the session: all files are finished first. SIGTERM, as from systemd, leaves the session \
            open when everything received is on the disk and acknowledged: the next collector continues it. To end a session \
            without ending the collector, use 'tributary stop'. SIGHUP reloads the file.
            """,
        version: Version.number)

    @Option(help: "Endpoint to listen on for agents: tcp://ADDRESS:PORT or ipc://PATH.")
    var listen = "tcp://127.0.0.1:5550"

    @Option(
        help: ArgumentHelp(
            """
            Also publish live samples for viewers on other machines, at tcp://ADDRESS:PORT. A viewer needs a key with the right \
            to watch ('tributary keys authorize NAME KEY --watch'). Viewers on this machine use the archive's socket.
            """, valueName: "endpoint"))
    var feed: String?

    @Option(
        help: ArgumentHelp(
            """
            Name of this collector, by which agents and other collectors' archives refer to it: letters, digits, '.', '_', '-'. \
            (default: this machine's name)
            """, valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            """
            Endpoint at which the other collectors of a site reach this one to compare clocks, when it is neither --listen nor, \
            for all addresses, that port of this machine's name.
            """, valueName: "endpoint"))
    var advertise: String?

    @Option(
        help: ArgumentHelp(
            """
            Address of this collector's viewer, https://HOST:PORT. Readers on other machines with the site's token read this \
            archive there if it is in no object store. (default: none)
            """, valueName: "url"))
    var viewerUrl: String?

    @Option(help: ArgumentHelp("Directory of the recordings.", valueName: "dir"))
    var archive = "./recordings"

    @OptionGroup var catalog: CatalogOptions

    @Option(
        help: ArgumentHelp(
            """
            Segment length. All sources start a new file at the same instants. (default: 10m; with --release stored 1m, because a \
            sample is in the store when its segment is)
            """, valueName: "segment"))
    var segment: TimeSpan?

    private var segmentLength: TimeSpan {
        segment
            ?? TimeSpan(
                nanoseconds: upload.release.waitsForStore ? 60_000_000_000 : 600_000_000_000)
    }

    @Option(help: "Event that defines the session's time zero.")
    var startAt = SessionManifest.StartPolicy.firstSample

    @Option(
        help:
            "Wait this long for an earlier sample of another source before zero is fixed; up to four times as long for another track of the same source."
    )
    var startWindow = TimeSpan(nanoseconds: 500_000_000)

    @Option(
        help: """
            End the session when no source has sent anything for this long. 0s: no timeout; the session ends when every \
            source has ended, on 'tributary stop' or on Ctrl-C.
            """)
    var idleTimeout = TimeSpan(nanoseconds: 3_600_000_000_000)

    @OptionGroup(title: "Disk space") var room: StorageOptions

    @OptionGroup(title: "Object store") var upload: UploadOptions

    @Flag(
        help: "Exit when every source of the first session has ended and every file is final.")
    var once = false

    @Option(
        help: ArgumentHelp(
            """
            Key directory, as created by 'tributary keys'. Required for listening to other machines. When it is given, \
            agents on this machine need keys too. (default: /etc/tributary/keys for root and for users with read \
            access to it, otherwise ~/.config/tributary/keys)
            """, valueName: "dir"))
    var keys: String?

    @Flag(help: "Run without keys: connections are neither authenticated nor encrypted.")
    var insecure = false

    @Option(
        help: ArgumentHelp(
            """
            Serve HTTP at this address, without authentication: /metrics for Prometheus, /healthz and /readyz for health \
            checks. HOST defaults to 127.0.0.1. Without this option, no HTTP is served.
            """, valueName: "[host:]port"))
    var http: HTTPAddress?

    @Option(
        help: ArgumentHelp(
            """
            Also write every received message to a new file, with its arrival time. 'tributary replay FILE' sends \
            the messages again, including clock exchanges. The file holds all media, names and addresses, but no keys.
            """, valueName: "file"))
    var recordWire: String?

    @Flag(
        help: """
            Let programs of the archive's group command this collector through the socket collector.commands in the archive: \
            stop sessions, command agents, and name, protect and remove sessions. tributary-viewer needs it for its operators.
            """)
    var groupCommands = false

    @OptionGroup(title: "Log") var log: LogOptions

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions

    func validate() throws {
        let segment = segmentLength
        guard segment.nanoseconds >= 1_000_000_000 else {
            throw ValidationError("--segment \(segment) is too short: use at least 1s")
        }
        guard segment.nanoseconds <= 86_400_000_000_000 else {
            throw ValidationError("--segment \(segment) is too long: use at most 24h")
        }
        guard startWindow.nanoseconds <= 60_000_000_000 else {
            throw ValidationError("--start-window \(startWindow) is too long: use at most 60s")
        }
        guard idleTimeout.nanoseconds == 0 || idleTimeout.nanoseconds >= 5_000_000_000 else {
            throw ValidationError(
                "--idle-timeout \(idleTimeout) is too short: use at least 5s, or 0s for never")
        }
        if let name, !ArchiveLayout.isValidName(name) {
            throw ValidationError(
                "--name '\(name.prefix(80))' is not valid: at most 64 letters, digits, '.', '_' and '-', a letter or digit first"
            )
        }
        if let flaw = Endpoint.flaw(listen) { throw ValidationError("--listen: \(flaw)") }
        if let flaw = advertise.flatMap(Endpoint.flaw) {
            throw ValidationError("--advertise: \(flaw)")
        }
        do throws(ViewerAddress.Flaw) {
            if let viewerUrl { _ = try ViewerAddress(viewerUrl) }
        } catch {
            throw ValidationError("the address in --viewer-url \(error)")
        }
        if let feed {
            if let flaw = Endpoint.flaw(feed) { throw ValidationError("--feed: \(flaw)") }
            guard feed.hasPrefix("tcp://") else {
                throw ValidationError(
                    "--feed \(feed) is not for other machines: use a TCP endpoint, such as tcp://0.0.0.0:5560"
                )
            }
        }
        guard keys == nil || !insecure else {
            throw ValidationError("--keys and --insecure cannot be combined: leave one out")
        }
        if recordWire?.isEmpty == true {
            throw ValidationError("--record-wire is empty: name a file")
        }
    }

    /// Minimum limit of open files: the catalog, sockets and a few sources.
    private static let leastDescriptors = 128

    func run() throws {
        try DescriptorLimit.raise(
            to: Self.leastDescriptors, orFailBelow: Self.leastDescriptors)
        let console = log.console
        let service = Service(console: console, endpoint: listen, isVerbose: log.verbose)
        var settings = CollectorSettings(
            endpoint: listen, archive: archive, segmentNanoseconds: segmentLength.nanoseconds,
            startAt: startAt, startWindowNanoseconds: startWindow.nanoseconds,
            endsWithSession: once, changeable: changeable,
            software: Version.software("tributary-collector"))
        settings.name = name ?? Self.machineName
        settings.catalog = try catalog.forWriting(Self._commandName)
        settings.keys = try chooseKeys(for: listen, option: "listen")
        settings.remoteFeed = try feed.map {
            CollectorSettings.RemoteFeed(
                endpoint: $0, keys: try chooseKeys(for: $0, option: "feed"))
        }
        settings.store = try upload.settings()
        settings.address = advertise
        settings.viewer = viewerUrl
        settings.storeEndpoint = upload.place.storeEndpoint
        settings.release = upload.release
        settings.wireRecording = recordWire
        settings.version = Version.number
        settings.http = http.flatMap { $0.port == 0 ? nil : "\($0)" }
        settings.takesGroupCommands = groupCommands
        let shortage = try findShortage()
        if configuration.checks {
            print("the options are valid")
            return
        }
        if let shortage { service.logger.warning("\(shortage)") }
        // Payloads are megabytes that are allocated and freed all day.
        _ = CLinux_keep_freed_memory(256 << 20)
        do {
            let collector = try Collector(
                settings: settings, logger: service.logger, report: service.report)
            let signals = StopSignals { count, origin in
                if count > 1 { _exit(130) }
                service.stopping()
                // SIGINT, from a terminal, ends the session, so that its files are finished. Any other stop leaves the session
                // open, and the next collector continues it.
                collector.stop(endsSession: origin == .person)
                Self.watchEnd(of: collector, service.logger)
            }
            let reloading = ReloadSignal { service.reload(collector) }
            defer { withExtendedLifetime((signals, reloading)) {} }
            let server = try startServer(of: collector, service.logger)
            defer { server?.stop() }
            let outcome = try collector.run()
            console.endProgress()
            if let line = RefusalText.line(outcome.refusals) { service.logger.info("\(line)") }
            if let line = outcome.cost.line { service.logger.info("\(line)") }
            if let first = outcome.failures.first {
                let more =
                    outcome.failures.count > 1 ? " (and \(outcome.failures.count - 1) more)" : ""
                throw Failure("not everything was recorded: \(first)\(more)")
            }
        } catch let error as CollectorError {
            console.endProgress()
            throw Failure("\(error)")
        }
    }

    /// Ends the process if a hung disk prevents the collector from ending.
    private static func watchEnd(of collector: Collector, _ logger: Logger) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(endSeconds)) {
            guard let hindrance = collector.hindrance else {
                return watchEnd(of: collector, logger)
            }
            logger.error("ended without finishing: \(hindrance)")
            LogOutlet.flushStandardError()
            _exit(ExitStatus.failure)
        }
    }

    /// Interval, after a signal, of the checks whether a hung disk keeps the collector from ending.
    private static let endSeconds = 4

    /// Starts the HTTP server before the first agent connects.
    private func startServer(
        of collector: Collector, _ logger: Logger
    ) throws -> HTTPStatusServer? {
        guard let http else { return nil }
        do throws(OperationsServerError) {
            let server = try HTTPStatusServer.start(
                host: http.host, port: http.port, board: collector.board, logger: logger)
            let address = HTTPAddress(host: http.host, port: server.port)
            logger.info("metrics are at http://\(address)/metrics")
            if !Endpoint.isLocal("tcp://\(address)") {
                logger.warning(
                    "http://\(address) shows every machine that can reach it what is recorded; restrict access with a firewall"
                )
            }
            return server
        } catch {
            throw Failure("\(error)")
        }
    }

    /// This machine's name; empty if it is not a valid collector name.
    private static var machineName: String {
        var bytes = [CChar](repeating: 0, count: 256)
        gethostname(&bytes, bytes.count - 1)
        let name = String(
            decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return ArchiveLayout.isValidName(name) ? name : ""
    }

    /// Options that need no restart: those of ``changeable``, and the log's.
    static let changeableNames: Set<String> = [
        "idle-timeout", "reserve", "keep-age", "keep-bytes", "keep-free", "keep-local", "verbose",
    ]

    /// Settings that may change while the collector runs.
    var changeable: ChangeableSettings {
        ChangeableSettings(
            idleTimeoutNanoseconds: idleTimeout.nanoseconds, reserveBytes: room.reserveBytes,
            retention: room.retention, localCache: upload.localCache)
    }

    /// A log line if there is no space at present.
    private func findShortage() throws -> String? {
        do throws(UsageError) {
            return try room.check(archive: archive)
        } catch {
            if configuration.checks { throw error }
            // The disk may not be mounted yet: the service manager should try again.
            throw Failure(error.description)
        }
    }

    private func chooseKeys(
        for endpoint: String, option: String
    ) throws -> LinkSecurity.Collector? {
        do throws(TrustError) {
            return try LinkSecurity.ofCollector(
                LinkSecurity.Request(
                    endpoint: endpoint, isLocal: Endpoint.isLocal(endpoint), isInsecure: insecure,
                    directory: keys))
        } catch {
            guard case .noOwnKey = error else { throw Failure("\(error)") }
            throw UsageError(
                keys == nil
                    ? "\(endpoint) is open to other machines, and \(error), use --\(option) tcp://127.0.0.1:PORT, or "
                        + "add --insecure on a trusted network" : "\(error)")
        }
    }

    static func main() {
        Program.main(CollectorCommand.self, signals: .service(reloads: true))
    }
}

extension SessionManifest.StartPolicy: ExpressibleByArgument {
    /// Values for the help.
    package static var allValueStrings: [String] {
        [SessionManifest.StartPolicy.firstSample, .firstVideo].map(\.rawValue)
    }
}
