/// Commands that were sent to agents and are not answered yet.
struct OpenCommands: Sendable {
    /// A pending command.
    struct Entry: Hashable, Sendable {
        /// The caller's identifier of the requester.
        let ticket: UInt64
        let peer: PeerID
        let deadline: Int64
    }

    private var entries: [UInt64: Entry] = [:]
    private var latest: UInt64 = 0

    /// Number of unanswered commands of a peer.
    func count(of peer: PeerID) -> Int { entries.values.count { $0.peer == peer } }

    /// Adds a command, and returns its id.
    mutating func add(_ entry: Entry) -> UInt64 {
        latest += 1
        entries[latest] = entry
        return latest
    }

    /// Removes a command that the peer has answered; nil when that peer has no such command.
    mutating func answered(_ id: UInt64, by peer: PeerID) -> UInt64? {
        guard let entry = entries[id], entry.peer == peer else { return nil }
        entries.removeValue(forKey: id)
        return entry.ticket
    }

    /// Removes the commands that meet a condition; returns their tickets, in the order of the commands.
    mutating func take(where isOver: (Entry) -> Bool) -> [UInt64] {
        if entries.isEmpty { return [] }
        let over = entries.filter { isOver($0.value) }.sorted { $0.key < $1.key }
        for (id, _) in over { entries.removeValue(forKey: id) }
        return over.map(\.value.ticket)
    }
}

// Operators' commands to agents.
extension CollectorLink {
    /// Sends a command to the agent of a source; exactly one ``CollectorAction/report(ticket:_:)`` with the same ticket follows,
    /// now or later.
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
                .notConnected, "no agent is sending the source \(source); \(senders)")
        }
        guard connection.minor >= WireLimits.commandMinor else {
            return refuse(
                .unknownCommand,
                "the agent of \(source) (\(connection.software)) does not support commands: it is older than "
                    + "this collector")
        }
        guard commands.count(of: peer) < WireLimits.openCommands else {
            return refuse(
                .busy,
                "the agent of \(source) has \(WireLimits.openCommands) unanswered commands")
        }
        let id = commands.add(
            OpenCommands.Entry(
                ticket: ticket, peer: peer,
                deadline: now + WireLimits.commandMilliseconds * 1_000_000))
        let command = Command(id: id, source: index, request: request)
        return [.send(peer, WireMessage.command(command).encoded())]
    }

    /// The sources that can receive commands, for messages.
    private var senders: String {
        let names = sources.filter { $0.value.holder != nil }.keys.sorted()
        guard !names.isEmpty else { return "no agent is connected" }
        let shown = names.prefix(Self.shownSenders).joined(separator: ", ")
        return names.count > Self.shownSenders
            ? "connected are \(shown) and \(names.count - Self.shownSenders) more"
            : "connected: \(shown)"
    }

    /// Maximum number of sources in one message.
    private static var shownSenders: Int { 10 }

    mutating func take(
        _ report: Report, from message: IncomingMessage, now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        guard connections[message.peer] != nil else {
            return refuseStranger(message, now: now, durable: durable)
        }
        let refused = checkControlRate(of: message, now: now, durable: durable)
        guard refused.isEmpty else { return refused }
        // A late answer: the command has already been answered as timed out.
        guard let ticket = commands.answered(report.id, by: message.peer) else { return [] }
        return [.report(ticket: ticket, report.reply)]
    }

    /// A connection has closed: answers its commands as lost.
    mutating func dropCommands(of peer: PeerID) -> [CollectorAction] {
        commands.take { $0.peer == peer }.map {
            .report(
                ticket: $0,
                .failure(
                    .notConnected,
                    "the agent's connection was lost before it answered; ask for its status"))
        }
    }

    /// Answers commands whose agents have not answered in time.
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
