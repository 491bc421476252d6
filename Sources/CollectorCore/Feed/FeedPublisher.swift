import Archive
import Glibc
import Media
import Messaging
import Wire

/// Publishes what comes in to whoever watches live: media without a copy, from the messages that agents have sent. Owned by the
/// receiving thread.
///
/// Sending never waits. A subscriber that does not keep up loses messages, and sees it by their numbers.
final class FeedPublisher {
    /// Messages that wait for one subscriber: three seconds of 64 sources. They keep their media in memory.
    private static let queuedMessages: Int32 = 2_000
    /// Longest subscription that is looked at; a source's name has 64 bytes.
    private static let maximumTopicBytes = 128
    /// Subscriptions in one turn: a subscriber that asks without end takes nobody else's time.
    private static let subscriptionsPerTurn = 64

    private let socket: Socket
    private(set) var watched = WatchedSources()
    /// Of the last message of each source.
    private var numbers: [String: UInt64] = [:]
    /// Messages sent since the start.
    private(set) var sentMessages: UInt64 = 0

    /// - Parameters:
    ///   - path: of the Unix socket, which the collector's user and group may open.
    ///   - context: one without an authenticator, which would be asked about subscribers.
    init(path: String, in context: Context) throws(MessagingError) {
        var options = SocketOptions()
        options.sendQueue = Self.queuedMessages
        options.maximumPartBytes = Int64(Self.maximumTopicBytes)
        let socket = try Socket(.publisher, in: context, options: options)
        let mask = umask(0o117)
        defer { umask(mask) }
        try socket.bind("ipc://\(path)")
        self.socket = socket
    }

    /// Somebody has subscribed to media, which is not to wait.
    var isWatched: Bool { watched.wantsMedia }

    /// Takes in who wants what.
    /// - Returns: whether anything has changed.
    func followSubscriptions() throws(MessagingError) -> Bool {
        let before = watched
        for _ in 0..<Self.subscriptionsPerTurn {
            guard let message = try socket.receive(maximumParts: 1) else { break }
            if let part = message.parts.first { _ = watched.take(part.bytes) }
        }
        return watched != before
    }

    /// Publishes samples.
    func publish(_ placed: PlacedSamples<ReceivedPart>) throws(MessagingError) {
        let source = placed.source.source
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
        _ = try socket.send(
            .bytes(FeedTopic.source(source)), .bytes(FeedMessage.samples(samples).encoded()),
            .received(placed.piece.payload, placed.piece.range))
        sentMessages += 1
    }

    /// Publishes what has happened to recordings.
    func publish(_ event: EventDocument) throws {
        _ = try socket.send(
            .bytes(FeedTopic.events), .bytes(FeedMessage.event(try event.encoded()).encoded()))
        sentMessages += 1
    }

    /// Publishes the status, if anybody wants it.
    func publish(_ json: () throws -> [UInt8]) throws {
        guard watched.wants(FeedTopic.status) else { return }
        _ = try socket.send(
            .bytes(FeedTopic.status), .bytes(FeedMessage.status(try json()).encoded()))
        sentMessages += 1
    }
}
