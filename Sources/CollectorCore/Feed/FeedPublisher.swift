import Archive
import Glibc
import Logging
import Media
import Messaging
import Wire

/// Publishes samples, events and the status to subscribers; media from the agents' messages, without a copy. Owned by
/// the receiving thread.
///
/// Sending never blocks. A slow subscriber loses messages, and detects that by their numbers. The bytes queued for all
/// subscribers are bounded by ``FeedBudget``: past that, samples are dropped for all of them. Viewers on other machines
/// have a publisher of their own, so that a slow network does not affect local viewers.
final class FeedPublisher {
    /// High-water mark per subscriber: three seconds of 64 sources.
    private static let queuedMessages: Int32 = 2_000
    /// Longer subscriptions are ignored; a source's name has 64 bytes.
    private static let maximumTopicBytes = 128
    /// Subscriptions processed per turn, ten turns a second: a viewer that subscribes without end does not delay other
    /// work, and the rate that ``WatcherConnections`` permits does not build up a queue.
    private static let subscriptionsPerTurn = 1_024
    /// A remote viewer that has read nothing for this long is disconnected.
    private static let unreadMilliseconds: Int32 = 10_000
    /// CURVE's largest handshake command is INITIATE, of 300 bytes (RFC 26 of ZeroMQ).
    private static let maximumHandshakeBytes = 1_024

    private let socket: Socket
    /// Connections of remote viewers; `nil` for a Unix socket.
    private let remote: FeedConnections?
    private(set) var watched = WatchedSources()
    /// The number of the last message, by source.
    private var numbers: [String: UInt64] = [:]
    /// Messages sent since the start.
    private(set) var sentMessages: UInt64 = 0
    /// Bytes queued for subscribers.
    private let held = HeldBytes()
    private var budget: FeedBudget
    /// Events were lost, and subscribers have not been notified yet.
    private var hasLostEvents = false

    /// - Parameters:
    ///   - path: of the Unix socket, which the collector's user and group may open.
    ///   - context: one without an authenticator, which would also authenticate subscribers.
    init(
        path: String, in context: Context, budget: FeedBudget = FeedBudget()
    ) throws(MessagingError) {
        self.budget = budget
        var options = SocketOptions()
        options.sendQueue = Self.queuedMessages
        options.maximumPartBytes = Int64(Self.maximumTopicBytes)
        let socket = try Socket(.publisher, in: context, options: options)
        let mask = umask(0o117)
        defer { umask(mask) }
        try socket.bind("ipc://\(path)")
        self.socket = socket
        remote = nil
    }

    /// A publisher for viewers on other machines.
    /// - Parameters:
    ///   - security: `.server` with the collector's key, or `.plain`.
    ///   - context: with `.server`, one in which `authenticator` is open.
    init(
        endpoint: String, security: SocketSecurity, authenticator: KeyAuthenticator?,
        in context: Context, counters: RefusalCounters, logger: Logger
    ) throws(MessagingError) {
        budget = FeedBudget()
        var options = SocketOptions()
        options.sendQueue = Self.queuedMessages
        options.maximumPartBytes = Int64(Self.maximumHandshakeBytes)
        options.handshakeMilliseconds = 5_000
        options.probesIdleConnections = true
        options.unreadMilliseconds = Self.unreadMilliseconds
        options.reportsEverySubscription = true
        options.security = security
        let socket = try Socket(.publisher, in: context, options: options)
        remote = try FeedConnections(
            of: socket, in: context, authenticator: authenticator, counters: counters,
            logger: logger)
        try socket.bind(endpoint)
        self.socket = socket
    }

    /// The endpoint that it listens on, with the actual port.
    func endpoint() throws(MessagingError) -> String {
        PeerAddress.withoutMapping(try socket.lastEndpoint())
    }

    var audience: String {
        remote == nil ? "viewers on this machine" : "viewers on other machines"
    }

    /// Bytes queued for subscribers, and kept in memory for them.
    var heldBytes: Int { held.count }

    /// Whether there are subscriptions to media, which must not be delayed.
    var isWatched: Bool { watched.wantsMedia }

    /// Processes subscriptions, and closes connections that exceed their limits.
    /// - Returns: whether the subscriptions have changed.
    func followSubscriptions() throws(MessagingError) -> Bool {
        let before = watched
        var received: [FeedConnections.Received] = []
        for _ in 0..<Self.subscriptionsPerTurn {
            guard let message = try socket.receive(maximumParts: 1) else { break }
            guard let part = message.parts.first else { continue }
            let isShort = part.count <= Self.maximumTopicBytes && message.droppedParts == 0
            let bytes = part.bytes
            let isSubscription = isShort && watched.take(bytes)
            received.append(
                (
                    part,
                    isSubscription
                        ? .init(topic: Array(bytes.dropFirst()), isWanted: bytes.first == 1) : nil
                ))
        }
        // After the messages: the connection of each was announced before.
        try remote?.follow(received, isCrowded: budget.isCrowded(held.count))
        return watched != before
    }

    func publish(_ placed: PlacedSamples) throws(MessagingError) {
        let source = placed.source.source
        // Local and remote subscriptions are independent.
        guard remote == nil || watched.includes(source) else { return }
        let number = numbers[source, default: 0] + 1
        numbers[source] = number
        let samples = FeedSamples(
            session: placed.source.session,
            zeroUTCNanoseconds: placed.sessionZero.nanoseconds, source: source, number: number,
            formats: placed.formats, boundNanoseconds: placed.boundNanoseconds,
            arrivedNanoseconds: placed.arrivedNanoseconds,
            runs: placed.piece.runs.map { run in
                FeedSamples.Run(
                    track: run.track, firstSequence: run.firstSequence,
                    samples: run.samples.map {
                        FeedSamples.Sample(
                            sizeBytes: $0.sizeBytes, dts: $0.dts, pts: $0.pts,
                            duration: $0.duration, flags: $0.flags)
                    })
            })
        let header = FeedMessage.samples(samples).encoded()
        guard
            budget.admits(
                source, sizeBytes: header.count + placed.piece.range.count,
                beginsDecodable: placed.beginsDecodable, besides: held.count)
        else { return }
        let (payload, range) = (placed.piece.payload, placed.piece.range)
        // Slicing checks its bounds in debug builds only.
        precondition(range.lowerBound >= 0 && range.upperBound <= payload.memory.count)
        let bytes = UnsafeRawBufferPointer(rebasing: payload.memory[range])
        _ = try socket.send(
            .bytes(FeedTopic.source(source)), .counted(SharedBytes(header), held),
            .kept(bytes, by: payload, held))
        sentMessages += 1
    }

    func publish(_ event: EventDocument) throws {
        try reportLostEvents()
        guard !hasLostEvents, try send(event) else {
            hasLostEvents = true
            return
        }
    }

    /// Notifies subscribers of lost events, as soon as there is room.
    func reportLostEvents() throws {
        if hasLostEvents, try send(.lost("")) { hasLostEvents = false }
    }

    private func send(_ event: EventDocument) throws -> Bool {
        try send(FeedMessage.event(try event.encoded()), on: FeedTopic.events)
    }

    /// - Returns: false: the queue is full.
    private func send(_ message: FeedMessage, on topic: [UInt8]) throws(MessagingError) -> Bool {
        let bytes = message.encoded()
        guard budget.hasRoom(for: bytes.count, besides: held.count) else { return false }
        _ = try socket.send(.bytes(topic), .counted(SharedBytes(bytes), held))
        sentMessages += 1
        return true
    }

    /// Publishes the status, if there are subscribers to it.
    func publish(_ json: () throws -> [UInt8]) throws {
        guard watched.wants(FeedTopic.status) else { return }
        // A lost status is superseded by the next one in a second.
        _ = try send(FeedMessage.status(try json()), on: FeedTopic.status)
    }
}
