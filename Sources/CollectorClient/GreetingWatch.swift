package import Messaging

/// Tells a collector that hangs from one that is away: the kernel accepts connections for it, and nobody greets.
///
/// libzmq ends such a connection after its own time, with the event of a peer that broke the greeting off; only how long that took
/// shows that it did not.
package struct GreetingWatch: Hashable, Sendable {
    /// A collector greets as soon as TCP is connected: one that has not done so by then hangs.
    private static let patienceNanoseconds: Int64 = 5_000_000_000

    /// When TCP was connected, while nobody has greeted.
    private var since: Int64?
    /// Nobody greeted on the connection before.
    private var wasUnanswered = false

    package init() {}

    /// Takes note of what happened to the connection.
    /// - Returns: whether it was the end of a greeting's time, which says nothing about keys.
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
            // Twice without a connection between them: nobody is there.
            if since == nil { wasUnanswered = false }
            since = nil
        case .accepted, .disconnected, .other:
            break
        }
        return false
    }

    /// Why nothing is heard of the collector, as far as this is it.
    package func trouble(of endpoint: String, now: Int64) -> String? {
        wasUnanswered || isOverdue(now: now)
            ? "the collector at \(endpoint) accepts connections but does not answer" : nil
    }

    private func isOverdue(now: Int64) -> Bool {
        since.map { now - $0 >= Self.patienceNanoseconds } ?? false
    }
}
