/// Commands that have been sent to agents and are not answered yet.
struct OpenCommands: Sendable {
    /// Who waits for what of whom.
    struct Entry: Hashable, Sendable {
        /// What the caller knows the asker by.
        let ticket: UInt64
        let peer: PeerID
        let deadline: Int64
    }

    private var entries: [UInt64: Entry] = [:]
    private var latest: UInt64 = 0

    /// How many a peer has not answered.
    func count(of peer: PeerID) -> Int { entries.values.count { $0.peer == peer } }

    /// Takes note of one; its id.
    mutating func add(_ entry: Entry) -> UInt64 {
        latest += 1
        entries[latest] = entry
        return latest
    }

    /// The peer has answered it; nil when nothing like it was asked of that peer.
    mutating func answered(_ id: UInt64, by peer: PeerID) -> UInt64? {
        guard let entry = entries[id], entry.peer == peer else { return nil }
        entries.removeValue(forKey: id)
        return entry.ticket
    }

    /// Takes those out that fulfil a condition; their tickets, in the order in which they were asked.
    mutating func take(where isOver: (Entry) -> Bool) -> [UInt64] {
        if entries.isEmpty { return [] }
        let over = entries.filter { isOver($0.value) }.sorted { $0.key < $1.key }
        for (id, _) in over { entries.removeValue(forKey: id) }
        return over.map(\.value.ticket)
    }
}

// People's commands, on their way to agents and back.
extension CollectorLink {
    /// Asks the agent that sends a source; ``CollectorAction/report(ticket:_:)`` with the same ticket follows, now or later, and
    /// once.
    package mutating func command(
        _ request: CommandRequest, to source: String, ticket: UInt64, now: Int64
    ) -> [CollectorAction] {
        func refuse(_ failure: CommandFailure, _ text: String) -> [CollectorAction] {
            [.report(ticket: ticket, .failure(failure, text))]
        }
        guard let peer = sources[source]?.holder, let connection = connections[peer],
            let index = connection.accounts.firstIndex(where: { $0.name == source })
        else {
            return refuse(
                .notConnected, "no agent sends the source \(source) at this moment; \(senders)")
        }
        guard connection.minor >= WireLimits.commandMinor else {
            return refuse(
                .unknownCommand,
                "the agent of \(source) (\(connection.software)) takes no commands: it is older than "
                    + "this collector")
        }
        guard commands.count(of: peer) < WireLimits.openCommands else {
            return refuse(
                .busy,
                "the agent of \(source) has not answered \(WireLimits.openCommands) commands yet")
        }
        let id = commands.add(
            OpenCommands.Entry(
                ticket: ticket, peer: peer,
                deadline: now + WireLimits.commandMilliseconds * 1_000_000))
        let command = Command(id: id, source: index, request: request)
        return [.send(peer, WireMessage.command(command).encoded())]
    }

    /// Sources that can be commanded, for people.
    private var senders: String {
        let names = sources.filter { $0.value.holder != nil }.keys.sorted()
        guard !names.isEmpty else { return "no agent is connected" }
        let shown = names.prefix(Self.shownSenders).joined(separator: ", ")
        return names.count > Self.shownSenders
            ? "connected are \(shown) and \(names.count - Self.shownSenders) more"
            : "connected: \(shown)"
    }

    /// A line for people holds no more.
    private static var shownSenders: Int { 10 }

    mutating func take(
        _ report: Report, from message: IncomingMessage, now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        guard connections[message.peer] != nil else {
            return refuseStranger(message, now: now, durable: durable)
        }
        let refused = checkControlRate(of: message, now: now, durable: durable)
        guard refused.isEmpty else { return refused }
        // One that comes too late has been answered for.
        guard let ticket = commands.answered(report.id, by: message.peer) else { return [] }
        return [.report(ticket: ticket, report.reply)]
    }

    /// A connection is gone, and what it was asked with it.
    mutating func dropCommands(of peer: PeerID) -> [CollectorAction] {
        commands.take { $0.peer == peer }.map {
            .report(
                ticket: $0,
                .failure(
                    .notConnected,
                    "the agent's connection was lost before it answered; ask for its status"))
        }
    }

    /// Answers for agents that have not.
    mutating func dropLateCommands(now: Int64) -> [CollectorAction] {
        let seconds = WireLimits.commandMilliseconds / 1_000
        return commands.take { now >= $0.deadline }.map {
            .report(
                ticket: $0,
                .failure(
                    .noAnswer,
                    "the agent has not answered within \(seconds) s; ask for its status"))
        }
    }
}
