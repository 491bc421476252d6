import Operations
import Synchronization

/// Connections that were refused, counted by the threads that refuse them.
final class RefusalCounters: Sendable {
    private struct State: Sendable {
        var counts: [ConnectionRefusal: UInt64] = [:]
        var shutReason: String?
    }

    private let state = Mutex(State())

    init() {}

    func add(_ refusal: ConnectionRefusal) {
        state.withLock { $0.counts[refusal, default: 0] += 1 }
    }

    var counts: [ConnectionRefusal: UInt64] { state.withLock { $0.counts } }

    /// Authentication has ended: no agent can be admitted any more.
    func shut(_ reason: String) {
        state.withLock { $0.shutReason = $0.shutReason ?? reason }
    }

    /// Why no agent can be admitted any more; nil: agents can be admitted.
    var shutReason: String? { state.withLock { $0.shutReason } }
}
