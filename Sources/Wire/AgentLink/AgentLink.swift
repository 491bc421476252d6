package import Media

/// The agent's side of the protocol, for its one connection: a value that owns no socket, no clock and no task.
///
/// It numbers what the sources give it, keeps it until the collector has persisted it, and never has more in flight
/// than the collector granted. Carry out what its methods return, in order; call ``tick(now:)`` every 100 ms at least.
///
/// `Payload` is whatever holds a batch's bytes. `now` is the agent's monotonic clock in nanoseconds, and never goes
/// back.
package struct AgentLink<Payload: Sendable>: Sendable {
    package typealias Action = AgentAction<Payload>

    let settings: AgentLinkSettings
    var phase = Phase.idle
    var outboxes: [Outbox<Payload>]
    var backoffNanoseconds = AgentLinkPace.firstBackoff
    var waiting: Waiting?
    var drops = DropMention()
    /// What the last Hello said of the formats, to see whether it still held when the Welcome came.
    var announcedFormats: [[TrackFormat]] = []
    var clockExchanges: [ReportedExchange] = []
    /// Which source sends next, so that all get their turn.
    var turn = 0
    /// The session's name, once the collector has said one.
    package internal(set) var session = ""

    /// Where the link is in its life.
    enum Phase: Hashable, Sendable {
        /// Not started.
        case idle
        /// Asked for a connection.
        case connecting
        /// Pauses before it asks again.
        case backingOff(until: Int64)
        /// Connected; the sources' formats are not all known yet.
        case connected
        /// Hello has been said.
        case greeting(since: Int64)
        /// Welcome.
        case flowing(Flow)
        /// Everything is persisted.
        case finished
        /// It cannot go on.
        case failed
    }

    /// A welcomed connection.
    struct Flow: Hashable, Sendable {
        var heartbeatNanoseconds: Int64
        var lastHeard: Int64
        var lastHeartbeat: Int64
        /// Per source: what its records since the Welcome have cost.
        var spentBytes: [UInt64]
        /// Per source: what they may cost.
        var creditBytes: [UInt64]
    }

    /// A link for sources whose formats are said later.
    package init(settings: AgentLinkSettings) {
        precondition(
            (1...WireLimits.sourcesPerAgent).contains(settings.sources.count),
            "an agent has 1 to \(WireLimits.sourcesPerAgent) sources")
        precondition(!settings.epochs.isEmpty, "there is a present epoch")
        self.settings = settings
        outboxes = settings.sources.indices.map { Outbox(source: $0) }
    }

    /// Begins to look for the collector.
    package mutating func start(now: Int64) -> [Action] {
        precondition(phase == .idle, "a link starts once")
        phase = .connecting
        waiting = Waiting(since: now)
        return [.connect]
    }
}

// What the sources give.
extension AgentLink {
    /// A source's formats: once, before anything else of it.
    package mutating func begin(
        source: Int, formats: [TrackFormat], now: Int64
    ) -> [Action] {
        outboxes[source].begin(formats: formats)
        guard phase == .connected, outboxes.allSatisfy(\.hasBegun) else { return [] }
        return sayHello(now: now)
    }

    /// A batch; its source index and number are filled in here.
    package mutating func add(
        _ samples: Samples, payload: Payload, source: Int, now: Int64
    ) -> [Action] {
        outboxes[source].append(samples, payload: payload)
        return makeRoom(now: now) + pump()
    }

    /// Something that was due and never came.
    package mutating func add(_ loss: Loss, source: Int, now: Int64) -> [Action] {
        outboxes[source].append(loss, epoch: currentEpoch)
        return makeRoom(now: now) + pump()
    }

    /// From the next batch on, a track has another format.
    package mutating func trackUpdate(
        _ format: TrackFormat, source: Int, now: Int64
    ) -> [Action] {
        outboxes[source].append(format)
        return makeRoom(now: now) + pump()
    }

    /// A source is complete.
    package mutating func goodbye(_ text: String, source: Int, now: Int64) -> [Action] {
        outboxes[source].appendGoodbye(text)
        return makeRoom(now: now) + pump()
    }

    /// Finished clock exchanges, for the next message that can carry them.
    package mutating func add(clockExchanges: [ReportedExchange]) {
        self.clockExchanges += clockExchanges
        let surplus = self.clockExchanges.count - WireLimits.exchangesPerMessage
        if surplus > 0 { self.clockExchanges.removeFirst(surplus) }
    }

    /// The number of the epoch that the present belongs to.
    package var currentEpoch: UInt32 { settings.epochs.last?.number ?? 0 }

    /// Sends what the credit allows.
    mutating func pump() -> [Action] {
        guard case .flowing(var flow) = phase else { return [] }
        var actions: [Action] = []
        var idleTurns = 0
        while idleTurns < outboxes.count {
            turn = (turn + 1) % outboxes.count
            guard let next = outboxes[turn].nextToSend,
                flow.spentBytes[turn] + next.creditBytes <= flow.creditBytes[turn],
                let record = outboxes[turn].takeNextToSend()
            else {
                idleTurns += 1
                continue
            }
            idleTurns = 0
            flow.spentBytes[turn] += record.creditBytes
            actions.append(.send(header: record.header, payload: record.payload))
        }
        phase = .flowing(flow)
        return actions
    }
}

// How it is doing.
extension AgentLink {
    /// Payload bytes that are kept because the collector has not persisted them.
    package var keptPayloadBytes: Int { outboxes.reduce(0) { $0 + $1.keptPayloadBytes } }
    /// What keeping them takes, bytes: never past the limit.
    package var keptBytes: Int { outboxes.reduce(0) { $0 + $1.keptBytes } }
    /// Samples that are kept.
    package var keptSamples: Int { outboxes.reduce(0) { $0 + $1.keptSamples } }
    /// Samples that the sources lost, or that had to go because memory was full.
    package var lostSamples: UInt64 { outboxes.reduce(0) { $0 + $1.lostSamples } }
    /// The last persisted record of a source.
    package func persisted(source: Int) -> UInt64 { outboxes[source].persisted }
    /// The newest record of a source.
    package func newestSequence(source: Int) -> UInt64 { outboxes[source].newestSequence }
    /// Whether the collector has said Welcome on the present connection.
    package var isFlowing: Bool {
        switch phase {
        case .flowing: true
        case .idle, .connecting, .backingOff, .connected, .greeting, .finished, .failed: false
        }
    }
}
