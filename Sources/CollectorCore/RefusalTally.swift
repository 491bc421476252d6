import Operations
import Synchronization

/// Connections that were refused, counted by the threads that refuse them.
final class RefusalTally: Sendable {
    private struct State: Sendable {
        var counts: [ConnectionRefusal: UInt64] = [:]
        var isShut = false
    }

    private let state = Mutex(State())

    init() {}

    func add(_ refusal: ConnectionRefusal) {
        state.withLock { $0.counts[refusal, default: 0] += 1 }
    }

    var counts: [ConnectionRefusal: UInt64] { state.withLock { $0.counts } }

    /// Nobody answers any more who may come in.
    func shut() { state.withLock { $0.isShut = true } }

    var isShut: Bool { state.withLock { $0.isShut } }
}
