import Logging
import Media
import Messaging
import Operations
import Trust
import Wire

/// Tracks the connections of viewers on other machines from the moment they are accepted, and closes those that exceed
/// the limits of ``WatcherConnections``. Owned by the receiving thread.
final class FeedConnections {
    private let monitor: ConnectionMonitor
    /// `nil` if keys are not in use.
    private let authenticator: KeyAuthenticator?
    private var connections = WatcherConnections<PeerSocket>()
    private var gate = LogRateLimit()
    private let counters: RefusalCounters
    private let logger: Logger

    /// - Parameter socket: not bound yet.
    init(
        of socket: borrowing Socket, in context: Context, authenticator: KeyAuthenticator?,
        counters: RefusalCounters, logger: Logger
    ) throws(MessagingError) {
        monitor = try ConnectionMonitor(of: socket, in: context)
        self.authenticator = authenticator
        self.counters = counters
        self.logger = logger
    }

    /// A message of a connection, with the change of a subscription if it is one.
    typealias Received = (part: ReceivedPart, change: WatcherConnections<PeerSocket>.Change?)

    /// Processes connection events and messages since the last call; called ten times a second.
    /// - Parameter isCrowded: whether the queue is so full that the slowest viewer should be closed.
    func follow(_ received: [Received], isCrowded: Bool) throws(MessagingError) {
        let now = SystemClock.monotonic.nowNanoseconds
        while let event = try monitor.nextEvent() { take(event, now: now) }
        for (part, change) in received {
            // libzmq reports the subscriptions that end with a connection as messages without a connection.
            guard let descriptor = part.descriptor,
                let address = connections[descriptor]?.address, PeerAddress.of(part) == address
            else { continue }
            let key = authenticator == nil ? nil : part.metadata("User-Id") ?? ""
            end(connections.sent(descriptor, key: key, change, now: now), now: now)
        }
        var taken: [Int32: Int] = [:]
        for (descriptor, _) in connections.connections {
            guard let progress = TransportProgress(of: descriptor) else { continue }
            taken[descriptor] = progress.acknowledgedBytes
            end(connections.read(descriptor, total: progress.readBytes, now: now), now: now)
        }
        end(connections.taken(taken, isCrowded: isCrowded, now: now), now: now)
        for ending in connections.overdue(now: now) { end(ending, now: now) }
        followKeys(now: now)
    }

    private func take(_ event: ConnectionEvent, now: Int64) {
        switch event {
        case .accepted(_, let descriptor):
            guard let socket = PeerSocket(descriptor: descriptor) else { return }
            end(
                connections.accepted(descriptor, socket, from: socket.origin, now: now), now: now)
        case .disconnected(_, let descriptor): connections.closed(descriptor)
        case .handshakeFailed(_, .securityMismatch): counters.add(.securityMismatch)
        case .handshakeFailed(_, .wrongKey): counters.add(.wrongCollectorKey)
        case .handshakeFailed, .connected, .ready, .retrying, .other: return
        }
    }

    /// Ends connections whose keys may not watch; a key may have lost the right between the handshake and the first
    /// message.
    private func followKeys(now: Int64) {
        guard let authenticator, connections.hasNewWatcher() || authenticator.hasChanged() else {
            return
        }
        for ending in connections.disallowed(authenticator.mayWatch) { end(ending, now: now) }
    }

    private func end(_ ending: WatcherConnections<PeerSocket>.Ending?, now: Int64) {
        guard let ending else { return }
        ending.connection.abort()
        switch ending.reason {
        case .full, .silentOfOrigin, .connectionsOfKey: counters.add(.tooMany)
        case .silent: counters.add(.silent)
        case .notAllowed: counters.add(.revokedKey)
        case .topics, .subscriptions, .notASubscription, .tooMuch, .doesNotRead:
            counters.add(.flood)
        }
        let address = ending.connection.address
        guard let before = gate.pass(address, now: now) else { return }
        let more = before > 0 ? " (and \(before) similar events before)" : ""
        logger.warning("\(ending.reason)\(more)", metadata: ["address": "\(address)"])
    }
}
