package import Media

/// The collector's side of the protocol, for all its connections: a value that owns no socket, no clock and no task.
///
/// Feed it every message but clock probes (those are answered at once, ``ClockReply/bytes(answering:receivedAt:now:)``)
/// and carry out what it returns, in order. After each round of messages, and every 100 ms at least, call
/// ``tick(now:)``: acks leave there, one per connection however much happened.
///
/// `now` is the collector's monotonic clock in nanoseconds, and never goes back.
package struct CollectorLink: Sendable {
    let settings: CollectorLinkSettings
    var sessionName: String
    var isStopping = false

    var connections: [PeerID: CollectorConnection] = [:]
    /// Of all connections together.
    private(set) var accountCount = 0
    var claims: [PeerID: SourceClaim] = [:]
    var sources: [String: SourceEntry] = [:]
    private var dueAcks: [PeerID] = []
    /// Whether an agent among them may be waiting for credit.
    private var isCreditDue = false
    private var nextScan: Int64 = 0
    var logGate = LogRateLimit()
    var commands = OpenCommands()
    /// Peers whose ``Enrol`` is being worked on, and where they come from.
    var enrolling: [PeerID: String] = [:]
    private var strangers: TokenBucket
    /// By owner and source.
    var greetings: TokenBuckets<String>
    /// By owner.
    var newSources: TokenBuckets<String>
    /// The same over days.
    var everySource: TokenBuckets<String>

    /// Records that came again after a reconnect, and were dropped.
    package internal(set) var duplicateRecords: UInt64 = 0
    /// Refusals since the beginning.
    package internal(set) var refusals: UInt64 = 0

    /// How often silence and acks that are merely due by time are looked for.
    static let scanNanoseconds: Int64 = 100_000_000
    /// Refusals per second, and at once, for peers that are not known: enough after a restart with many agents.
    private static let strangerRefusals: (perSecond: Int64, burst: Int64) = (100, 1_000)

    /// A link without connections.
    ///
    /// - Parameters:
    ///   - settings: what this collector decides.
    ///   - session: the session's name, if it has begun.
    package init(settings: CollectorLinkSettings, session: String = "") {
        self.settings = settings
        sessionName = session
        greetings = TokenBuckets(settings.budgets.greetings)
        newSources = TokenBuckets(settings.budgets.newSources)
        everySource = TokenBuckets(settings.budgets.everySource)
        strangers = TokenBucket(
            perSecond: Self.strangerRefusals.perSecond, burst: Self.strangerRefusals.burst, now: 0)
    }

    /// A message has arrived.
    package mutating func received(
        _ message: IncomingMessage, now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        let decoded: WireMessage
        do throws(WireError) {
            decoded = try WireMessage(decoding: message.header)
            try checkParts(of: decoded, in: message)
        } catch {
            return refuse(
                message.peer, error.reason, error.description, address: message.address, now: now,
                durable: durable)
        }
        connections[message.peer]?.lastHeard = now
        var actions = settleClaims(against: message.peer, by: decoded, now: now, durable: durable)
        switch decoded {
        case .samples(let samples):
            actions += take(samples, from: message, now: now, durable: durable)
        case .gap(let gap):
            actions += take(gap, from: message, now: now, durable: durable)
        case .trackUpdate(let update):
            actions += take(update, from: message, now: now, durable: durable)
        case .goodbye(let goodbye):
            actions += take(goodbye, from: message, now: now, durable: durable)
        case .hello(let hello):
            actions += greet(hello, from: message, now: now, durable: durable)
        case .heartbeat(let heartbeat):
            actions += take(heartbeat, from: message, now: now, durable: durable)
        case .report(let report):
            actions += take(report, from: message, now: now, durable: durable)
        case .enrol(let enrol):
            actions += take(enrol, from: message, now: now, durable: durable)
        case .clockProbe, .unknown:
            actions += checkControlRate(of: message, now: now, durable: durable)
        case .welcome, .acknowledgement, .refusal, .clockReply, .ping, .command, .enrolled:
            actions += refuse(
                message.peer, .malformed, "\(decoded.name) is for agents; collectors send it",
                address: message.address, now: now, durable: durable)
        }
        return actions
    }

    /// Sending to a peer failed: its connection is gone.
    package mutating func peerGone(_ peer: PeerID, now: Int64, durable: some DurabilityLookup)
        -> [CollectorAction]
    {
        var actions = close(peer, .silent)
        claims.removeValue(forKey: peer)
        enrolling.removeValue(forKey: peer)
        actions += admitUncontested(now: now, durable: durable)
        return actions
    }

    /// Everything of a source up to a record has become durable: its agent is to hear of it.
    ///
    /// That may be more than this link has taken in: a collector that was killed had records on disk behind ones that it
    /// had not. They count when they come again.
    package mutating func becameDurable(source: String, spool: SpoolID, through sequence: UInt64) {
        if let place = sources[source]?.earlier.firstIndex(where: { $0.identity == spool }) {
            sources[source]?.earlier[place].unpersisted.persist(through: sequence)
            if let holder = sources[source]?.holder { markAckDue(holder) }
            return
        }
        guard sources[source]?.spool == spool else { return }
        sources[source]?.unpersisted.persist(through: sequence)
        if let holder = sources[source]?.holder { markAckDue(holder) }
    }

    /// Last record of a source that its agent may forget.
    func persisted(of source: String, _ durable: some DurabilityLookup) -> UInt64 {
        guard let entry = sources[source] else { return 0 }
        return min(entry.received, durable.persisted(source, entry.spool))
    }

    /// So much media of a source has left memory: written, or given up.
    package mutating func released(_ amount: MediaAmount, source: String) {
        guard var entry = sources[source] else { return }
        precondition(entry.outstanding.covers(amount), "released twice")
        entry.outstanding -= amount
        sources[source] = entry
        guard let holder = entry.holder, let connection = connections[holder],
            let account = connection.accounts.first(where: { $0.name == source })
        else { return }
        let window = windowBytes(of: connection)
        let limit = account.limitBytes(window: window, outstanding: entry.heldBytes)
        if limit - account.announcedBytes >= window / 2 {
            markAckDue(holder)
            isCreditDue = true
        }
    }

    /// What was taken in of a source behind a record is not on disk, and never will be: the agent is to come again, and to send
    /// it again. What of its payloads is in memory is to be released as ever.
    package mutating func rewind(
        _ source: String, spool: SpoolID, now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        guard var entry = sources[source], entry.spool == spool else { return [] }
        let persisted = durable.persisted(source, spool)
        entry.received = persisted
        entry.resumedAt = persisted
        entry.goodbye = nil
        entry.unpersisted.forget()
        for place in entry.earlier.indices {
            let received = durable.persisted(source, entry.earlier[place].identity)
            entry.earlier[place].received = received
            entry.earlier[place].unpersisted.forget()
            if let goodbye = entry.earlier[place].goodbye, goodbye > received {
                entry.earlier[place].goodbye = nil
            }
        }
        sources[source] = entry
        guard let holder = entry.holder else { return [] }
        let refusal = Refusal(
            reason: .unknownConnection,
            text: "\(source) has to be sent again from record \(persisted + 1) on: say Hello")
        return [.send(holder, WireMessage.refusal(refusal).encoded()), .dismissed(holder)]
            + close(holder, .rewound) + admitUncontested(now: now, durable: durable)
    }

    /// The first sample has begun a session.
    package mutating func sessionBegan(_ name: String) {
        sessionName = name
        for peer in connections.keys.sorted() { markAckDue(peer) }
    }

    /// Refuses a peer for something that only the caller can see (its payload, a full disk).
    ///
    /// The batch that was at fault, if it was the last one taken in and nothing of it was used, is taken back.
    package mutating func refuse(
        _ peer: PeerID, _ reason: RefusalReason, _ text: String, takingBack samples: Samples? = nil,
        now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        if let samples, let connection = connections[peer],
            connection.accounts.indices.contains(samples.source)
        {
            let name = connection.accounts[samples.source].name
            if let entry = sources[name], entry.received == samples.lastSequence {
                sources[name]?.received = samples.firstSequence - 1
                let amount = samples.amount
                if entry.outstanding.covers(amount) { sources[name]?.outstanding -= amount }
            }
        }
        let address = connections[peer]?.address ?? claims[peer]?.address ?? ""
        return refuse(peer, reason, text, address: address, now: now, durable: durable)
    }

    /// Time has passed: sends what is due, and notices who is silent.
    package mutating func tick(now: Int64, durable: some DurabilityLookup) -> [CollectorAction] {
        var actions: [CollectorAction] = []
        if now >= nextScan {
            nextScan = now + Self.scanNanoseconds
            actions += scan(now: now, durable: durable)
        }
        return actions + acknowledgeDue(now: now, durable: durable)
    }

    /// Sends Acks now where much credit has returned: who drains a backlog would wait for the next tick with nothing to do.
    package mutating func returnCredit(now: Int64, durable: some DurabilityLookup)
        -> [CollectorAction]
    {
        isCreditDue ? acknowledgeDue(now: now, durable: durable) : []
    }

    private mutating func acknowledgeDue(now: Int64, durable: some DurabilityLookup)
        -> [CollectorAction]
    {
        let due = dueAcks
        dueAcks.removeAll(keepingCapacity: true)
        isCreditDue = false
        var actions: [CollectorAction] = []
        for peer in due { actions += acknowledge(peer, now: now, durable: durable) }
        return actions
    }

    /// Ends all connections: the agents will come back to another collector, or to this one started again.
    package mutating func stop(now: Int64, durable: some DurabilityLookup) -> [CollectorAction] {
        isStopping = true
        var actions: [CollectorAction] = []
        for peer in connections.keys.sorted() {
            actions += acknowledge(peer, now: now, durable: durable)
        }
        let refusal = Refusal(reason: .stopping, text: "the collector is stopping")
        let bytes = WireMessage.refusal(refusal).encoded()
        for peer in connections.keys.sorted() + claims.keys.sorted() {
            actions.append(.send(peer, bytes))
            actions += close(peer, .stopping)
        }
        claims.removeAll()
        return actions
    }
}

// What several messages need.
extension CollectorLink {
    /// What each source may have on its way to the disk.
    var windowBytes: UInt64 {
        let share = WireLimits.commonCreditWindowBytes / UInt64(max(1, accountCount))
        return min(
            WireLimits.creditWindowBytes, max(WireLimits.smallestCreditWindowBytes, share))
    }

    /// The same of a connection: what has many sources does not have so much more.
    func windowBytes(of connection: CollectorConnection) -> UInt64 {
        min(
            windowBytes,
            settings.budgets.connectionWindowBytes / UInt64(max(1, connection.accounts.count)))
    }

    /// A connection has been welcomed, in the place of an earlier one under the same number.
    mutating func keep(_ connection: CollectorConnection, of peer: PeerID) {
        let earlier = connections.updateValue(connection, forKey: peer)
        // Whoever greets anew does not get back what it has used up.
        if let earlier { connections[peer]?.control = earlier.control }
        accountCount += connection.accounts.count - (earlier?.accounts.count ?? 0)
    }

    /// Puts a connection on the list of those that get an Ack at the next tick.
    mutating func markAckDue(_ peer: PeerID) {
        guard let connection = connections[peer], !connection.isAckDue else { return }
        connections[peer]?.isAckDue = true
        dueAcks.append(peer)
    }

    /// Says no, and forgets the connection.
    mutating func refuse(
        _ peer: PeerID, _ reason: RefusalReason, _ text: String, address: String, now: Int64,
        durable: some DurabilityLookup
    ) -> [CollectorAction] {
        let connection = connections[peer]
        if connection == nil && claims[peer] == nil && !strangers.take(now: now) {
            return [.dismissed(peer)]
        }
        refusals += 1
        let text = printable(text)
        let refusal = Refusal(reason: reason, text: text)
        var actions: [CollectorAction] = [
            .send(peer, WireMessage.refusal(refusal).encoded()), .dismissed(peer),
        ]
        if let suppressed = logGate.pass(address, now: now) {
            let more = suppressed > 0 ? " (and \(suppressed) refusals before)" : ""
            actions.append(
                .log(
                    LinkLog(
                        .warning, "refused: \(text)\(more)",
                        metadata: connection?.metadata ?? ["address": address])))
        }
        claims.removeValue(forKey: peer)
        actions += close(peer, .refused(reason))
        actions += admitUncontested(now: now, durable: durable)
        return actions
    }

    /// Has a peer come again later: it has used up what it may ask for at once. Nothing of it is lost, it keeps its samples.
    mutating func putOff(
        _ peer: PeerID, _ text: String, address: String, now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        let text = printable(text)
        let refusal = Refusal(reason: .unknownConnection, text: text)
        var actions: [CollectorAction] = [
            .send(peer, WireMessage.refusal(refusal).encoded()), .dismissed(peer),
        ]
        refusals += 1
        if let suppressed = logGate.pass(address, now: now) {
            let more = suppressed > 0 ? " (and \(suppressed) refusals before)" : ""
            actions.append(
                .log(
                    LinkLog(
                        .warning, "put off: \(text)\(more)",
                        metadata: connections[peer]?.metadata ?? ["address": address])))
        }
        claims.removeValue(forKey: peer)
        return actions + close(peer, .throttled) + admitUncontested(now: now, durable: durable)
    }

    /// Forgets a connection and lets go of its sources.
    mutating func close(_ peer: PeerID, _ reason: CloseReason) -> [CollectorAction] {
        guard let connection = connections.removeValue(forKey: peer) else { return [] }
        accountCount -= connection.accounts.count
        var actions = dropCommands(of: peer)
        for account in connection.accounts where sources[account.name]?.holder == peer {
            sources[account.name]?.holder = nil
            actions.append(.closed(source: account.name, reason))
        }
        return actions
    }

    private func checkParts(
        of decoded: WireMessage, in message: IncomingMessage
    ) throws(WireError) {
        let found = 1 + (message.payloadSizeBytes == nil ? 0 : 1) + message.extraParts
        switch decoded {
        case .samples(let samples):
            guard let size = message.payloadSizeBytes, message.extraParts == 0 else {
                throw .malformed("Samples came in \(found) parts; it has a header and a payload")
            }
            guard size == samples.payloadSizeBytes else {
                throw .malformed(
                    "the payload has \(size) bytes, its samples "
                        + "\(samples.payloadSizeBytes) together")
            }
        case .report(let report):
            guard case .snapshot(let snapshot) = report.reply else {
                guard found == 1 else {
                    throw .malformed("Report came in \(found) parts; this one has a header only")
                }
                return
            }
            guard message.payloadSizeBytes == snapshot.sizeBytes, message.extraParts == 0 else {
                throw .malformed(
                    "a snapshot of \(snapshot.sizeBytes) bytes came with "
                        + "\(message.payloadSizeBytes ?? 0)")
            }
        case .unknown:
            break
        case .hello, .gap, .trackUpdate, .goodbye, .clockProbe, .heartbeat, .welcome,
            .acknowledgement, .refusal, .clockReply, .ping, .command, .enrol, .enrolled:
            guard found == 1 else {
                throw .malformed("\(decoded.name) came in \(found) parts; it has a header only")
            }
        }
    }

    /// Who is silent, whose claim is decided, and whose Ack is due by time.
    private mutating func scan(now: Int64, durable: some DurabilityLookup) -> [CollectorAction] {
        var actions: [CollectorAction] = []
        let interval = Int64(settings.heartbeatMilliseconds) * 1_000_000
        let due = connections.filter { _, connection in
            now - min(connection.lastHeard, connection.lastAck) >= interval
        }
        for (peer, connection) in due.sorted(by: { $0.key < $1.key }) {
            if now - connection.lastHeard >= WireLimits.silentHeartbeats * interval {
                actions.append(
                    .log(
                        LinkLog(
                            .warning,
                            "\(connection.agent) has been silent for "
                                + "\((now - connection.lastHeard) / 1_000_000_000) s",
                            metadata: connection.metadata)))
                actions += close(peer, .silent)
            } else if now - connection.lastAck >= interval {
                markAckDue(peer)
            }
        }
        actions += admitUncontested(now: now, durable: durable)
        return actions + dropLateCommands(now: now)
    }

    private mutating func acknowledge(_ peer: PeerID, now: Int64, durable: some DurabilityLookup)
        -> [CollectorAction]
    {
        guard var connection = connections[peer] else { return [] }
        connection.isAckDue = false
        connection.lastAck = now
        let window = windowBytes(of: connection)
        var states: [SourceState] = []
        var isComplete = true
        for index in connection.accounts.indices {
            guard let entry = sources[connection.accounts[index].name] else { continue }
            let limit = connection.accounts[index].limitBytes(
                window: window, outstanding: entry.heldBytes)
            connection.accounts[index].announcedBytes = limit
            let persisted = persisted(of: connection.accounts[index].name, durable)
            states.append(
                SourceState(
                    source: index, received: entry.received, persisted: persisted,
                    creditLimitBytes: limit))
            isComplete = isComplete && entry.isComplete(persisted: persisted)
        }
        connections[peer] = connection
        let ack = Acknowledgement(sources: states, session: sessionName)
        var actions: [CollectorAction] = [
            .send(peer, WireMessage.acknowledgement(ack).encoded())
        ]
        if isComplete { actions += close(peer, .complete) }
        return actions
    }
}
