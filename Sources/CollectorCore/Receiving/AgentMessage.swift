import Archive
import Glibc
import Media
import Messaging
import Wire

extension ReceivedPart: MediaPayload {
    package var memory: UnsafeRawBufferPointer { withUnsafeBytes { $0 } }
}

/// A message from an agent: its header, and the payload if it has one.
struct AgentMessage {
    var sender: Peer
    var header: ReceivedPart
    var payload: ReceivedPart?
    /// Parts in excess of the protocol's maximum.
    var extraParts: Int
    /// Arrival, on the collector's monotonic clock.
    var arrivedNanoseconds: Int64

    /// The messages it consists of: itself, or one per record (`proto/README.md`, "Several records in one message").
    ///
    /// Each is then processed as if it had arrived alone, at the same time: credit, numbers, budgets and duplicates do
    /// not depend on the batch.
    /// - Parameter received: the parts it was made of.
    func records(in received: ReceivedMessage) -> [AgentMessage] {
        guard received.hasSeveralRecords else { return [self] }
        return stride(from: 1, to: received.parts.count, by: 2).map { place in
            AgentMessage(
                sender: sender, header: received.parts[place],
                payload: received.parts[place + 1], extraParts: 0,
                arrivedNanoseconds: arrivedNanoseconds)
        }
    }

    /// The answer, if this is a clock probe.
    /// - Parameters:
    ///   - releaseSeconds: ``ClockReply/releaseSeconds``.
    ///   - clock: ``ClockReply/clock``.
    func clockReply(releaseSeconds: UInt32, clock: EpochID?) -> [UInt8]? {
        header.withUnsafeBytes { bytes in
            ClockReply.bytes(
                answering: bytes, receivedAt: arrivedNanoseconds, releaseSeconds: releaseSeconds,
                clock: clock
            ) { SystemClock.monotonic.nowNanoseconds }
        }
    }
}

extension ReceivedMessage {
    /// Whether it consists of several records: only headers of samples, each followed by a payload. Anything else is
    /// one message with too many parts.
    var hasSeveralRecords: Bool {
        // The first part is the identity that a ROUTER adds.
        guard parts.count > 3, parts.count % 2 == 1, droppedParts == 0 else { return false }
        return stride(from: 1, to: parts.count, by: 2).allSatisfy {
            parts[$0].withUnsafeBytes(WireMessage.maySample)
        }
    }
}

/// Received messages that wait for the collector's next turn.
///
/// Processing each message completely on arrival would cost several times as much, because of cold caches. So messages
/// that need no immediate answer wait for the next batch (``CollectorLoop/isBatchDue``), and are processed together.
struct Inbox {
    enum Event {
        case message(AgentMessage)
        /// A connection has closed.
        case gone(PeerID)
    }

    /// Half a second of 64 sources at 4 Mbit/s. Credit bounds the queued bytes; this bounds the time to process them.
    private static let urgentBytes = 16 << 20
    private static let urgentMessages = 1_024
    /// Per connection: a quarter of a source's largest credit window.
    private static let urgentBytesOfPeer = 2 << 20

    private var events: [Event] = []
    private var sizeBytes = 0
    private var hasUrgent = false
    /// Distinguishes the bytes that a peer has queued now from earlier ones.
    private var turn: UInt64 = 0
    /// Arrival of the oldest queued message; nil: none is queued.
    private(set) var oldestNanoseconds: Int64?

    /// Connections whose queued bytes are so many that their credit may not last until the next batch, since the last check.
    private var crowded: [Peer] = []
    /// The number of queued bytes of one connection from which that is possible.
    var roomOfPeer = Self.urgentBytesOfPeer
    /// Connections whose messages should not wait: their sources are watched live.
    var watchedPeers: Set<PeerID> = []

    /// Whether the queue is full. Further messages stay with libzmq, which makes their sender wait. Also bounds the
    /// messages received during a tick: processing records takes longer than receiving them.
    var isLarge: Bool { sizeBytes >= Self.urgentBytes || events.count >= Self.urgentMessages }
    /// Whether a queued event should not wait.
    var isUrgent: Bool {
        hasUrgent || isLarge
    }

    mutating func append(_ message: AgentMessage) {
        // A header may have a quarter of a megabyte.
        let size = message.header.count + (message.payload?.count ?? 0)
        sizeBytes += size
        let queued = message.sender.queue(size, turn: turn)
        if queued >= Self.urgentBytesOfPeer {
            hasUrgent = true
        } else if queued >= roomOfPeer, crowded.last !== message.sender {
            crowded.append(message.sender)
        }
        oldestNanoseconds = oldestNanoseconds ?? message.arrivedNanoseconds
        if watchedPeers.contains(message.sender.id)
            || !message.header.withUnsafeBytes(WireMessage.mayWait)
        {
            hasUrgent = true
        }
        events.append(.message(message))
    }

    /// A connection has closed. Its earlier messages are processed first.
    mutating func appendGone(_ peer: PeerID) {
        hasUrgent = true
        events.append(.gone(peer))
    }

    /// Checks the credit of connections with many queued bytes.
    /// - Parameter isShort: whether the credit of one of them does not last until the next batch.
    mutating func checkCredit(isShort: (Peer) -> Bool) {
        guard !crowded.isEmpty else { return }
        if !hasUrgent, crowded.contains(where: isShort) { hasUrgent = true }
        crowded.removeAll(keepingCapacity: true)
    }

    /// The queued events, in order.
    mutating func take() -> [Event] {
        defer {
            events.removeAll(keepingCapacity: true)
            crowded.removeAll(keepingCapacity: true)
            sizeBytes = 0
            hasUrgent = false
            oldestNanoseconds = nil
            turn += 1
        }
        return events
    }
}
