package import Media

// Messages of a welcomed agent: records and heartbeats.
extension CollectorLink {
    mutating func take(
        _ samples: Samples, from message: IncomingMessage, now: Int64,
        durable: some DurabilityLookup
    ) -> [CollectorAction] {
        let size = samples.payloadSizeBytes
        let range = samples.firstSequence...samples.lastSequence
        return takeRecord(
            range, of: samples.source, costBytes: size, from: message, now: now, durable: durable
        ) { entry, name, connection in
            guard connection.epochs[samples.epoch] != nil else {
                return .refuse(unknownEpoch(samples.epoch))
            }
            for run in samples.runs
            where !entry.tracks.contains(where: { $0.kind == run.track }) {
                return .refuse(
                    .malformed("\(name) sends \(run.track) samples but has no such track"))
            }
            entry.outstanding += samples.amount
            return .take(.samples(source: name, samples))
        }
    }

    mutating func take(
        _ gap: GapRecord, from message: IncomingMessage, now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        takeRecord(
            gap.sequences, of: gap.source, costBytes: 0, from: message, now: now, durable: durable
        ) { entry, name, connection in
            guard connection.epochs[gap.epoch] != nil else {
                return .refuse(unknownEpoch(gap.epoch))
            }
            entry.keep(gap.sequences.upperBound, headerBytes: message.header.count)
            return .take(.gap(source: name, gap))
        }
    }

    mutating func take(
        _ update: TrackUpdate, from message: IncomingMessage, now: Int64,
        durable: some DurabilityLookup
    ) -> [CollectorAction] {
        takeRecord(
            update.sequence...update.sequence, of: update.source, costBytes: 0, from: message,
            now: now, durable: durable
        ) { entry, name, _ in
            entry.tracks.removeAll { $0.kind == update.format.kind }
            entry.tracks.append(update.format)
            entry.keep(update.sequence, headerBytes: message.header.count)
            return .take(.trackUpdate(source: name, update))
        }
    }

    mutating func take(
        _ goodbye: Goodbye, from message: IncomingMessage, now: Int64,
        durable: some DurabilityLookup
    ) -> [CollectorAction] {
        takeRecord(
            goodbye.sequence...goodbye.sequence, of: goodbye.source, costBytes: 0, from: message,
            now: now, durable: durable
        ) { entry, name, _ in
            entry.goodbye = goodbye.sequence
            entry.keep(goodbye.sequence, headerBytes: message.header.count)
            return .take(.goodbye(source: name, goodbye))
        }
    }

    mutating func take(
        _ heartbeat: Heartbeat, from message: IncomingMessage, now: Int64,
        durable: some DurabilityLookup
    ) -> [CollectorAction] {
        guard let connection = connections[message.peer] else {
            return refuseStranger(message, now: now, durable: durable)
        }
        let refused = checkControlRate(of: message, now: now, durable: durable)
        guard refused.isEmpty else { return refused }
        func refuseIt(_ error: WireError) -> [CollectorAction] {
            refuse(
                message.peer, error.reason, error.description, address: message.address, now: now,
                durable: durable)
        }
        for exchange in heartbeat.clockExchanges where connection.epochs[exchange.epoch] == nil {
            return refuseIt(unknownEpoch(exchange.epoch))
        }
        var actions = report(heartbeat.clockExchanges, of: connection)
        for health in heartbeat.health {
            guard connection.accounts.indices.contains(health.source) else {
                return refuseIt(unknownSource(health.source, of: connection))
            }
            let name = connection.accounts[health.source].name
            if let entry = sources[name], health.newestSequence < entry.received {
                return actions
                    + refuse(
                        message.peer, .sequence,
                        "\(name) has numbered \(health.newestSequence) records, but "
                            + "\(entry.received) were received: its numbers went back",
                        address: message.address, now: now, durable: durable)
            }
            actions.append(.health(source: name, health))
        }
        grantLargest(to: message.peer)
        return actions
    }

    /// The codec of a source's pictures from its next record on; nil without a video track.
    package func videoCodec(of source: String) -> VideoCodec? {
        for case .video(let format) in sources[source]?.tracks ?? [] { return format.codec }
        return nil
    }

    /// Prevents a record from being too large for the window indefinitely. Checking once a second is enough, because
    /// the largest records are rare.
    private mutating func grantLargest(to peer: PeerID) {
        guard var connection = connections[peer] else { return }
        var hasGranted = false
        for index in connection.accounts.indices {
            let account = connection.accounts[index]
            let outstanding = sources[account.name]?.heldBytes ?? 0
            guard account.isTooLowForLargest(outstanding: outstanding) else { continue }
            connection.accounts[index].announcedBytes =
                account.consumedBytes + CollectorConnection.Account.largestRecordBytes
            hasGranted = true
        }
        guard hasGranted else { return }
        connections[peer] = connection
        markAckDue(peer)
    }

    /// Clock exchanges, grouped by the epoch of their clock.
    func report(
        _ exchanges: [ReportedExchange], of connection: CollectorConnection
    ) -> [CollectorAction] {
        guard !exchanges.isEmpty else { return [] }
        let byEpoch = Dictionary(grouping: exchanges, by: \.epoch)
        return byEpoch.sorted { $0.key < $1.key }.compactMap { number, exchanges in
            connection.epochs[number].map {
                .clockExchanges(
                    ClockOwner(owner: connection.owner, spool: connection.spool), epoch: $0,
                    exchanges)
            }
        }
    }

    /// Whether a connection's records exceed its memory budget.
    private func isOverMemory(_ connection: CollectorConnection) -> Bool {
        let held = connection.accounts.reduce(UInt64(0)) {
            $0.clampedAdding(sources[$1.name]?.heldBytes ?? 0)
        }
        return held > settings.budgets.connectionMemoryBytes
    }

    /// The decision on a record whose numbers are the next ones.
    private enum Verdict {
        case take(CollectorAction)
        case refuse(WireError)
    }

    /// The checks of all records: a known connection and source, credit, and consecutive numbers.
    private mutating func takeRecord(
        _ range: ClosedRange<UInt64>, of index: Int, costBytes payloadBytes: Int,
        from message: IncomingMessage, now: Int64, durable: some DurabilityLookup,
        _ judge: (inout SourceEntry, String, CollectorConnection) -> Verdict
    ) -> [CollectorAction] {
        let peer = message.peer
        guard let holder = connections.index(forKey: peer) else {
            return refuseStranger(message, now: now, durable: durable)
        }
        let connection = connections.values[holder]
        func refuseIt(_ reason: RefusalReason, _ text: String) -> [CollectorAction] {
            refuse(peer, reason, text, address: message.address, now: now, durable: durable)
        }
        guard connection.accounts.indices.contains(index) else {
            return refuseIt(.malformed, unknownSource(index, of: connection).description)
        }
        var account = connection.accounts[index]
        account.consumedBytes += UInt64(payloadBytes) + WireLimits.recordCostBytes
        guard account.consumedBytes <= account.announcedBytes else {
            return refuseIt(
                .limit,
                "\(account.name) has sent \(account.consumedBytes) bytes where "
                    + "\(account.announcedBytes) were granted")
        }
        guard let place = sources.index(forKey: account.name),
            sources.values[place].holder == peer
        else { preconditionFailure("a connection holds its sources") }
        connections.values[holder].accounts[index] = account
        instants.add(bytes: payloadBytes)
        let window = windowBytes(of: connection)
        if sources.values[place].heldBytes > window, isOverMemory(connection) {
            return putOff(
                peer,
                "\(account.name) exceeds the memory that an agent may use in the collector: its samples "
                    + "are a few bytes each, or the disk is slow",
                address: message.address, now: now, durable: durable)
        }
        var actions: [CollectorAction] = []
        switch sources.values[place].placement(first: range.lowerBound, last: range.upperBound) {
        case .duplicate:
            duplicateRecords.addClamped(
                (range.upperBound - range.lowerBound).clampedAdding(1))
        case .violation(let text):
            return refuseIt(.sequence, "\(account.name): \(text)")
        case .next:
            switch judge(&sources.values[place], account.name, connection) {
            case .refuse(let error): return refuseIt(error.reason, error.description)
            case .take(let action):
                sources.values[place].received = range.upperBound
                actions.append(action)
            }
        }
        let held = sources.values[place].heldBytes
        let limit = account.limitBytes(window: window, outstanding: held)
        if limit - account.announcedBytes >= window / 2 { markAckDue(peer) }
        return actions
    }

    mutating func refuseStranger(
        _ message: IncomingMessage, now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        // An agent that still waits for a source's holder should not send yet; its messages are ignored.
        if claims[message.peer] != nil { return [] }
        return refuse(
            message.peer, isStopping ? .stopping : .unknownConnection,
            isStopping
                ? "the collector is stopping" : "unknown connection: send Hello first",
            address: message.address, now: now, durable: durable)
    }
}

private func unknownEpoch(_ number: UInt32) -> WireError {
    .malformed("the epoch \(number) is not among those of the Hello")
}

private func unknownSource(_ index: Int, of connection: CollectorConnection) -> WireError {
    .malformed("the source \(index) is not among the \(connection.accounts.count) of the Hello")
}
