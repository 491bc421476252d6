import TestSpools
import Wire

/// Connections between agents and a collector: each delivers in order, late, and may be lost with what is on its way; messages of
/// two connections overtake each other.
struct SimulatedNetwork {
    struct Message {
        var arrives: Int64
        var header: [UInt8]
        var payload: SimulatedPayload?
    }

    struct Connection {
        let agent: Int
        var toCollector: [Message] = []
        var toAgent: [Message] = []
        /// The agent has let go of it: what it sent before still arrives, and nothing comes back.
        var isAbandoned = false
        /// The collector does not read it any more.
        var isDismissed = false
        var delayNanoseconds: Int64
    }

    private(set) var connections: [PeerID: Connection] = [:]
    private var next: UInt16 = 0

    var peers: [PeerID] { connections.keys.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) } }

    func peer(of agent: Int) -> PeerID? {
        peers.first { connections[$0]?.agent == agent && connections[$0]?.isAbandoned == false }
    }

    mutating func connect(_ agent: Int, using random: inout SeededGenerator) {
        next += 1
        connections[PeerID([UInt8(next >> 8), UInt8(next & 255)])] = Connection(
            agent: agent, delayNanoseconds: .random(in: 100_000...120_000_000, using: &random))
    }

    /// The agent lets go: it hears nothing more; a part of what it sent may still arrive.
    mutating func abandon(_ peer: PeerID, using random: inout SeededGenerator) {
        guard var connection = connections[peer] else { return }
        connection.isAbandoned = true
        connection.toAgent = []
        let arrives = Int.random(in: 0...connection.toCollector.count, using: &random)
        connection.toCollector.removeLast(connection.toCollector.count - arrives)
        connections[peer] = connection.toCollector.isEmpty ? nil : connection
    }

    /// The collector is gone, and with it all that was on its way.
    /// - Returns: the agents that lose their connection by it.
    mutating func loseCollector() -> [Int] {
        defer { connections = [:] }
        return peers.compactMap { connections[$0] }.filter { !$0.isAbandoned }.map(\.agent)
    }

    mutating func dismiss(_ peer: PeerID) {
        connections[peer]?.isDismissed = true
        connections[peer]?.toCollector = []
    }

    mutating func send(
        _ messages: [(header: [UInt8], payload: SimulatedPayload?)], over peer: PeerID, now: Int64,
        using random: inout SeededGenerator
    ) {
        guard let connection = connections[peer], !connection.isDismissed else { return }
        for (header, payload) in messages {
            let last = connections[peer]?.toCollector.last?.arrives ?? 0
            let arrives = now + .random(in: 0...connection.delayNanoseconds, using: &random)
            connections[peer]?.toCollector.append(
                Message(arrives: max(last, arrives), header: header, payload: payload))
        }
    }

    /// - Returns: whether there was anybody to send to.
    mutating func answer(
        _ header: [UInt8], to peer: PeerID, now: Int64, using random: inout SeededGenerator
    ) -> Bool {
        guard let connection = connections[peer], !connection.isAbandoned else { return false }
        let last = connection.toAgent.last?.arrives ?? 0
        let arrives = now + .random(in: 0...connection.delayNanoseconds, using: &random)
        connections[peer]?.toAgent.append(Message(arrives: max(last, arrives), header: header))
        return true
    }

    /// What has arrived at the collector, over this connection.
    mutating func takeArrived(at now: Int64, over peer: PeerID) -> [Message] {
        guard let connection = connections[peer] else { return [] }
        let count = connection.toCollector.prefix { $0.arrives <= now }.count
        connections[peer]?.toCollector.removeFirst(count)
        if connection.isAbandoned, connections[peer]?.toCollector.isEmpty == true {
            connections[peer] = nil
        }
        return Array(connection.toCollector.prefix(count))
    }

    /// What has arrived at the agent.
    mutating func takeAnswers(at now: Int64, over peer: PeerID) -> [[UInt8]] {
        guard let connection = connections[peer] else { return [] }
        let count = connection.toAgent.prefix { $0.arrives <= now }.count
        connections[peer]?.toAgent.removeFirst(count)
        return connection.toAgent.prefix(count).map(\.header)
    }
}
