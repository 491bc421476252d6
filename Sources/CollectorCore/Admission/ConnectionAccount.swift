import Synchronization

/// What two threads know of one connection: the receiving thread counts what it has taken in, the intake's thread compares that with
/// what TCP has delivered.
final class ConnectionAccount: Sendable {
    /// The other end, at a descriptor that libzmq owns.
    let socket: PeerSocket
    private let takenBytes = Atomic<Int>(0)
    private let sourceCount = Atomic<Int>(0)

    init(_ socket: PeerSocket) {
        self.socket = socket
    }

    /// Bytes of whole messages that have been taken in, frames included.
    var taken: Int { takenBytes.load(ordering: .relaxed) }
    /// Sources of the agent that was welcomed on it; 0: none has been yet.
    var sources: Int { sourceCount.load(ordering: .relaxed) }

    /// A message has been taken in.
    func took(_ bytes: Int) { takenBytes.add(bytes, ordering: .relaxed) }

    /// An agent with so many sources has been welcomed.
    func welcomed(sources: Int) { sourceCount.store(max(1, sources), ordering: .relaxed) }
}
