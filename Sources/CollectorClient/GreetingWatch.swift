package import Messaging

/// Distinguishes a collector that hangs from one that is not running: the kernel accepts connections for it, but there is no ZMTP
/// greeting.
///
/// libzmq ends such a connection after its handshake timeout, with the same event as for a peer that aborted the handshake; only
/// the elapsed time distinguishes the two.
package struct GreetingWatch: Hashable, Sendable {
    /// A collector sends its greeting as soon as TCP is connected: without one after this time, it hangs.
    private static let patienceNanoseconds: Int64 = 5_000_000_000

    /// When TCP was connected, while there is no greeting.
    private var since: Int64?
    /// There was no greeting on the previous connection.
    private var wasUnanswered = false

    package init() {}

    /// Processes a connection event.
    /// - Returns: whether the handshake timeout ended the connection. Then the keys are not the reason.
    package mutating func follow(_ event: ConnectionEvent, now: Int64) -> Bool {
        switch event {
        case .connected:
            since = now
        case .ready:
            since = nil
            wasUnanswered = false
        case .handshakeFailed(_, .brokenOff) where isOverdue(now: now):
            wasUnanswered = true
            return true
        case .handshakeFailed:
            wasUnanswered = false
        case .retrying:
            // Two retries without a connection in between: nothing is listening.
            if since == nil { wasUnanswered = false }
            since = nil
        case .accepted, .disconnected, .other:
            break
        }
        return false
    }

    /// The reason why the collector does not respond, if it is this one.
    package func trouble(of endpoint: String, now: Int64) -> String? {
        wasUnanswered || isOverdue(now: now)
            ? "the collector at \(endpoint) accepts connections but does not answer" : nil
    }

    private func isOverdue(now: Int64) -> Bool {
        since.map { now - $0 >= Self.patienceNanoseconds } ?? false
    }
}
