import Logging
import Messaging
import Operations
import Wire

/// Tracks the connections of the collector's socket from the moment they are accepted, and closes those that exceed the limits.
/// Belongs to the receiving thread.
struct ConnectionTracker: ~Copyable {
    /// Connections of a key per source that it may write: an agent has two.
    private static let connectionsPerSource = 2
    /// Additional connections per key: after a reconnect, the old connections end after the new ones begin.
    private static let spareConnectionsPerKey = 8
    /// Sources assumed for a name pattern with `*`: all boxes of a studio behind one key, or of a benchmark.
    private static let sourcesPerPattern = 1_024

    private let monitor: ConnectionMonitor
    private var limits: ConnectionLimits<PeerSocket?>
    private let watch: IntakeWatch
    private var gate = LogRateLimit()
    private var nextLook: Int64 = 0
    /// A handshake has failed. The disconnect event that follows identifies the connection.
    private var failure: HandshakeFailure?
    private let counters: RefusalCounters
    private let logger: Logger

    /// - Parameter watch: is notified of every connection.
    init(
        of socket: borrowing Socket, in context: Context, counters: RefusalCounters,
        watch: IntakeWatch,
        logger: Logger
    ) throws(MessagingError) {
        self.counters = counters
        self.watch = watch
        monitor = try ConnectionMonitor(of: socket, in: context)
        self.logger = logger
        limits = ConnectionLimits(maximumConnections: DescriptorBudget().connections)
    }

    func watch(with poller: inout Poller) -> Poller.Token { poller.add(monitor) }

    mutating func heard(_ descriptor: Int32, now: Int64) { limits.spoke(descriptor, now: now) }

    mutating func askedForTime(_ descriptor: Int32, now: Int64) {
        let (isNew, ending) = limits.askedForTime(descriptor, now: now)
        if isNew { watch.settled(descriptor) }
        end(ending, now: now)
    }

    mutating func welcomed(_ descriptor: Int32, now: Int64) {
        end(limits.welcomed(descriptor), now: now)
        watch.settled(descriptor)
    }

    /// A connection has authenticated with a key, which has this right.
    mutating func proved(_ descriptor: Int32, key: String, right: WritingRight, now: Int64) {
        let sources = right.sources.reduce(0) { $0 + ($1.isWhole ? 1 : Self.sourcesPerPattern) }
        let limit = Self.connectionsPerSource * sources + Self.spareConnectionsPerKey
        end(limits.proved(descriptor, key: key, limit: limit), now: now)
    }

    /// Processes pending connection events.
    /// - Parameter most: maximum number of events; the next call continues.
    mutating func follow(atMost most: Int = .max) throws(MessagingError) {
        let now = Instant.now().monotonic
        var count = 0
        while count < most, let event = try monitor.nextEvent() {
            count += 1
            switch event {
            case .accepted(_, let descriptor):
                let socket = PeerSocket(descriptor: descriptor)
                let address = socket?.address ?? "unknown address"
                if let socket { watch.add(ConnectionByteCounts(socket)) }
                end(
                    limits.accepted(
                        descriptor, socket, from: address, origin: socket?.origin ?? address,
                        now: now), now: now)
            case .handshakeFailed(_, let failure):
                self.failure = failure
            case .disconnected(_, let descriptor):
                left(descriptor, now: now)
            case .connected, .ready, .retrying, .other:
                continue
            }
        }
    }

    /// Closes connections whose deadline has passed.
    mutating func cutOff(now: Int64) {
        guard now >= nextLook else { return }
        nextLook = now + 1_000_000_000
        for ending in limits.overdue(now: now) { end(ending, now: now) }
    }

    /// A connection has exceeded its limits, and was closed.
    mutating func overflowed(_ address: String, _ text: String, now: Int64) {
        counters.add(.flood)
        warn(address, text, now: now)
    }

    private mutating func end(_ ending: ConnectionLimits<PeerSocket?>.Ending?, now: Int64) {
        guard let ending else { return }
        ending.connection?.shutDown()
        counters.add(ending.reason.isCapacity ? .tooMany : .silent)
        warn(ending.address, "\(ending.reason)", now: now)
    }

    private mutating func left(_ descriptor: Int32, now: Int64) {
        let wasCut = watch.remove(descriptor)
        let sender = limits.closed(descriptor)
        defer { failure = nil }
        // The thread that closed it has logged it.
        guard let sender, sender.wasSilent, !wasCut else { return }
        switch failure {
        case .refused:
            // The thread that refused it has logged it.
            break
        case .securityMismatch:
            counters.add(.securityMismatch)
            warn(
                sender.address, "refused: encryption mismatch (only one side uses keys)",
                now: now)
        case .wrongKey:
            counters.add(.wrongCollectorKey)
            warn(sender.address, "refused: it expects a different collector key", now: now)
        case .brokenOff, .protocolError, nil:
            counters.add(.brokenOff)
            warn(
                sender.address, "a connection closed before it sent a message of the protocol",
                now: now)
        }
    }

    private mutating func warn(_ address: String, _ text: String, now: Int64) {
        guard let before = gate.pass(address, now: now) else { return }
        let more = before > 0 ? " (and \(before) similar events before)" : ""
        logger.warning("\(text)\(more)", metadata: ["address": "\(address)"])
    }
}
