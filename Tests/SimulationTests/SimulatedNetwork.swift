import TestSpools
import Wire

/// Connections between agents and a collector. Each delivers in order and late, and may be lost with the messages in
/// flight. Messages of two connections may overtake each other.
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
        /// The agent has closed it: messages in flight still arrive; replies are lost.
        var isAbandoned = false
        /// The collector no longer reads it.
        var isDismissed = false
        var delayNanoseconds: Int64
        /// Its own generator, where events on one connection must not affect another.
        var random: SeededGenerator?
    }

    /// Whether each connection has its own generator.
    var isIsolated = false

    private(set) var connections: [PeerID: Connection] = [:]
    private var next: UInt16 = 0
    /// Connections so far, by agent.
    private var count: [Int: UInt64] = [:]

    var peers: [PeerID] { connections.keys.sorted() }

    func peer(of agent: Int) -> PeerID? {
        peers.first { connections[$0]?.agent == agent && connections[$0]?.isAbandoned == false }
    }

    mutating func connect(_ agent: Int, using random: inout SeededGenerator) {
        next += 1
        let peer = PeerID([UInt8(next >> 8), UInt8(next & 255)])
        if isIsolated {
            count[agent, default: 0] += 1
            var own = SeededGenerator(seed: UInt64(agent) << 32 | count[agent, default: 0])
            let delay = Int64.random(in: 100_000...120_000_000, using: &own)
            connections[peer] = Connection(agent: agent, delayNanoseconds: delay, random: own)
        } else {
            connections[peer] = Connection(
                agent: agent, delayNanoseconds: .random(in: 100_000...120_000_000, using: &random))
        }
    }

    /// A random number from the connection's generator or the shared one.
    private mutating func chance(
        _ range: ClosedRange<Int64>, of peer: PeerID, using random: inout SeededGenerator
    ) -> Int64 {
        guard var own = connections[peer]?.random else {
            return .random(in: range, using: &random)
        }
        defer { connections[peer]?.random = own }
        return .random(in: range, using: &own)
    }

    /// The agent closes the connection: it receives nothing more; part of what it sent may still arrive.
    mutating func abandon(_ peer: PeerID, using random: inout SeededGenerator) {
        guard var connection = connections[peer] else { return }
        connection.isAbandoned = true
        connection.toAgent = []
        let arrives = Int(
            chance(0...Int64(connection.toCollector.count), of: peer, using: &random))
        connection.random = connections[peer]?.random
        connection.toCollector.removeLast(connection.toCollector.count - arrives)
        connections[peer] = connection.toCollector.isEmpty ? nil : connection
    }

    /// The collector is gone, with all messages in flight.
    /// - Returns: the agents that lose their connection.
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
            let arrives =
                now + chance(0...connection.delayNanoseconds, of: peer, using: &random)
            connections[peer]?.toCollector.append(
                Message(arrives: max(last, arrives), header: header, payload: payload))
        }
    }

    /// - Returns: whether the connection was open.
    mutating func answer(
        _ header: [UInt8], to peer: PeerID, now: Int64, using random: inout SeededGenerator
    ) -> Bool {
        guard let connection = connections[peer], !connection.isAbandoned else { return false }
        let last = connection.toAgent.last?.arrives ?? 0
        let arrives = now + chance(0...connection.delayNanoseconds, of: peer, using: &random)
        connections[peer]?.toAgent.append(Message(arrives: max(last, arrives), header: header))
        return true
    }

    /// Messages that have arrived at the collector over this connection.
    mutating func takeArrived(at now: Int64, over peer: PeerID) -> [Message] {
        guard let connection = connections[peer] else { return [] }
        let count = connection.toCollector.prefix { $0.arrives <= now }.count
        connections[peer]?.toCollector.removeFirst(count)
        if connection.isAbandoned, connections[peer]?.toCollector.isEmpty == true {
            connections[peer] = nil
        }
        return Array(connection.toCollector.prefix(count))
    }

    /// Messages that have arrived at the agent.
    mutating func takeAnswers(at now: Int64, over peer: PeerID) -> [[UInt8]] {
        guard let connection = connections[peer] else { return [] }
        let count = connection.toAgent.prefix { $0.arrives <= now }.count
        connections[peer]?.toAgent.removeFirst(count)
        return connection.toAgent.prefix(count).map(\.header)
    }
}
