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
    /// Who sent it.
    var sender: Peer
    var header: ReceivedPart
    var payload: ReceivedPart?
    /// Parts beyond those of any message of the protocol.
    var extraParts: Int
    /// The collector's monotonic clock when it was received.
    var arrivedNanoseconds: Int64

    /// The messages of which it consists: itself, or one for each of its records (`proto/README.md`, "Several records in one message").
    ///
    /// From here on they are judged as if each had come alone, at the same time: credit, numbers, budgets and duplicates do not
    /// depend on what a record travelled with.
    /// - Parameter received: what it was made of.
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
    /// - Parameter releaseSeconds: ``ClockReply/releaseSeconds``.
    func clockReply(releaseSeconds: UInt32) -> [UInt8]? {
        header.withUnsafeBytes { bytes in
            ClockReply.bytes(
                answering: bytes, receivedAt: arrivedNanoseconds, releaseSeconds: releaseSeconds
            ) { SystemClock.monotonic.nowNanoseconds }
        }
    }
}

extension ReceivedMessage {
    /// Whether it consists of several records: nothing but headers of samples, each followed by a payload. Anything else is one
    /// message, with more parts than it may have.
    var hasSeveralRecords: Bool {
        // The first part is the identity that a ROUTER adds.
        guard parts.count > 3, parts.count % 2 == 1, droppedParts == 0 else { return false }
        return stride(from: 1, to: parts.count, by: 2).allSatisfy {
            parts[$0].withUnsafeBytes(WireMessage.maySample)
        }
    }
}

/// Messages that have arrived and wait for the collector's next turn.
///
/// Processing each message completely on arrival would cost several times as much: each message that comes alone finds cold
/// caches. So messages that need no immediate answer wait for the next batch (``CollectorLoop/isBatchDue``), and are processed together.
struct Inbox {
    /// What has happened, in order.
    enum Event {
        case message(AgentMessage)
        /// A connection has closed.
        case gone(PeerID)
    }

    /// Half a second of 64 sources at 4 Mbit/s. Credit bounds what may be queued; this bounds how long it takes to process it.
    private static let urgentBytes = 16 << 20
    private static let urgentMessages = 1_024
    /// Of one connection: a quarter of a source's largest credit window.
    private static let urgentBytesOfPeer = 2 << 20

    private var events: [Event] = []
    private var sizeBytes = 0
    private var hasUrgent = false
    /// Distinguishes what a peer has queued now from what it had queued before.
    private var turn: UInt64 = 0
    /// When the oldest queued message arrived; nil: none is queued.
    private(set) var oldestNanoseconds: Int64?

    /// Connections that have queued so much that their credit may not last until the next batch, since they were last looked at.
    private var crowded: [Peer] = []
    /// From how many queued bytes of one connection on that is possible.
    var roomOfPeer = Self.urgentBytesOfPeer
    /// Connections whose messages should not wait: their sources are watched live.
    var watchedPeers: Set<PeerID> = []

    /// Whether enough is queued: messages that have not been taken in stay with libzmq, which makes their sender wait.
    /// Also bounds what is taken in while a tick's records are worked on, which takes longer than taking them in.
    var isLarge: Bool { sizeBytes >= Self.urgentBytes || events.count >= Self.urgentMessages }
    /// Whether something is queued that should not wait.
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

    /// A connection has closed. What it has sent before is processed before that.
    mutating func appendGone(_ peer: PeerID) {
        hasUrgent = true
        events.append(.gone(peer))
    }

    /// Looks at the connections that have queued much.
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
