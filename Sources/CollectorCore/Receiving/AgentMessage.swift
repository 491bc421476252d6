import Archive
import Glibc
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
    /// Parts that no message of the protocol has.
    var extraParts: Int
    /// The collector's monotonic clock when it was taken in.
    var arrivedNanoseconds: Int64

    /// The answer, if this is a clock probe.
    func clockReply() -> [UInt8]? {
        header.withUnsafeBytes { bytes in
            ClockReply.bytes(answering: bytes, receivedAt: arrivedNanoseconds) {
                Instant.nanoseconds(CLOCK_MONOTONIC)
            }
        }
    }
}

/// Messages that have arrived and wait for the collector's next turn.
///
/// To do everything that a message asks for as soon as it comes would cost several times as much: with messages that come one by one,
/// each finds cold caches. So what need not be answered at once waits for the next tick, and is done together.
struct Inbox {
    /// What has happened, in its order.
    enum Event {
        case message(AgentMessage)
        /// A connection is gone.
        case gone(PeerID)
    }

    /// A quarter of one source's credit window: no agent waits for credit because of the wait here.
    private static let urgentBytes = 2 << 20
    private static let urgentMessages = 1_024

    private var events: [Event] = []
    private var sizeBytes = 0
    private var hasUrgent = false

    /// Whether enough waits: what has not been taken in stays with libzmq, which makes its sender wait.
    var isLarge: Bool { sizeBytes >= Self.urgentBytes }
    /// Whether something waits that should not.
    var isUrgent: Bool {
        hasUrgent || sizeBytes >= Self.urgentBytes || events.count >= Self.urgentMessages
    }

    mutating func append(_ message: AgentMessage) {
        sizeBytes += message.payload?.count ?? 0
        if !message.header.withUnsafeBytes(WireMessage.mayWait) { hasUrgent = true }
        events.append(.message(message))
    }

    mutating func appendGone(_ peer: PeerID) {
        events.append(.gone(peer))
    }

    /// What waits, in its order.
    mutating func take() -> [Event] {
        defer {
            events.removeAll(keepingCapacity: true)
            sizeBytes = 0
            hasUrgent = false
        }
        return events
    }
}
