import Synchronization

/// Byte counts of one connection, shared by two threads. The receiving thread counts the bytes it has received in
/// complete messages; the intake thread compares that count with the bytes that TCP has delivered.
final class ConnectionByteCounts: Sendable {
    /// The remote end, identified by a descriptor that libzmq owns.
    let socket: PeerSocket
    private let takenBytes = Atomic<Int>(0)
    private let sourceCount = Atomic<Int>(0)

    init(_ socket: PeerSocket) {
        self.socket = socket
    }

    /// Bytes of complete messages received, ZMTP framing included.
    var taken: Int { takenBytes.load(ordering: .relaxed) }
    /// Number of sources of the agent that was welcomed on this connection; 0: no agent has been welcomed yet.
    var sources: Int { sourceCount.load(ordering: .relaxed) }

    /// Counts a received message.
    func took(_ bytes: Int) { takenBytes.add(bytes, ordering: .relaxed) }

    func welcomed(sources: Int) { sourceCount.store(max(1, sources), ordering: .relaxed) }
}
