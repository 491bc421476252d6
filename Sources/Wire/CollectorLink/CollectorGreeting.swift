import Media

// Who may send: greetings, claims of a source that another agent holds, and what the agent is told.
extension CollectorLink {
    /// How long after a Ping anything but a Heartbeat may still have been on its way before it: no sign of life.
    private static let staleNanoseconds: Int64 = 500_000_000

    mutating func greet(
        _ hello: Hello, from message: IncomingMessage, now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        let peer = message.peer
        func refuseIt(_ reason: RefusalReason, _ text: String) -> [CollectorAction] {
            refuse(peer, reason, text, address: message.address, now: now, durable: durable)
        }
        if isStopping { return refuseIt(.stopping, "the collector is stopping") }
        let names = hello.sources.map(\.name)
        if let flaw = message.right?.flaw(in: names) { return refuseIt(.unauthorized, flaw) }
        // A second Hello while the holder is being asked changes nothing.
        if claims[peer] != nil { return [] }
        if connections[peer] != nil {
            let refused = checkControlRate(of: message, now: now, durable: durable)
            guard refused.isEmpty else { return refused }
        } else if connections.count + claims.count >= settings.maximumConnections {
            return putOff(
                peer, "\(settings.maximumConnections) agents are connected, the most allowed",
                address: message.address, now: now, durable: durable)
        }
        if let excess = takeBudget(for: hello, owner: message.owner, now: now) {
            return putOff(peer, excess, address: message.address, now: now, durable: durable)
        }
        guard makeRoom(for: hello, durable) else {
            return putOff(
                peer, "\(settings.maximumSources) sources are known, the most allowed",
                address: message.address, now: now, durable: durable)
        }
        let holders = holders(contesting: hello, from: peer)
        guard !holders.isEmpty else {
            return admit(
                hello, peer: peer, address: message.address, owner: message.owner, now: now,
                durable: durable)
        }
        claims[peer] = SourceClaim(
            hello: hello, address: message.address, owner: message.owner, since: now,
            holders: holders)
        return holders.sorted().compactMap { ask($0, now: now) }
    }

    /// Asks a holder whether it is still there, unless it has just been asked: each answer counts against its rate of messages, and
    /// whoever claims its sources over and over must not use that up.
    private mutating func ask(_ holder: PeerID, now: Int64) -> CollectorAction? {
        if let last = connections[holder]?.lastPing, now - last < Self.staleNanoseconds {
            return nil
        }
        connections[holder]?.lastPing = now
        return .send(holder, WireMessage.ping.encoded())
    }

    /// Takes what a greeting costs off its budgets.
    /// - Returns: nil, or in one line what is used up.
    private mutating func takeBudget(for hello: Hello, owner: String, now: Int64) -> String? {
        // Of whoever asks: others who ask for the same source use up nothing of its own agent's.
        for source in hello.sources
        where !greetings.take("\(owner)/\(source.name)", 1, now: now) {
            return "\(source.name) greets more than \(greetings.rate.perSecond) times a second: "
                + "say Hello again later"
        }
        // All at once, into debt if need be: an agent with many sources must not wait for ever behind those with one.
        let newcomers = hello.sources.count { sources[$0.name] == nil }
        guard newcomers == 0 || newSources.take(owner, Int64(newcomers), now: now) else {
            return "more than \(newSources.rate.perSecond) new sources a second from \(owner): "
                + "say Hello again later"
        }
        guard newcomers == 0 || everySource.take(owner, Int64(newcomers), now: now) else {
            return
                "more than \(everySource.rate.burst) sources from \(owner): say Hello again later"
        }
        return nil
    }

    /// A message from `peer` has come: claims of its sources may be decided by it.
    mutating func settleClaims(
        against peer: PeerID, by message: WireMessage, now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        guard !claims.isEmpty, let holder = connections[peer] else { return [] }
        let isAnswer =
            switch message {
            case .heartbeat: true
            case .hello, .samples, .gap, .trackUpdate, .goodbye, .clockProbe, .welcome,
                .acknowledgement, .refusal, .clockReply, .ping, .command, .report, .enrol,
                .enrolled,
                .unknown:
                false
            }
        var actions: [CollectorAction] = []
        for (newcomer, claim) in inOrder(claims) where claim.holders.contains(peer) {
            // Refusing one claim may already have settled another.
            guard claims[newcomer] != nil else { continue }
            guard isAnswer || now - claim.since >= Self.staleNanoseconds else { continue }
            actions += refuse(
                newcomer, .sourceInUse, inUse(claim, by: holder), address: claim.address, now: now,
                durable: durable)
        }
        return actions
    }

    /// Admits every claim whose holders are gone, or have let their time pass.
    mutating func admitUncontested(now: Int64, durable: some DurabilityLookup) -> [CollectorAction]
    {
        var actions: [CollectorAction] = []
        for (newcomer, claim) in inOrder(claims) {
            guard claims[newcomer] != nil else { continue }
            let holders = holders(contesting: claim.hello, from: newcomer)
            if let other = holders.sorted().first(where: { !claim.holders.contains($0) }),
                let connection = connections[other]
            {
                // Somebody else took it in the meantime, and is fresh.
                claims.removeValue(forKey: newcomer)
                actions += refuse(
                    newcomer, .sourceInUse, inUse(claim, by: connection), address: claim.address,
                    now: now, durable: durable)
                continue
            }
            guard holders.isEmpty || now >= claim.deadline else { continue }
            claims.removeValue(forKey: newcomer)
            for holder in holders.sorted() {
                actions.append(
                    .log(
                        LinkLog(
                            .notice,
                            "\(claim.hello.agent) takes over from \(connections[holder]?.agent ?? ""), "
                                + "which does not answer",
                            metadata: ["agent": claim.hello.agent, "address": claim.address])))
                actions += close(holder, .silent)
            }
            actions += admit(
                claim.hello, peer: newcomer, address: claim.address, owner: claim.owner, now: now,
                durable: durable)
        }
        return actions
    }

    /// What the key of a connection allows is not what it was.
    /// - Parameters:
    ///   - right: nil when the key is not authorised at all any more.
    ///   - text: says so then.
    package mutating func rightChanged(
        of peer: PeerID, to right: WritingRight?, else text: String, now: Int64,
        durable: some DurabilityLookup
    ) -> [CollectorAction] {
        let names =
            connections[peer].map { $0.accounts.map(\.name) }
            ?? claims[peer].map { $0.hello.sources.map(\.name) }
        guard let names, let flaw = right.map({ $0.flaw(in: names) }) ?? text else { return [] }
        return refuse(peer, .unauthorized, flaw, now: now, durable: durable)
    }

    /// The Heartbeat, Hello or unknown message of a connection counts against its rate.
    mutating func checkControlRate(
        of message: IncomingMessage, now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        guard connections[message.peer] != nil,
            connections[message.peer]?.control.take(now: now) == false
        else { return [] }
        return refuse(
            message.peer, .limit,
            "more than \(WireLimits.controlMessagesPerSecond) control messages per second",
            address: message.address, now: now, durable: durable)
    }

    /// Claims, the oldest first.
    private func inOrder(_ claims: [PeerID: SourceClaim]) -> [(key: PeerID, value: SourceClaim)] {
        claims.sorted { ($0.value.since, $0.key) < ($1.value.since, $1.key) }
    }

    private func inUse(_ claim: SourceClaim, by holder: CollectorConnection) -> String {
        let names = claim.hello.sources.map(\.name).filter { name in
            holder.accounts.contains { $0.name == name }
        }
        return "the source \(names.joined(separator: ", ")) is being sent by \(holder.agent) at "
            + "\(holder.address): stop that agent, or give this one another --source name"
    }

    /// Live connections of other agents that hold a source of `hello`.
    private func holders(contesting hello: Hello, from peer: PeerID) -> Set<PeerID> {
        var holders: Set<PeerID> = []
        for source in hello.sources {
            guard let holder = sources[source.name]?.holder, holder != peer,
                connections[holder]?.spool != hello.spool
            else { continue }
            holders.insert(holder)
        }
        return holders
    }

    /// Whether the sources of `hello` can be remembered; forgets what need not be.
    private mutating func makeRoom(for hello: Hello, _ durable: some DurabilityLookup) -> Bool {
        func newcomers() -> Int { hello.sources.filter { sources[$0.name] == nil }.count }
        if sources.count + newcomers() > settings.maximumSources {
            sources = sources.filter { name, entry in
                !entry.isForgettable(durable: durable.persisted(name, entry.spool))
            }
        }
        return sources.count + newcomers() <= settings.maximumSources
    }

    private mutating func admit(
        _ hello: Hello, peer: PeerID, address: String, owner: String, now: Int64,
        durable: some DurabilityLookup
    ) -> [CollectorAction] {
        var actions: [CollectorAction] = []
        // The same agent's earlier connections: what is still on its way through them is sent again.
        let earlier = Set(hello.sources.compactMap { sources[$0.name]?.holder })
        for holder in earlier.sorted() where holder != peer { actions += close(holder, .replaced) }
        // A second Hello over one connection lets go of what it does not name again.
        if let before = connections[peer] {
            for account in before.accounts
            where !hello.sources.contains(where: { $0.name == account.name }) {
                sources[account.name]?.holder = nil
                actions.append(.closed(source: account.name, .replaced))
            }
        }
        var connection = CollectorConnection(
            hello: hello, address: address, owner: owner, now: now)
        actions += report(hello.clockExchanges, of: connection)
        var states: [SourceState] = []
        for (index, offer) in hello.sources.enumerated() {
            let (entry, missing) = entry(for: offer, of: hello, holder: peer, durable)
            sources[offer.name] = entry
            let limit = connection.accounts[index].limitBytes(
                window: WireLimits.smallestCreditWindowBytes, outstanding: entry.heldBytes)
            connection.accounts[index].announcedBytes = limit
            states.append(
                SourceState(
                    source: index, received: entry.received,
                    persisted: persisted(of: offer.name, durable),
                    creditLimitBytes: limit))
            // One that has said goodbye comes back only to hear that everything is safe.
            guard entry.goodbye == nil else { continue }
            actions.append(
                .opened(
                    OpenedSource(
                        name: offer.name, agent: hello.agent, software: hello.software,
                        address: address, owner: owner, spool: hello.spool, epochs: hello.epochs,
                        tracks: entry.tracks, received: entry.received, missing: missing)))
        }
        keep(connection, of: peer)
        // How much more there is for each is known when all who come at once have come.
        markAckDue(peer)
        let welcome = Welcome(
            software: settings.software, session: sessionName,
            heartbeatMilliseconds: settings.heartbeatMilliseconds, sources: states)
        actions.append(.send(peer, WireMessage.welcome(welcome).encoded()))
        let names = hello.sources.map(\.name).joined(separator: ", ")
        actions.append(
            .log(
                LinkLog(
                    .debug, "\(hello.agent) sends \(names)",
                    metadata: connection.metadata.merging(["software": hello.software]) { $1 })))
        return actions
    }

    /// What is remembered of an offered source from now on, and which records have gone missing.
    private func entry(
        for offer: SourceOffer, of hello: Hello, holder: PeerID, _ durable: some DurabilityLookup
    ) -> (SourceEntry, missing: ClosedRange<UInt64>?) {
        let known = sources[offer.name]
        var entry: SourceEntry
        if let known, known.spool == hello.spool {
            entry = known
            // What was taken in behind the offer may have changed the formats; the link has followed.
            if entry.received < offer.firstSequence || entry.isFresh { entry.tracks = offer.tracks }
        } else if let known,
            let before = known.earlier.first(where: { $0.identity == hello.spool })
        {
            entry = SourceEntry(
                spool: hello.spool, received: before.received,
                tracks: before.received < offer.firstSequence ? offer.tracks : before.tracks,
                goodbye: before.goodbye, outstanding: known.outstanding,
                unpersisted: before.unpersisted)
            entry.earlier = known.spools(but: hello.spool)
        } else {
            let archived = durable.archived(source: offer.name, spool: hello.spool)
            entry = SourceEntry(
                spool: hello.spool, received: archived.persisted,
                tracks: offer.tracks,
                // An agent that goes on behind its goodbye has heard that it arrived.
                goodbye: archived.goodbye.flatMap { offer.firstSequence <= $0 ? $0 : nil },
                outstanding: known?.outstanding ?? MediaAmount(), resumedAt: archived.persisted)
            entry.earlier = known?.spools(but: hello.spool) ?? []
        }
        entry.holder = holder
        guard offer.firstSequence > entry.received + 1 else { return (entry, nil) }
        let missing = entry.received + 1...offer.firstSequence - 1
        entry.received = missing.upperBound
        return (entry, missing)
    }
}
