package import Accounts
import Archive
import Encoding
import Files
import Glibc
import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import Library
package import Logging
import Media
import Messaging
import NIOCore
import NIOPosix
import NIOSSL
import OperationsServer
import Recordings
import ServiceLifecycle
import Synchronization

/// Serves an archive over HTTP/1.1, and over HTTP/2 with TLS.
package struct ViewerServer: Sendable {
    /// An address with a cookie, a token and a query.
    private static let maximumHeaderBytes = 16 << 10
    private static let maximumHeaders = 100
    /// A wall of sixteen players keeps a handful of connections for each.
    private static let limits = ConnectionLimits(
        maximumConnections: 2_000, headerNanoseconds: 10_000_000_000,
        answerNanoseconds: 60_000_000_000, idleNanoseconds: 120_000_000_000)
    /// Limits over TLS, from the TCP connection on: a handshake takes two round trips. After it, a client may be idle for the time of
    /// ``limits``, and then wait for a response.
    private static let transportLimits = ConnectionLimits(
        maximumConnections: limits.maximumConnections, headerNanoseconds: 10_000_000_000,
        answerNanoseconds: limits.answerNanoseconds,
        idleNanoseconds: limits.idleNanoseconds + limits.answerNanoseconds)

    private let settings: ViewerSettings
    private let site: ViewerSite
    private let access: AccessMiddleware
    private let certificate: Certificate?
    private let hub = LiveHub(lingeringNanoseconds: LiveHub.lingeringNanoseconds)
    private let log: EventLog
    private let history = StatusHistory()
    private let exports: ExportQueue
    private let feeds: LiveFeeds
    private let follower: SiteFollower?
    /// Nil: nothing is forwarded.
    private let forwards: ForwardService?
    private let commands: CollectorCommands
    /// Nil: there is no site.
    private let siteOperator: SiteOperator?
    private let logger: Logger

    package init(_ settings: ViewerSettings, logger: Logger) throws(ViewerError) {
        // libavcodec writes progress and remarks to standard error.
        CodecLibrary.keepOffTerminal()
        self.settings = settings
        self.logger = logger
        site = ViewerSite(
            archive: settings.archive, catalog: settings.catalog,
            storeRedirectSeconds: settings.storeRedirectSeconds, logger: logger,
            threads: ReadingThreads())
        certificate = try settings.certificate.map { files throws(ViewerError) in
            try Certificate(files, logger: logger)
        }
        log = EventLog(
            first: UInt64(clamping: SystemClock.utc.nowNanoseconds / 1_000_000))
        let feeds = LiveFeeds(
            hub: hub, log: log, history: history, isSite: settings.hearsSeveral, logger: logger)
        self.feeds = feeds
        let commands = CollectorCommands(logger: logger) { feeds.archives(for: $0) }
        self.commands = commands
        let siteOperator = settings.site.map { [site] in
            SiteOperator($0, site: site, commands: commands)
        }
        self.siteOperator = siteOperator
        follower = settings.site.map { [site] settings in
            SiteFollower(settings, feeds: feeds, logger: logger) {
                site.archive = $0
            } known: {
                siteOperator?.note($0)
            }
        }
        forwards = settings.forwarding.map {
            ForwardService($0.entries, of: $0.program, logger: logger)
        }
        let work = ExportWork(site: site, logger: logger)
        exports = ExportQueue(
            directory: settings.exports ?? Self.temporaryDirectory(), logger: logger,
            work: { try work.run($0, to: $1, $2) }
        ) { [log] job in
            do {
                log.add(
                    "job", for: .job(owner: job.owner, sources: job.request.sources),
                    json: try ExportsAPI.event(job))
            } catch {
                logger.warning("a job cannot be told of: \(error)")
            }
        }
        do throws(MessagingError) {
            try feeds.follow(settings.feedPlaces)
        } catch {
            throw .stopped(reason: "\(error)")
        }
        do throws(AccessError) {
            let isSecure = settings.certificate != nil || settings.isBehindProxy
            let hosts = try HostCheck(
                listenHost: settings.host, certificateNames: certificate?.names ?? [],
                allowed: settings.hostNames)
            access = AccessMiddleware(
                access: try Access(
                    users: settings.users.map { UserFile($0) }, isSecure: isSecure, now: .now()
                ) { logger.warning("\($0)") }, hosts: hosts,
                origin: RequestOrigin(hosts: hosts, isSecure: isSecure),
                isBehindProxy: settings.isBehindProxy,
                links: LinkStore(directory: settings.state) { logger.warning("\($0)") },
                servesReaders: settings.siteTokens != nil)
        } catch {
            throw .noAccess(error)
        }
    }

    /// From the end of listening to that of all connections.
    private static let closingDuration = Duration.milliseconds(500)

    /// The parts that all responses depend on.
    private static func parts(
        _ eventLoops: MultiThreadedEventLoopGroup, _ threads: ReadingThreads
    ) -> [ServerProgress.Part] {
        var parts = eventLoops.makeIterator().map { loop in
            ServerProgress.Part(
                name: "an event loop", label: "event_loops",
                patienceNanoseconds: ServerProgress.patienceNanoseconds
            ) { run in loop.execute { run() } }
        }
        parts.append(
            ServerProgress.Part(
                name: "the pool of tasks", label: "tasks",
                patienceNanoseconds: ServerProgress.patienceNanoseconds
            ) { run in Task { run() } })
        parts.append(
            ServerProgress.Part(
                name: "the pool that reads files", label: "reading",
                patienceNanoseconds: ServerProgress.readingPatienceNanoseconds
            ) { run in threads.submit(run) })
        return parts
    }

    /// Serves requests until the task is cancelled.
    /// - Parameters:
    ///   - ready: called with the HTTP port and the RTSP port once the server listens.
    ///   - alive: called about once a second on its own thread, while the event loops and the reading threads respond.
    package func run(
        ready: @escaping @Sendable (UInt16, UInt16?) -> Void,
        alive: @escaping @Sendable () -> Void
    ) async throws {
        // Event loops only send; reading and decoding have separate threads.
        let eventLoops = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let progress = ServerProgress(Self.parts(eventLoops, site.threads))
        let rtsp = try await listenForRTSP(on: eventLoops)
        defer { rtsp?.stop() }
        let router = ViewerRoutes(
            site: site, settings: settings, access: access, hub: hub, log: log, history: history,
            exports: exports, commands: commands, siteOperator: siteOperator,
            streams: LiveStreams(hub: hub),
            readiness: Readiness(site), progress: progress, forwards: forwards,
            walls: WallStore(directory: settings.state) { [logger] in logger.warning("\($0)") }
        ).router()
        let application = Application(
            router: router, server: builder(),
            configuration: ApplicationConfiguration(
                address: .hostname(settings.host, port: Int(settings.port)), serverName: nil,
                backlog: 512,
                // More than the deadlines allow: a new connection replaces an idle one.
                availableConnectionsDelegate: MaximumAvailableConnections(
                    Self.limits.maximumConnections + 500)),
            services: certificate.map { [$0] } ?? [],
            onServerRunning: { channel in
                ready(
                    UInt16(clamping: channel.localAddress?.port ?? Int(settings.port)), rtsp?.port)
            },
            eventLoopGroupProvider: .shared(eventLoops),
            // Hummingbird logs broken connections, which are normal here.
            logger: Logger(label: "http") { _ in SwiftLogNoOpLogHandler() })
        feeds.start()
        follower?.start()
        forwards?.start()
        progress.start(alive: alive)
        let tidying = Task { [exports, threads = site.threads] in
            while true {
                try await threads.run { exports.tidy() }
                try await Task.sleep(for: .seconds(60))
            }
        }
        defer {
            tidying.cancel()
            progress.stop()
            forwards?.stop()
            follower?.stop()
            feeds.stop()
            exports.stop()
        }
        do {
            try await serve(application)
        } catch {
            throw Self.reason(
                error, host: settings.host, port: settings.port, option: "--listen")
        }
        try await site.threads.stop()
    }

    /// Runs the HTTP server until the task is cancelled: the listening socket is closed first.
    ///
    /// A connection that was accepted but has no task when the server is cancelled ends the process (swift-nio: a
    /// writer that was never finished). Once the socket is closed, all accepted connections have tasks.
    private func serve(_ application: some ApplicationProtocol) async throws {
        let group = ServiceGroup(services: [application], logger: application.logger)
        let serving = Task { try await group.run() }
        try await withTaskCancellationHandler {
            try await serving.value
        } onCancel: {
            Task {
                await group.triggerGracefulShutdown()
                // Endless answers have to be ended here. This task is never cancelled.
                try await Task.sleep(for: Self.closingDuration)
                serving.cancel()
            }
        }
    }

    private func listenForRTSP(
        on eventLoops: MultiThreadedEventLoopGroup
    ) async throws -> RTSPListener? {
        guard let address = settings.rtsp else { return nil }
        let service = RTSPService(
            site: site, access: access.access, hub: hub, history: history, logger: logger)
        do {
            return try await RTSPListener.start(
                service, host: address.host, port: address.port, certificate: certificate,
                on: eventLoops)
        } catch {
            throw Self.reason(error, host: address.host, port: address.port, option: "--rtsp")
        }
    }

    /// An unpredictable name, so that no other program can have made the directory.
    private static func temporaryDirectory() -> String {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let name = randomBytes(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        return "\(parent)/tributary-viewer-\(name.joined())"
    }

    private func builder() -> HTTPServerBuilder {
        let deadlines = ConnectionDeadlines(Self.limits)
        let http1 = HTTP1Channel.Configuration(
            additionalChannelHandlers: [HostFieldInstaller(), deadlines.handler()],
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: Self.maximumHeaderBytes,
                maxHeaderListSize: Self.maximumHeaderBytes,
                maxHeaderFieldCount: Self.maximumHeaders))
        guard let certificate else { return .http1(configuration: http1) }
        let tls = certificate.configuration
        let transport = ConnectionDeadlines(Self.transportLimits)
        return HTTPServerBuilder { responder in
            TLSServerChannel(
                inner: try HTTP2UpgradeChannel(
                    tlsConfiguration: tls,
                    configuration: HTTP2UpgradeChannel.Configuration(
                        idleTimeout: .nanoseconds(Self.limits.idleNanoseconds),
                        streamConfiguration: http1), responder: responder),
                deadlines: transport)
        }
    }

    private static func reason(
        _ error: any Error, host: String, port: UInt16, option: String
    ) -> any Error {
        let name = host.contains(":") ? "[\(host)]" : host
        let address = "\(name):\(port)"
        switch error {
        case let error as IOError:
            return ViewerError.cannotListen(
                address: address, option: option, reason: systemMessage(error.errnoCode))
        case let error as SocketAddressError.UnknownHost:
            return ViewerError.cannotListen(
                address: address, option: option,
                reason: "the host '\(error.host)' does not exist")
        default: return error
        }
    }
}

/// A reason why a viewer cannot start.
package enum ViewerError: Error, Hashable, CustomStringConvertible {
    case cannotListen(address: String, option: String, reason: String)
    case noCertificate(CertificateFiles, reason: String)
    case cannotForward(reason: String)
    case stopped(reason: String)
    case noAccess(AccessError)

    package var description: String {
        switch self {
        case .cannotListen(let address, let option, let reason):
            "cannot serve \(option == "--rtsp" ? "RTSP" : "HTTP") at \(address): \(reason); use another \(option) address"
        case .noAccess(let error): "\(error)"
        case .cannotForward(let reason): "cannot forward: \(reason)"
        case .stopped(let reason): "the server has ended: \(reason)"
        case .noCertificate(let files, let reason):
            "cannot use the certificate \(files.chain) with the key \(files.key): \(reason)"
        }
    }
}
