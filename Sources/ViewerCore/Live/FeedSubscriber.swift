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
    /// A message of the feed.
    enum Message: Sendable {
        case samples(FeedSamples, media: [UInt8])
        /// A JSON document.
        case status([UInt8])
        /// A JSON document.
        case event([UInt8])
        /// The connection was made again: earlier messages may be missing.
        case reconnected
    }

    /// Topic, header, media.
    private static let parts = 3
    private static let messagesPerTurn = 1_000
    private static let heartbeatMilliseconds: Int32 = 1_000
    private static let pauseMicroseconds: UInt32 = 1_000_000
    /// Maximum queued messages: three seconds of 64 sources.
    private static let queuedMessages: Int32 = 2_000

    private let place: FeedEndpoint
    private let hub: LiveHub
    private let logger: Logger
    /// Called on the feed's thread, with the time (monotonic, nanoseconds).
    private let receive: @Sendable (Message, Int64) -> Void
    private let wakeUp: WakeUp
    private let thread = JoinableThread()
    private let isStopping = Atomic(false)
    /// Whether there has been a connection.
    private let hasConnected = Atomic(false)
    /// The last logged handshake failure.
    private let refusal = Mutex<String?>(nil)

    /// - Parameter hub: determines the topics.
    init(
        _ place: FeedEndpoint, hub: LiveHub, logger: Logger,
        receive: @escaping @Sendable (Message, Int64) -> Void
    ) throws(MessagingError) {
        self.place = place
        self.hub = hub
        self.logger = logger
        self.receive = receive
        wakeUp = try WakeUp()
    }

    /// The topics of the hub have changed.
    func wake() { wakeUp.signal() }

    func start() {
        thread.start("feed") { [self] in
            var complaint: String?
            while !isStopping.load(ordering: .acquiring) {
                do {
                    try run()
                } catch is Refused {
                    usleep(Self.pauseMicroseconds)
                } catch {
                    // Logged once for each reason.
                    if complaint != "\(error)" {
                        logger.error("live pictures cannot be received\(origin): \(error)")
                    }
                    complaint = "\(error)"
                    usleep(Self.pauseMicroseconds)
                }
            }
        }
    }

    func stop() {
        isStopping.store(true, ordering: .releasing)
        wakeUp.signal()
        thread.join()
    }

    /// For messages: ` of west`; empty if there is only one.
    private var origin: String { place.collector.isEmpty ? "" : " of \(place.collector)" }

    private func run() throws {
        var options = SocketOptions()
        options.receiveQueue = Self.queuedMessages
        options.maximumPartBytes = Int64(max(WireLimits.payloadBytes, WireLimits.headerBytes))
        options.reconnectMaximumMilliseconds = 2_000
        // The publisher must not queue messages for a hung viewer.
        options.heartbeatMilliseconds = Self.heartbeatMilliseconds
        options.heartbeatTimeoutMilliseconds = 5 * Self.heartbeatMilliseconds
        options.heartbeatLifetimeMilliseconds = 5 * Self.heartbeatMilliseconds
        options.security = place.security
        let context = try Context()
        let socket = try Socket(.subscriber, in: context, options: options)
        let monitor = try ConnectionMonitor(of: socket, in: context)
        if let endpoint = place.endpoint { try socket.connect(endpoint) }
        var poller = Poller()
        _ = poller.add(socket)
        _ = poller.add(monitor)
        let token = poller.add(descriptor: wakeUp.descriptor)
        var subscribed: Set<[UInt8]> = []
        // Changes wake this thread.
        var haveChanged = true
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
        }
    }

    /// Reports new connections, and logs why the collector refuses this viewer, once per reason.
    /// - Throws: ``Refused`` if libzmq does not reconnect by itself.
    private func tell(of monitor: borrowing ConnectionMonitor) throws {
        while let event = try monitor.nextEvent() {
            switch event {
            case .ready:
                refusal.withLock { $0 = nil }
                guard hasConnected.exchange(true, ordering: .relaxed) else { continue }
                receive(.reconnected, SystemClock.monotonic.nowNanoseconds)
            // Without keys, the collector has just ended.
            case .handshakeFailed(_, .brokenOff) where place.security == .plain: continue
            case .handshakeFailed(let endpoint, let failure):
                let line = HandshakeAdvice.line(
                    failure, endpoint: endpoint, name: "viewer", watches: true,
                    security: place.security)
                let isNew = refusal.withLock { refusal in
                    defer { refusal = line }
                    return refusal != line
                }
                if isNew { logger.error("live pictures cannot be received\(origin): \(line)") }
                if case .brokenOff = failure { continue }
                throw Refused()
            case .connected, .accepted, .retrying, .disconnected, .other: continue
            }
        }
    }

    private func take(_ message: ReceivedMessage, now: Int64) {
        do throws(WireError) {
            if let message = try Self.message(message.parts.map(\.bytes)) { receive(message, now) }
        } catch {
            logger.debug("a message of the feed is left out: \(error)")
        }
    }

    /// A message, by its parts; nil: it is of another version.
    /// - Throws: when it is malformed, or on a topic that it does not belong to.
    static func message(_ parts: [[UInt8]]) throws(WireError) -> Message? {
        guard parts.count > 1 else { return nil }
        let topic: [UInt8]
        let message: Message
        switch try FeedMessage(decoding: parts[1]) {
        case .samples(let samples):
            guard parts.count == Self.parts else { return nil }
            topic = FeedTopic.source(samples.source)
            message = .samples(samples, media: parts[2])
        case .status(let json): (topic, message) = (FeedTopic.status, .status(json))
        case .event(let json): (topic, message) = (FeedTopic.events, .event(json))
        case .unknown: return nil
        }
        guard parts[0] == topic else { throw .malformed("a message of a feed on another topic") }
        return message
    }
}
