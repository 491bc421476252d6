import Archive
import Glibc
import Logging
import Media
import Messaging
import Wire

/// Publishes what comes in to whoever watches live: media without a copy, from the messages that agents have sent. Owned by the
/// receiving thread.
///
/// Sending never waits. A subscriber that does not keep up loses messages, and sees it by their numbers. What waits for all of them is
/// bounded by ``FeedBudget``: past that, samples are left out for all. Viewers on other machines have a publisher of their own, so that
/// their networks delay nobody on this one.
final class FeedPublisher {
    /// Messages that wait for one subscriber: three seconds of 64 sources.
    private static let queuedMessages: Int32 = 2_000
    /// Longest subscription that is looked at; a source's name has 64 bytes.
    private static let maximumTopicBytes = 128
    /// Subscriptions in one turn, ten of which are a second: a viewer that asks without end takes nobody else's time, and what
    /// ``WatcherConnections`` lets all of them send does not pile up.
    private static let subscriptionsPerTurn = 1_024
    /// A viewer elsewhere that reads nothing for so long is disconnected.
    private static let unreadMilliseconds: Int32 = 10_000
    /// CURVE's largest command of a handshake is INITIATE, of 300 bytes (RFC 26 of ZeroMQ).
    private static let maximumHandshakeBytes = 1_024

    private let socket: Socket
    /// Of viewers on other machines; nil: the socket is a file.
    private let entrance: FeedEntrance?
    private(set) var watched = WatchedSources()
    /// Of the last message of each source.
    private var numbers: [String: UInt64] = [:]
    /// Messages sent since the start.
    private(set) var sentMessages: UInt64 = 0
    /// Of messages that wait for a subscriber.
    private let held = HeldBytes()
    private var budget: FeedBudget
    /// Events were left out, and subscribers do not know it yet.
    private var hasLostEvents = false

    /// - Parameters:
    ///   - path: of the Unix socket, which the collector's user and group may open.
    ///   - context: one without an authenticator, which would be asked about subscribers.
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
        entrance = nil
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
        entrance = try FeedEntrance(
            of: socket, in: context, authenticator: authenticator, counters: counters,
            logger: logger)
        try socket.bind(endpoint)
        self.socket = socket
    }

    /// The endpoint that it listens on, with the actual port.
    func endpoint() throws(MessagingError) -> String {
        PeerAddress.withoutMapping(try socket.lastEndpoint())
    }

    /// Who receives it, for the log.
    var audience: String {
        entrance == nil ? "viewers on this machine" : "viewers on other machines"
    }

    /// What waits for subscribers, and is kept in memory for them.
    var heldBytes: Int { held.count }

    /// Somebody has subscribed to media, which is not to wait.
    var isWatched: Bool { watched.wantsMedia }

    /// Takes in who wants what, and closes connections that exceed their limits.
    /// - Returns: whether anything has changed.
    func followSubscriptions() throws(MessagingError) -> Bool {
        let before = watched
        var heard: [FeedEntrance.Heard] = []
        for _ in 0..<Self.subscriptionsPerTurn {
            guard let message = try socket.receive(maximumParts: 1) else { break }
            guard let part = message.parts.first else { continue }
            let isShort = part.count <= Self.maximumTopicBytes && message.droppedParts == 0
            let bytes = part.bytes
            let isSubscription = isShort && watched.take(bytes)
            heard.append(
                (
                    part,
                    isSubscription
                        ? .init(topic: Array(bytes.dropFirst()), isWanted: bytes.first == 1) : nil
                ))
        }
        // After the messages: each of their connections has been announced before.
        try entrance?.follow(heard, isCrowded: budget.isCrowded(held.count))
        return watched != before
    }

    /// Publishes samples.
    func publish(_ placed: PlacedSamples) throws(MessagingError) {
        let source = placed.source.source
        // Those on this machine may watch what nobody elsewhere watches, and the other way round.
        guard entrance == nil || watched.includes(source) else { return }
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
        // Slicing checks its bounds in debug builds alone.
        precondition(range.lowerBound >= 0 && range.upperBound <= payload.memory.count)
        let bytes = UnsafeRawBufferPointer(rebasing: payload.memory[range])
        _ = try socket.send(
            .bytes(FeedTopic.source(source)), .counted(SharedBytes(header), held),
            .kept(bytes, by: payload, held))
        sentMessages += 1
    }

    /// Publishes what has happened to recordings.
    func publish(_ event: EventDocument) throws {
        try tellOfLostEvents()
        guard !hasLostEvents, try send(event) else {
            hasLostEvents = true
            return
        }
    }

    /// Says that events were left out, as soon as there is room to say it.
    func tellOfLostEvents() throws {
        if hasLostEvents, try send(.lost("")) { hasLostEvents = false }
    }

    private func send(_ event: EventDocument) throws -> Bool {
        try send(FeedMessage.event(try event.encoded()), on: FeedTopic.events)
    }

    /// - Returns: false: there is no room for it.
    private func send(_ message: FeedMessage, on topic: [UInt8]) throws(MessagingError) -> Bool {
        let bytes = message.encoded()
        guard budget.hasRoom(for: bytes.count, besides: held.count) else { return false }
        _ = try socket.send(.bytes(topic), .counted(SharedBytes(bytes), held))
        sentMessages += 1
        return true
    }

    /// Publishes the status, if anybody wants it.
    func publish(_ json: () throws -> [UInt8]) throws {
        guard watched.wants(FeedTopic.status) else { return }
        // The next one says the same, and comes in a second.
        _ = try send(FeedMessage.status(try json()), on: FeedTopic.status)
    }
}
