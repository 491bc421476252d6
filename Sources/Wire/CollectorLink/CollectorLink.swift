package import Media

/// The collector's side of the protocol, for all its connections: a value that owns no socket, no clock and no task.
///
/// Pass it every message except clock probes (those are answered immediately,
/// ``ClockReply/bytes(answering:receivedAt:now:)``) and carry out the returned actions, in order. After each round of
/// messages, and at least every 100 ms, call ``tick(now:)``: it sends the acks, one per connection, however many
/// messages have arrived.
///
/// `now` is the collector's monotonic clock in nanoseconds, and never goes back.
package struct CollectorLink: Sendable {
    let settings: CollectorLinkSettings
    var sessionName: String
    var isStopping = false
    /// Why agents that have another collector are to go there; nil: they need not.
    package var elsewhere: String?
    /// The position of the session's zero, if it has begun.
    package private(set) var sessionClock: SessionClock?

    var connections: [PeerID: CollectorConnection] = [:]
    /// Total number of accounts of all connections.
    private(set) var accountCount = 0
    /// Sources that agents are sending now.
    package var connectedSources: Int { accountCount }
    var claims: [PeerID: SourceClaim] = [:]
    var sources: [String: SourceEntry] = [:]
    private var dueAcks: [PeerID] = []
    /// Whether an agent in ``dueAcks`` may be waiting for credit.
    private var isCreditDue = false
    private var nextScan: Int64 = 0
    var logGate = LogRateLimit()
    var commands = OpenCommands()
    /// The number of common send instants.
    var instants = SendInstants()
    /// The requested maximum delay of a source's samples, milliseconds; 0: it is not watched.
    private(set) var watch: @Sendable (_ source: String) -> UInt32 = { _ in 0 }
    /// Peers whose ``Enrol`` is being processed, and their addresses.
    var enrolling: [PeerID: String] = [:]
    private var strangers: TokenBucket
    /// Rate limit of Hellos, by owner and source.
    var greetings: TokenBuckets<String>
    /// Rate limit of new sources, by owner.
    var newSources: TokenBuckets<String>
    /// Rate limit of new sources over days, by owner.
    var everySource: TokenBuckets<String>

    /// Records that were received again after a reconnect, and dropped.
    package internal(set) var duplicateRecords: UInt64 = 0
    /// Refusals since the start, also those that were not sent because there were too many.
    package internal(set) var refusals: [RefusalCause: UInt64] = [:]

    /// Interval between checks for silent peers and for acks that are due by time.
    static let scanNanoseconds: Int64 = 100_000_000
    /// Rate and burst of refusals to unknown peers: enough after a restart with many agents.
    private static let strangerRefusals: (perSecond: Int64, burst: Int64) = (100, 1_000)

    /// Creates a link without connections.
    ///
    /// - Parameters:
    ///   - settings: this collector's settings.
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
                message.peer, .malformed, "\(decoded.name) is a message from collectors to agents",
                address: message.address, now: now, durable: durable)
        }
        return actions
    }

    /// The watched sources or their requested delays have changed: agents are notified with the next tick.
    ///
    /// Every Welcome and every Ack repeats it, at least once per heartbeat interval. So a requested delay is never
    /// older than that, and ends with the connection.
    /// - Parameter delay: milliseconds for a source; 0: it is not watched.
    package mutating func setWatch(_ delay: @escaping @Sendable (_ source: String) -> UInt32) {
        let before = watch
        watch = delay
        for (name, entry) in sources.sorted(by: { $0.key < $1.key }) {
            guard let holder = entry.holder, before(name) != delay(name) else { continue }
            markAckDue(holder)
        }
    }

    /// The connections that send certain sources.
    package func peers(sending isWanted: (String) -> Bool) -> Set<PeerID> {
        Set(sources.compactMap { isWanted($0.key) ? $0.value.holder : nil })
    }

    /// Sending to a peer failed: its connection has closed.
    package mutating func peerGone(_ peer: PeerID, now: Int64, durable: some DurabilityLookup)
        -> [CollectorAction]
    {
        var actions = close(peer, .silent)
        claims.removeValue(forKey: peer)
        enrolling.removeValue(forKey: peer)
        actions += admitUncontested(now: now, durable: durable)
        return actions
    }

    /// Everything of a source up to a record has become durable: its agent is to be notified.
    ///
    /// That may be more than this link has received: a killed collector may have had records on disk after records that
    /// it did not have. They count when they are received again.
    package mutating func becameDurable(source: String, spool: SpoolID, through sequence: UInt64) {
        if let place = sources[source]?.earlier.firstIndex(where: { $0.identity == spool }) {
            sources[source]?.earlier[place].unpersisted.persist(through: sequence)
            if let holder = sources[source]?.holder { markAckDue(holder) }
            return
        }
        guard let place = sources.index(forKey: source), sources.values[place].spool == spool
        else { return }
        sources.values[place].unpersisted.persist(through: sequence)
        if let holder = sources.values[place].holder { markAckDue(holder) }
    }

    /// More of a source need not be kept: its agent is to be notified.
    package mutating func becameReleased(source: String, spool: SpoolID) {
        guard let entry = sources[source], entry.spool == spool, let holder = entry.holder else {
            return
        }
        markAckDue(holder)
    }

    /// The oldest record of a spool that its agent has, as far as it has reported.
    package func keptFrom(_ source: String, spool: SpoolID) -> UInt64 {
        guard let entry = sources[source], entry.spool == spool else { return 1 }
        return entry.keptFrom
    }

    /// The last record of a source that is durable, and the last that its agent need not keep; nil: the same.
    ///
    /// An older agent, which does not support the second, deletes durable records regardless of the policy. With a
    /// smaller first value it would stop at its limit of records in flight, and the file whose end it waits for would
    /// not grow.
    func watermarks(
        of source: String, on connection: CollectorConnection, _ durable: some DurabilityLookup
    ) -> (persisted: UInt64, released: UInt64?) {
        guard let entry = sources[source] else { return (0, nil) }
        let persisted = min(entry.received, durable.persisted(source, entry.spool))
        guard connection.keepsUntilReleased,
            let released = durable.released(
                source: source, spool: entry.spool, keptFrom: entry.keptFrom)
        else { return (persisted, nil) }
        return (persisted, min(persisted, released))
    }

    /// Whether an agent whose source has ended, and is durable, has to keep any of it.
    package func isWaitingForRelease(durable: some DurabilityLookup) -> Bool {
        connections.values.contains { connection in
            connection.accounts.contains { account in
                guard let entry = sources[account.name], entry.goodbye != nil else { return false }
                let (persisted, released) = watermarks(of: account.name, on: connection, durable)
                return !entry.isComplete(released: released ?? persisted)
            }
        }
    }

    /// This amount of a source's media has left memory: written or dropped.
    package mutating func released(_ amount: MediaAmount, source: String) {
        guard let place = sources.index(forKey: source) else { return }
        precondition(sources.values[place].outstanding.covers(amount), "released twice")
        sources.values[place].outstanding -= amount
        let entry = sources.values[place]
        guard let holder = entry.holder, let connection = connections[holder],
            let account = connection.accounts.first(where: { $0.name == source })
        else { return }
        let window = windowBytes(of: connection)
        let limit = account.limitBytes(window: window, outstanding: entry.heldBytes)
        // A fragment has at most half of the window (`CollectorEngine`): the credit that it returns must be
        // significant. An agent with little credit left is notified of any.
        let isShort = account.leftBytes < window / 4 && limit > account.announcedBytes
        if isShort || limit - account.announcedBytes >= window / 4 {
            markAckDue(holder)
            isCreditDue = true
        }
    }

    /// Records of a source after a given one are not on disk, and never will be: the agent has to reconnect and send them again.
    /// Their payloads that are in memory must still be released as usual.
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
            text: "\(source) has to be resent from record \(persisted + 1) on: send Hello again")
        return [.send(holder, WireMessage.refusal(refusal).encoded()), .dismissed(holder)]
            + close(holder, .rewound) + admitUncontested(now: now, durable: durable)
    }

    /// The first sample has begun a session.
    package mutating func sessionBegan(_ name: String) {
        sessionName = name
        for peer in connections.keys.sorted() { markAckDue(peer) }
    }

    /// Sets the session's zero, or a better estimate; nil without a session. Agents receive it with their next Ack.
    package mutating func setSessionClock(_ clock: SessionClock?) { sessionClock = clock }

    /// Sends an agent to another collector, if it has one.
    /// - Parameter peer: nil: every such agent; with ``elsewhere``.
    package mutating func sendElsewhere(
        _ peer: PeerID? = nil, because reason: String, now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        let peers = peer.map { [$0] } ?? movablePeers
        return peers.flatMap { peer -> [CollectorAction] in
            guard let connection = connections[peer], connection.hasOthers else { return [] }
            // Durable records need not be sent again.
            return acknowledge(peer, now: now, durable: durable)
                + refuse(
                    peer, .elsewhere, reason, address: connection.address, now: now,
                    durable: durable)
        }
    }

    /// Connections of agents that have another collector to go to.
    package var movablePeers: [PeerID] {
        connections.filter(\.value.hasOthers).keys.sorted()
    }

    /// Number of sources with received media still in memory, excluding those whose agents have no other collector.
    package var unwrittenSources: Int {
        sources.values.count { source in
            guard source.outstanding != MediaAmount() else { return false }
            guard let holder = source.holder, let connection = connections[holder] else {
                return true
            }
            return connection.hasOthers
        }
    }

    /// Sources whose agents have no other collector.
    package var immovableSources: [String] {
        sources { !$0.hasOthers && !isLastResort(of: $0) }
    }

    /// Sources whose agents have other collectors, which have all declined: they are recorded here, although agents are to go
    /// elsewhere.
    package var returnedSources: [String] { sources(of: isLastResort) }

    /// With two collectors in use, of two, an agent also reports that it has no other one.
    private func isLastResort(of connection: CollectorConnection) -> Bool {
        !connection.hasOthers && connection.statement.collectors > (settings.mirrored ? 2 : 1)
    }

    private func sources(of isWanted: (CollectorConnection) -> Bool) -> [String] {
        connections.values.filter(isWanted).flatMap { $0.accounts.map(\.name) }.sorted()
    }

    /// Refuses a peer for a reason that only the caller can determine (its payload, a full disk).
    ///
    /// The batch that caused it is reverted, if it was the last one received and nothing of it was used.
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

    /// Processes the passing of time: sends what is due, and detects silent peers.
    /// - Parameter heardUntil: everything that arrived before then has been processed; nil: everything has.
    package mutating func tick(
        now: Int64, heardUntil: Int64? = nil, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        var actions: [CollectorAction] = []
        instants.tick(now: now)
        if now >= nextScan {
            nextScan = now + Self.scanNanoseconds
            actions += scan(now: now, heardUntil: heardUntil ?? now, durable: durable)
        }
        return actions + acknowledgeDue(now: now, durable: durable)
    }

    /// Sends Acks immediately where much credit has returned: an agent that drains a backlog would otherwise wait for the next
    /// tick.
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

    /// Closes all connections: the agents will connect to another collector, or to this one after a restart.
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

// Helpers for several messages.
extension CollectorLink {
    /// The credit window of each source.
    package var windowBytes: UInt64 {
        let share = WireLimits.commonCreditWindowBytes / UInt64(max(1, accountCount))
        return min(
            WireLimits.creditWindowBytes, max(WireLimits.smallestCreditWindowBytes, share))
    }

    /// The remaining credit of a source of a connected agent, and the credit window of each.
    /// - Parameter source: its index in Hello; nil: the one with the least credit left.
    package func credit(
        of peer: PeerID, source: Int? = nil
    ) -> (leftBytes: UInt64, windowBytes: UInt64)? {
        guard let place = connections.index(forKey: peer) else { return nil }
        let connection = connections.values[place]
        let left =
            source.map { connection.accounts[$0].leftBytes }
            ?? connection.accounts.lazy.map(\.leftBytes).min()
        return left.map { ($0, windowBytes(of: connection)) }
    }

    /// Whether a claim waits for the answer of another agent, which should be processed without delay.
    package var isAnswerAwaited: Bool { !claims.isEmpty }

    /// Credit window of each source of a connection. The sources share the connection's window, so the total does not grow with
    /// their number.
    func windowBytes(of connection: CollectorConnection) -> UInt64 {
        min(
            windowBytes,
            settings.budgets.connectionWindowBytes / UInt64(max(1, connection.accounts.count)))
    }

    /// A connection has been welcomed, and replaces an earlier one with the same identity.
    mutating func keep(_ connection: CollectorConnection, of peer: PeerID) {
        let earlier = connections.updateValue(connection, forKey: peer)
        // A second Hello does not renew the used-up budget.
        if let earlier { connections[peer]?.control = earlier.control }
        accountCount += connection.accounts.count - (earlier?.accounts.count ?? 0)
    }

    /// Puts a connection on the list of connections that get an Ack at the next tick.
    mutating func markAckDue(_ peer: PeerID) {
        guard let place = connections.index(forKey: peer),
            !connections.values[place].isAckDue
        else { return }
        connections.values[place].isAckDue = true
        dueAcks.append(peer)
    }

    /// Sends a refusal, and forgets the connection.
    mutating func refuse(
        _ peer: PeerID, _ reason: RefusalReason, _ text: String, address: String,
        cause: RefusalCause? = nil, term: UInt64 = 0, now: Int64,
        durable: some DurabilityLookup
    ) -> [CollectorAction] {
        refusals[cause ?? .reason(reason), default: 0] += 1
        let connection = connections[peer]
        if connection == nil && claims[peer] == nil && !strangers.take(now: now) {
            return [.dismissed(peer)]
        }
        let text = printable(text)
        let refusal = Refusal(reason: reason, text: text, term: term)
        var actions: [CollectorAction] = [
            .send(peer, WireMessage.refusal(refusal).encoded()), .dismissed(peer),
        ]
        if let suppressed = logGate.pass(address, now: now) {
            let more = suppressed > 0 ? " (and \(suppressed) earlier refusals)" : ""
            actions.append(
                .log(
                    LinkLog(
                        .warning, "refused: \(text)\(more)",
                        metadata: connection?.metadata ?? ["address": address])))
        }
        claims.removeValue(forKey: peer)
        // The source continues, here or elsewhere.
        let goesOn = reason == .elsewhere || reason == .term
        actions += close(peer, goesOn ? .moved : .refused(reason))
        actions += admitUncontested(now: now, durable: durable)
        return actions
    }

    /// Makes a peer reconnect later: it has used up its budget. Nothing is lost, because it keeps its samples.
    mutating func putOff(
        _ peer: PeerID, _ text: String, address: String, now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        let text = printable(text)
        let refusal = Refusal(reason: .unknownConnection, text: text)
        var actions: [CollectorAction] = [
            .send(peer, WireMessage.refusal(refusal).encoded()), .dismissed(peer),
        ]
        refusals[.throttled, default: 0] += 1
        if let suppressed = logGate.pass(address, now: now) {
            let more = suppressed > 0 ? " (and \(suppressed) earlier refusals)" : ""
            actions.append(
                .log(
                    LinkLog(
                        .warning, "throttled: \(text)\(more)",
                        metadata: connections[peer]?.metadata ?? ["address": address])))
        }
        claims.removeValue(forKey: peer)
        return actions + close(peer, .throttled) + admitUncontested(now: now, durable: durable)
    }

    /// Forgets a connection and releases its sources.
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
            guard let size = report.reply.payloadSizeBytes else {
                guard found == 1 else {
                    throw .malformed("Report came in \(found) parts; this one has a header only")
                }
                return
            }
            guard message.payloadSizeBytes == size, message.extraParts == 0 else {
                throw .malformed(
                    "a snapshot of \(size) bytes came with \(message.payloadSizeBytes ?? 0)")
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

    /// Detects silent connections, decides claims, and finds Acks that are due by time.
    private mutating func scan(
        now: Int64, heardUntil: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        var actions: [CollectorAction] = []
        let interval = Int64(settings.heartbeatMilliseconds) * 1_000_000
        var due: [(peer: PeerID, connection: CollectorConnection)] = []
        for (peer, connection) in connections
        where now - min(connection.lastHeard, connection.lastAck) >= interval {
            due.append((peer, connection))
        }
        for (peer, connection) in due.sorted(by: { $0.peer < $1.peer }) {
            if heardUntil - connection.lastHeard >= WireLimits.silentHeartbeats * interval {
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
            let (persisted, released) = watermarks(
                of: connection.accounts[index].name, on: connection, durable)
            states.append(
                SourceState(
                    source: index, received: entry.received, persisted: persisted,
                    creditLimitBytes: limit,
                    watchMilliseconds: watch(connection.accounts[index].name), released: released))
            isComplete = isComplete && entry.isComplete(released: released ?? persisted)
        }
        let isClockNews =
            connection.statement.mayBeRecordedElsewhere && connection.toldClock != sessionClock
        if isClockNews { connection.toldClock = sessionClock }
        connections[peer] = connection
        var ack = Acknowledgement(
            sources: states, session: sessionName, sendInstants: UInt32(instants.count))
        if isClockNews { ack.clock = sessionClock }
        var actions: [CollectorAction] = [
            .send(peer, WireMessage.acknowledgement(ack).encoded())
        ]
        if isComplete { actions += close(peer, .complete) }
        return actions
    }
}
