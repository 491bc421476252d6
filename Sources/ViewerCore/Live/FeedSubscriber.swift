import Glibc
import Logging
import Media
import Messaging
import Synchronization
import Threads
import Trust
import Wire

/// A collector has not admitted this viewer.
private struct Refused: Error {}

/// Subscribes to a collector's feed on its own thread, for watched sources only. It reconnects automatically.
final class FeedSubscriber: Sendable {
    private static let beatNanoseconds: Int64 = 1_000_000_000
    /// Topic, header, media.
    private static let parts = 3
    private static let messagesPerTurn = 1_000
    private static let heartbeatMilliseconds: Int32 = 1_000
    private static let pauseMicroseconds: UInt32 = 1_000_000
    /// Maximum queued messages: three seconds of 64 sources.
    private static let queuedMessages: Int32 = 2_000

    private let endpoint: String?
    private let security: SocketSecurity
    private let hub: LiveHub
    private let log: EventLog
    private let history: StatusHistory
    private let logger: Logger
    private let wakeUp: WakeUp
    private let thread = JoinableThread()
    private let isStopping = Atomic(false)
    /// The last logged handshake failure.
    private let refusal = Mutex<String?>(nil)

    /// - Parameters:
    ///   - endpoint: `ipc://…` or `tcp://…`; nil without a feed.
    ///   - security: keys of the connection.
    init(
        _ endpoint: String?, security: SocketSecurity, hub: LiveHub, log: EventLog,
        history: StatusHistory, logger: Logger
    ) throws(MessagingError) {
        self.endpoint = endpoint
        self.security = security
        self.hub = hub
        self.log = log
        self.history = history
        self.logger = logger
        wakeUp = try WakeUp()
    }

    func start() {
        hub.onChange { [wakeUp] in wakeUp.signal() }
        thread.start("feed") { [self] in
            var complaint: String?
            while !isStopping.load(ordering: .acquiring) {
                do {
                    try run()
                } catch is Refused {
                    pause()
                } catch {
                    // Logged once for each reason.
                    if complaint != "\(error)" {
                        logger.error("live pictures cannot be received: \(error)")
                    }
                    complaint = "\(error)"
                    pause()
                }
            }
        }
    }

    func stop() {
        isStopping.store(true, ordering: .releasing)
        wakeUp.signal()
        thread.join()
    }

    /// Wait until the next attempt. Readers of live streams still get heartbeats.
    private func pause() {
        hub.tick(now: SystemClock.monotonic.nowNanoseconds)
        log.add(EventLog.beat, json: "")
        usleep(Self.pauseMicroseconds)
    }

    private func run() throws {
        var options = SocketOptions()
        options.receiveQueue = Self.queuedMessages
        options.maximumPartBytes = Int64(max(WireLimits.payloadBytes, WireLimits.headerBytes))
        options.reconnectMaximumMilliseconds = 2_000
        // The publisher must not queue messages for a hung viewer.
        options.heartbeatMilliseconds = Self.heartbeatMilliseconds
        options.heartbeatTimeoutMilliseconds = 5 * Self.heartbeatMilliseconds
        options.heartbeatLifetimeMilliseconds = 5 * Self.heartbeatMilliseconds
        options.security = security
        let context = try Context()
        let socket = try Socket(.subscriber, in: context, options: options)
        let monitor = try ConnectionMonitor(of: socket, in: context)
        // Without a feed, clients still need heartbeats.
        if let endpoint { try socket.connect(endpoint) }
        var poller = Poller()
        _ = poller.add(socket)
        _ = poller.add(monitor)
        let token = poller.add(descriptor: wakeUp.descriptor)
        var subscribed: Set<[UInt8]> = []
        // Changes wake this thread.
        var haveChanged = true
        var nextBeat = SystemClock.monotonic.nowNanoseconds
        while !isStopping.load(ordering: .acquiring) {
            if try poller.wait(milliseconds: 100), poller.isReadable(token) {
                haveChanged = wakeUp.drain() || haveChanged
            }
            if haveChanged {
                haveChanged = false
                // Events and an hour of status are kept for clients that reconnect.
                let wanted = hub.topics.union([FeedTopic.events, FeedTopic.status])
                for topic in wanted.subtracting(subscribed) { try socket.subscribe(topic) }
                for topic in subscribed.subtracting(wanted) {
                    try socket.subscribe(topic, isWanted: false)
                }
                subscribed = wanted
            }
            try tell(of: monitor)
            let now = SystemClock.monotonic.nowNanoseconds
            // During a flood of messages, other work gets its turn.
            for _ in 0..<Self.messagesPerTurn {
                guard let message = try socket.receive(maximumParts: Self.parts) else { break }
                take(message, now: now)
            }
            if now >= nextBeat {
                nextBeat = now + Self.beatNanoseconds
                hub.tick(now: now)
                log.add(EventLog.beat, json: "")
            }
        }
    }

    /// Logs why the collector refuses this viewer, once per reason.
    /// - Throws: ``Refused`` if libzmq does not reconnect by itself.
    private func tell(of monitor: borrowing ConnectionMonitor) throws {
        while let event = try monitor.nextEvent() {
            switch event {
            case .ready: refusal.withLock { $0 = nil }
            // Without keys, the collector has just ended.
            case .handshakeFailed(_, .brokenOff) where security == .plain: continue
            case .handshakeFailed(let endpoint, let failure):
                let line = HandshakeAdvice.line(
                    failure, endpoint: endpoint, name: "viewer", watches: true, security: security)
                let isNew = refusal.withLock { refusal in
                    defer { refusal = line }
                    return refusal != line
                }
                if isNew { logger.error("live pictures cannot be received: \(line)") }
                if case .brokenOff = failure { continue }
                throw Refused()
            case .connected, .accepted, .retrying, .disconnected, .other: continue
            }
        }
    }

    private func take(_ message: ReceivedMessage, now: Int64) {
        guard message.parts.count > 1 else { return }
        do throws(WireError) {
            switch try FeedMessage(decoding: message.parts[1].bytes) {
            case .samples(let samples):
                guard message.parts.count == Self.parts else { return }
                hub.take(samples, media: message.parts[2].bytes, now: now)
            case .status(let json):
                history.take(status: json, now: now)
                log.add(EventLog.status, json: EventLog.line(json), now: now)
            case .event(let json): log.take(feed: json)
            case .unknown: return
            }
        } catch {
            logger.debug("a message of the feed is left out: \(error)")
        }
    }
}
