import Logging
import Messaging
import Operations
import Wire

/// Follows the connections of the collector's socket from the moment they are accepted, and ends those that only cost. Belongs to
/// the receiving thread.
struct Entrance: ~Copyable {
    /// Connections at once: the agents that the protocol allows, with two each, and some that come and go.
    private static let maximumConnections = 2 * 4_096 + 512
    /// Connections take this part of the descriptors at most: the rest is for files.
    private static let shareOfDescriptors = 0.5

    private let monitor: ConnectionMonitor
    private var doorkeeper: Doorkeeper<PeerSocket?>
    private var gate = LogGate()
    private var nextLook: Int64 = 0
    /// A greeting has failed; which connection's it was says the end of that connection, which comes next.
    private var failure: HandshakeFailure?
    private let tally: RefusalTally
    private let logger: Logger

    init(
        of socket: borrowing Socket, in context: Context, tally: RefusalTally, logger: Logger
    ) throws(MessagingError) {
        self.tally = tally
        monitor = try ConnectionMonitor(of: socket, in: context)
        self.logger = logger
        let descriptors = DescriptorLimit.raise(to: 4 * Self.maximumConnections)
        doorkeeper = Doorkeeper(
            maximumConnections: min(
                Self.maximumConnections, Int(Double(descriptors) * Self.shareOfDescriptors)))
    }

    func watch(with poller: inout Poller) -> Poller.Token { poller.add(monitor) }

    /// A connection has said something.
    mutating func heard(_ descriptor: Int32) { doorkeeper.spoke(descriptor) }

    /// Takes note of what has happened.
    mutating func follow() throws(MessagingError) {
        let now = Instant.now().monotonic
        while let event = try monitor.nextEvent() {
            switch event {
            case .accepted(_, let descriptor):
                let socket = PeerSocket(descriptor: descriptor)
                let address = socket?.address ?? "an address that is gone"
                let reason = doorkeeper.accepted(descriptor, socket, from: address, now: now)
                guard let reason else { continue }
                socket?.shutDown()
                tally.add(.tooMany)
                warn(address, "refused a connection: \(reason)", now: now)
            case .handshakeFailed(_, let failure):
                self.failure = failure
            case .disconnected(_, let descriptor):
                left(descriptor, now: now)
            case .connected, .ready, .retrying, .other:
                continue
            }
        }
    }

    /// Ends connections that have said nothing for too long.
    mutating func cutOff(now: Int64) {
        guard now >= nextLook else { return }
        nextLook = now + 1_000_000_000
        for (socket, address) in doorkeeper.overdue(now: now) {
            socket?.shutDown()
            tally.add(.silent)
            warn(address, "cut off a connection that said nothing", now: now)
        }
    }

    private mutating func left(_ descriptor: Int32, now: Int64) {
        let guest = doorkeeper.closed(descriptor)
        defer { failure = nil }
        guard let guest, guest.wasSilent else { return }
        switch failure {
        case .refused:
            // Whoever refused it has said so.
            break
        case .securityMismatch:
            tally.add(.securityMismatch)
            warn(
                guest.address, "refused: it came without keys, or with keys where none are used",
                now: now)
        case .wrongKey:
            tally.add(.wrongCollectorKey)
            warn(guest.address, "refused: it expects another collector's key", now: now)
        case .brokenOff, .protocolError, nil:
            tally.add(.brokenOff)
            warn(
                guest.address, "a connection ended before it said anything as an agent does",
                now: now)
        }
    }

    private mutating func warn(_ address: String, _ text: String, now: Int64) {
        guard let before = gate.pass(address, now: now) else { return }
        let more = before > 0 ? " (and \(before) like it before)" : ""
        logger.warning("\(text)\(more)", metadata: ["address": "\(address)"])
    }
}
