import Media

// Admission of senders: Hellos, claims of a source that another agent holds, and the answers.
extension CollectorLink {
    /// For this long after a Ping, any message but a Heartbeat may have been sent before it, and does not prove that
    /// the holder is alive.
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
        if let elsewhere, hello.statement.hasOthers {
            // It is sent away for the first time, or this is a mirror's connection, which is independent of the first.
            let isNoReturn = connections[peer] != nil || hello.statement.isMirror
            return refuseIt(.elsewhere, elsewhere)
                + (isNoReturn ? [] : [.turnedAway(sources: names)])
        }
        // A second Hello while the holder is being pinged changes nothing.
        if claims[peer] != nil { return [] }
        if connections[peer] != nil {
            let refused = checkControlRate(of: message, now: now, durable: durable)
            guard refused.isEmpty else { return refused }
        } else if connections.count + claims.count >= settings.maximumAgents {
            return putOff(
                peer, "\(settings.maximumAgents) agents are connected, the most allowed",
                address: message.address, now: now, durable: durable)
        }
        if let excess = takeBudget(for: hello, owner: message.owner, now: now) {
            return putOff(peer, excess, address: message.address, now: now, durable: durable)
        }
        guard makeRoom(for: hello, durable) else {
            return putOff(
                peer,
                "\(settings.maximumSources) sources are known, the most allowed; a higher limit of open files at the "
                    + "collector (LimitNOFILE, ulimit -n) allows more",
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

    /// Pings a holder, unless it has just been pinged. Each answer counts against the holder's message rate, which
    /// repeated claims of its sources must not exhaust.
    private mutating func ask(_ holder: PeerID, now: Int64) -> CollectorAction? {
        if let last = connections[holder]?.lastPing, now - last < Self.staleNanoseconds {
            return nil
        }
        connections[holder]?.lastPing = now
        return .send(holder, WireMessage.ping.encoded())
    }

    /// Charges a Hello to its budgets.
    /// - Returns: nil, or one line that names the exhausted budget.
    private mutating func takeBudget(for hello: Hello, owner: String, now: Int64) -> String? {
        // Charged to the claimant: claims by others use up nothing of the source's own agent.
        for source in hello.sources
        where !greetings.take("\(owner)/\(source.name)", 1, now: now) {
            return "more than \(greetings.rate.perSecond) Hellos a second of \(source.name): "
                + "try again later"
        }
        // All together, if necessary into debt: otherwise agents with one source could starve an agent with many.
        let newcomers = hello.sources.count { sources[$0.name] == nil }
        guard newcomers == 0 || newSources.take(owner, Int64(newcomers), now: now) else {
            return "more than \(newSources.rate.perSecond) new sources a second from \(owner): "
                + "try again later"
        }
        guard newcomers == 0 || everySource.take(owner, Int64(newcomers), now: now) else {
            return
                "more than \(everySource.rate.burst) sources from \(owner): try again later"
        }
        return nil
    }

    /// A message from `peer` has arrived: it may decide claims of its sources.
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
            // The refusal of one claim may already have settled another.
            guard claims[newcomer] != nil else { continue }
            guard isAnswer || now - claim.since >= Self.staleNanoseconds else { continue }
            actions += refuse(
                newcomer, .sourceInUse, inUse(claim, by: holder), address: claim.address, now: now,
                durable: durable)
        }
        return actions
    }

    /// Admits every claim whose holders have disconnected or missed their deadline.
    mutating func admitUncontested(now: Int64, durable: some DurabilityLookup) -> [CollectorAction]
    {
        var actions: [CollectorAction] = []
        for (newcomer, claim) in inOrder(claims) {
            guard claims[newcomer] != nil else { continue }
            let holders = holders(contesting: claim.hello, from: newcomer)
            if let other = holders.sorted().first(where: { !claim.holders.contains($0) }),
                let connection = connections[other]
            {
                // Another agent holds the source by now, and is alive.
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

    /// The rights of a connection's key have changed.
    /// - Parameters:
    ///   - right: nil when the key is no longer authorised at all.
    ///   - text: the reason in that case.
    package mutating func rightChanged(
        of peer: PeerID, to right: WritingRight?, else text: String, now: Int64,
        durable: some DurabilityLookup
    ) -> [CollectorAction] {
        let names =
            connections[peer].map { $0.accounts.map(\.name) }
            ?? claims[peer].map { $0.hello.sources.map(\.name) }
        guard let names, let flaw = right.map({ $0.flaw(in: names) }) ?? text else { return [] }
        let address = connections[peer]?.address ?? claims[peer]?.address ?? ""
        return refuse(
            peer, .unauthorized, flaw, address: address, cause: right == nil ? .keyWithdrawn : nil,
            now: now, durable: durable)
    }

    /// Counts a Heartbeat, Hello or unknown message against the connection's rate.
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

    /// Claims, oldest first.
    private func inOrder(_ claims: [PeerID: SourceClaim]) -> [(key: PeerID, value: SourceClaim)] {
        claims.sorted { ($0.value.since, $0.key) < ($1.value.since, $1.key) }
    }

    private func inUse(_ claim: SourceClaim, by holder: CollectorConnection) -> String {
        let names = claim.hello.sources.map(\.name).filter { name in
            holder.accounts.contains { $0.name == name }
        }
        // Copies are sent by a replay, whose sources have the recorded names.
        let remedy =
            claim.hello.forgetsAtPersisted
            ? "replay into another collector" : "give this one another --source name"
        return "the source \(names.joined(separator: ", ")) is being sent by \(holder.agent) at "
            + "\(holder.address): stop that agent, or \(remedy)"
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

    /// Whether the sources of `hello` can be kept in memory; drops entries that are not needed.
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
        if let seen = seenTerm(of: hello, durable) {
            return refuse(
                peer, .term,
                "the spool \(hello.spool) was sent here under the term \(seen) before; \(hello.agent) comes with "
                    + "\(hello.statement.term): it was put back to an earlier state, or is a copy",
                address: address, term: seen, now: now, durable: durable)
        }
        var actions: [CollectorAction] = []
        // The same agent's earlier connections: what is still in flight on them is sent again.
        let earlier = Set(hello.sources.compactMap { sources[$0.name]?.holder })
        for holder in earlier.sorted() where holder != peer { actions += close(holder, .replaced) }
        // A second Hello over one connection releases the sources that it no longer names.
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
            var (entry, missing) = entry(for: offer, of: hello, holder: peer, durable)
            entry.keptFrom = offer.firstSequence
            sources[offer.name] = entry
            let (persisted, released) = watermarks(of: offer.name, on: connection, durable)
            let limit = connection.accounts[index].limitBytes(
                window: WireLimits.smallestCreditWindowBytes, outstanding: entry.heldBytes)
            connection.accounts[index].announcedBytes = limit
            states.append(
                SourceState(
                    source: index, received: entry.received,
                    persisted: persisted, creditLimitBytes: limit,
                    watchMilliseconds: watch(offer.name), released: released))
            // A source that has ended only reconnects to learn that everything is safe.
            guard entry.goodbye == nil else { continue }
            var introduction = SourceIntroduction(
                name: offer.name, agent: hello.agent, address: address, spool: hello.spool,
                epochs: hello.epochs, tracks: entry.tracks)
            introduction.software = hello.software
            introduction.owner = owner
            introduction.received = entry.received
            introduction.missing = missing
            introduction.held = offer.held
            introduction.statement = connection.statement
            actions.append(.opened(introduction))
            if let flaw = mirrorFlaw(of: hello) {
                actions.append(
                    .log(
                        LinkLog(
                            .warning, flaw,
                            metadata: connection.metadata.merging(["source": offer.name]) { $1 })))
            }
        }
        if connection.statement.mayBeRecordedElsewhere { connection.toldClock = sessionClock }
        keep(connection, of: peer)
        // The credit of each source is known when all sources that connect together have connected.
        markAckDue(peer)
        var welcome = Welcome(
            software: settings.software, session: sessionName,
            heartbeatMilliseconds: settings.heartbeatMilliseconds, sources: states)
        welcome.collector = settings.name
        welcome.clock = connection.toldClock
        welcome.mirrored = settings.mirrored
        actions.append(.send(peer, WireMessage.welcome(welcome).encoded()))
        let names = hello.sources.map(\.name).joined(separator: ", ")
        actions.append(
            .log(
                LinkLog(
                    .debug, "\(hello.agent) sends \(names)",
                    metadata: connection.metadata.merging(["software": hello.software]) { $1 })))
        return actions
    }

    /// Why an agent's records will not be at two collectors as required; nil if they will.
    private func mirrorFlaw(of hello: Hello) -> String? {
        guard settings.mirrored else { return nil }
        if hello.minor < WireLimits.mirrorMinor {
            return
                "--release mirrored does not hold for \(hello.agent): its agent (\(hello.software)) "
                + "is too old to send to two collectors; upgrade it"
        }
        guard hello.statement.collectors == 1 else { return nil }
        return
            "--release mirrored does not hold for \(hello.agent): it has one collector; give its "
            + "agent --collector with two endpoints"
    }

    /// The highest known term of an agent's spool, if its Hello has a lower one; otherwise, or without terms, nil.
    private func seenTerm(of hello: Hello, _ durable: some DurabilityLookup) -> UInt64? {
        let term = hello.statement.term
        guard term > 0 else { return nil }
        let seen = hello.sources.map { durable.archived(source: $0.name, spool: hello.spool).term }
        return seen.max().flatMap { $0 > term ? $0 : nil }
    }

    /// The entry of an offered source from now on, and the records that are missing.
    private func entry(
        for offer: SourceOffer, of hello: Hello, holder: PeerID, _ durable: some DurabilityLookup
    ) -> (SourceEntry, missing: ClosedRange<UInt64>?) {
        let known = sources[offer.name]
        func isDurable(_ spool: SourceEntry.Spool) -> Bool {
            durable.persisted(offer.name, spool.identity) >= spool.received
        }
        var entry: SourceEntry
        if let known, known.spool == hello.spool {
            entry = known
            // Records received after the offer may have changed the formats; the link has followed them.
            if entry.received < offer.firstSequence || entry.isFresh { entry.tracks = offer.tracks }
        } else if let known,
            let before = known.earlier.first(where: { $0.identity == hello.spool })
        {
            entry = SourceEntry(
                spool: hello.spool, received: before.received,
                tracks: before.received < offer.firstSequence ? offer.tracks : before.tracks,
                goodbye: before.goodbye, outstanding: known.outstanding,
                unpersisted: before.unpersisted)
            entry.earlier = known.spools(but: hello.spool, isDurable: isDurable)
        } else {
            let archived = durable.archived(source: offer.name, spool: hello.spool)
            entry = SourceEntry(
                spool: hello.spool, received: archived.persisted,
                tracks: offer.tracks,
                // An agent that continues after its goodbye knows that the goodbye arrived.
                goodbye: archived.goodbye.flatMap { offer.firstSequence <= $0 ? $0 : nil },
                outstanding: known?.outstanding ?? MediaAmount(), resumedAt: archived.persisted)
            entry.earlier = known?.spools(but: hello.spool, isDurable: isDurable) ?? []
        }
        entry.holder = holder
        guard offer.firstSequence > entry.received + 1 else { return (entry, nil) }
        let missing = entry.received + 1...offer.firstSequence - 1
        entry.received = missing.upperBound
        // Where another collector has a part of a record, the whole record follows.
        entry.resumedAt = missing.upperBound
        return (entry, missing)
    }
}
