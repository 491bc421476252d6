import Synchronization

/// What two threads know of one connection. The receiving thread counts the bytes that it has taken in; the intake thread
/// compares that count with what TCP has delivered.
final class ConnectionAccount: Sendable {
    /// The remote end, identified by a descriptor that libzmq owns.
    let socket: PeerSocket
    private let takenBytes = Atomic<Int>(0)
    private let sourceCount = Atomic<Int>(0)

    init(_ socket: PeerSocket) {
        self.socket = socket
    }

    /// Bytes of complete messages taken in, ZMTP framing included.
    var taken: Int { takenBytes.load(ordering: .relaxed) }
    /// Number of sources of the agent that was welcomed on this connection; 0: no agent has been welcomed yet.
    var sources: Int { sourceCount.load(ordering: .relaxed) }

    /// Counts a message that was taken in.
    func took(_ bytes: Int) { takenBytes.add(bytes, ordering: .relaxed) }

    /// Notes that an agent with this many sources has been welcomed.
    func welcomed(sources: Int) { sourceCount.store(max(1, sources), ordering: .relaxed) }
}
