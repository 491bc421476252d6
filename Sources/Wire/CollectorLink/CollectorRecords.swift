import Media

// What an agent sends once it is welcome: records, and signs of life.
extension CollectorLink {
    mutating func take(
        _ samples: Samples, from message: IncomingMessage, now: Int64
    ) -> [CollectorAction] {
        let size = samples.payloadSizeBytes
        let range = samples.firstSequence...samples.lastSequence
        return takeRecord(
            range, of: samples.source, costBytes: size, from: message, now: now
        ) { link, name, connection in
            guard connection.epochs[samples.epoch] != nil else {
                return .refuse(unknownEpoch(samples.epoch))
            }
            let kinds = link.sources[name]?.tracks.map(\.kind) ?? []
            if let run = samples.runs.first(where: { !kinds.contains($0.track) }) {
                return .refuse(
                    .malformed("\(name) sends \(run.track) samples without such a track"))
            }
            link.sources[name]?.outstandingBytes += UInt64(size)
            return .take(.samples(source: name, samples))
        }
    }

    mutating func take(
        _ gap: GapRecord, from message: IncomingMessage, now: Int64
    ) -> [CollectorAction] {
        takeRecord(
            gap.sequences, of: gap.source, costBytes: 0, from: message, now: now
        ) { _, name, connection in
            guard connection.epochs[gap.epoch] != nil else {
                return .refuse(unknownEpoch(gap.epoch))
            }
            return .take(.gap(source: name, gap))
        }
    }

    mutating func take(
        _ update: TrackUpdate, from message: IncomingMessage, now: Int64
    ) -> [CollectorAction] {
        takeRecord(
            update.sequence...update.sequence, of: update.source, costBytes: 0, from: message,
            now: now
        ) { link, name, _ in
            link.sources[name]?.tracks.removeAll { $0.kind == update.format.kind }
            link.sources[name]?.tracks.append(update.format)
            return .take(.trackUpdate(source: name, update))
        }
    }

    mutating func take(
        _ goodbye: Goodbye, from message: IncomingMessage, now: Int64
    ) -> [CollectorAction] {
        takeRecord(
            goodbye.sequence...goodbye.sequence, of: goodbye.source, costBytes: 0, from: message,
            now: now
        ) { link, name, _ in
            link.sources[name]?.goodbye = goodbye.sequence
            return .take(.goodbye(source: name, goodbye))
        }
    }

    mutating func take(
        _ heartbeat: Heartbeat, from message: IncomingMessage, now: Int64
    ) -> [CollectorAction] {
        guard let connection = connections[message.peer] else {
            return refuseStranger(message, now: now)
        }
        let refused = checkControlRate(of: message, now: now)
        guard refused.isEmpty else { return refused }
        func refuseIt(_ error: WireError) -> [CollectorAction] {
            refuse(
                message.peer, error.reason, error.description, address: message.address, now: now)
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
                            + "\(entry.received) were taken in: its numbers went back",
                        address: message.address, now: now)
            }
            actions.append(.health(source: name, health))
        }
        grantLargest(to: message.peer)
        return actions
    }

    /// Sees to it that no record is too large for the window for ever. Once a second at most is enough: the largest are rare.
    private mutating func grantLargest(to peer: PeerID) {
        guard var connection = connections[peer] else { return }
        var hasGranted = false
        for index in connection.accounts.indices {
            let account = connection.accounts[index]
            let outstanding = sources[account.name]?.outstandingBytes ?? 0
            guard account.isTooLowForLargest(outstanding: outstanding) else { continue }
            connection.accounts[index].announcedBytes =
                account.consumedBytes + CollectorConnection.Account.largestRecordBytes
            hasGranted = true
        }
        guard hasGranted else { return }
        connections[peer] = connection
        markAckDue(peer)
    }

    /// Clock exchanges, sorted by the boot whose clock they are of.
    func report(
        _ exchanges: [ReportedExchange], of connection: CollectorConnection
    ) -> [CollectorAction] {
        guard !exchanges.isEmpty else { return [] }
        let byEpoch = Dictionary(grouping: exchanges, by: \.epoch)
        return byEpoch.sorted { $0.key < $1.key }.compactMap { number, exchanges in
            connection.epochs[number].map { .clockExchanges(epoch: $0, exchanges) }
        }
    }

    /// What is to become of a record whose numbers are the next ones.
    private enum Verdict {
        case take(CollectorAction)
        case refuse(WireError)
    }

    /// What all records have in common: a known connection and source, credit, and numbers that follow each other.
    private mutating func takeRecord(
        _ range: ClosedRange<UInt64>, of index: Int, costBytes payloadBytes: Int,
        from message: IncomingMessage, now: Int64,
        _ judge: (inout CollectorLink, String, CollectorConnection) -> Verdict
    ) -> [CollectorAction] {
        let peer = message.peer
        guard let connection = connections[peer] else { return refuseStranger(message, now: now) }
        func refuseIt(_ reason: RefusalReason, _ text: String) -> [CollectorAction] {
            refuse(peer, reason, text, address: message.address, now: now)
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
        guard let entry = sources[account.name], entry.holder == peer else {
            preconditionFailure("a connection holds its sources")
        }
        connections[peer]?.accounts[index] = account
        var actions: [CollectorAction] = []
        switch entry.placement(first: range.lowerBound, last: range.upperBound) {
        case .duplicate:
            duplicateRecords += range.upperBound - range.lowerBound + 1
        case .violation(let text):
            return refuseIt(.sequence, "\(account.name): \(text)")
        case .next:
            switch judge(&self, account.name, connection) {
            case .refuse(let error): return refuseIt(error.reason, error.description)
            case .take(let action):
                sources[account.name]?.received = range.upperBound
                actions.append(action)
            }
        }
        let limit = account.limitBytes(
            window: windowBytes, outstanding: sources[account.name]?.outstandingBytes ?? 0)
        if limit - account.announcedBytes >= windowBytes / 2 { markAckDue(peer) }
        return actions
    }

    mutating func refuseStranger(
        _ message: IncomingMessage, now: Int64
    ) -> [CollectorAction] {
        // An agent that still waits for a source's holder has no business sending yet, but does no harm.
        if claims[message.peer] != nil { return [] }
        return refuse(
            message.peer, isStopping ? .stopping : .unknownConnection,
            isStopping
                ? "the collector is stopping" : "this connection is not known here: say Hello",
            address: message.address, now: now)
    }
}

private func unknownEpoch(_ number: UInt32) -> WireError {
    .malformed("the epoch \(number) is not among those of the Hello")
}

private func unknownSource(_ index: Int, of connection: CollectorConnection) -> WireError {
    .malformed("the source \(index) is not among the \(connection.accounts.count) of the Hello")
}
