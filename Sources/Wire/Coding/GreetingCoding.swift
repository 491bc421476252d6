import FoundationEssentials
import Media
import SwiftProtobuf

extension Hello {
    func encoded() -> Tributary_V1_Hello {
        var message = Tributary_V1_Hello()
        message.magic = WireLimits.magic
        message.major = WireLimits.major
        message.minor = minor
        message.software = software
        message.agent = agent
        message.spool = Data(spool.bytes)
        message.epochs = epochs.map { epoch in
            var encoded = Tributary_V1_Epoch()
            encoded.number = epoch.number
            encoded.identity = Data(epoch.identity.bytes)
            if let zero = epoch.zeroUTCNanoseconds { encoded.zeroUtcNanoseconds = zero }
            return encoded
        }
        message.sources = sources.map { $0.encoded() }
        message.clockExchanges = clockExchanges.map { $0.encoded() }
        message.forgetsAtPersisted = forgetsAtPersisted
        statement.encode(into: &message)
        return message
    }

    init(decoding message: Tributary_V1_Hello) throws(WireError) {
        // Checked first, because it distinguishes other programs and other versions from agents: everything else may differ
        // there.
        guard message.magic == WireLimits.magic else { throw .magic(message.magic) }
        guard message.major == WireLimits.major else { throw .version(message.major) }
        minor = message.minor
        software = try FieldChecks.text(
            message.software, "Hello.software", limit: WireLimits.labelBytes)
        agent = try FieldChecks.text(message.agent, "Hello.agent", limit: WireLimits.labelBytes)
        spool = try FieldChecks.identity(message.spool, "Hello.spool")
        epochs = try Epoch.decode(message.epochs)
        try FieldChecks.count(
            message.sources.count, "Hello.sources", 1...WireLimits.sourcesPerAgent)
        sources = []
        for source in message.sources {
            let offer = try SourceOffer(decoding: source)
            guard !sources.contains(where: { $0.name == offer.name }) else {
                throw .name("Hello names the source \(offer.name) twice")
            }
            sources.append(offer)
        }
        clockExchanges = try ReportedExchange.decode(
            message.clockExchanges, "Hello.clock_exchanges")
        for exchange in clockExchanges
        where !epochs.contains(where: { $0.number == exchange.epoch }) {
            throw .malformed("Hello.clock_exchanges has an epoch that Hello.epochs lacks")
        }
        forgetsAtPersisted = message.forgetsAtPersisted
        statement = try AgentStatement(decoding: message)
    }
}

extension AgentStatement {
    func encode(into message: inout Tributary_V1_Hello) {
        message.term = term
        message.hasOthers_p = hasOthers
        if let session { message.session = session.encoded() }
        message.collectors = collectors
        message.isMirror = isMirror
    }

    init(decoding message: Tributary_V1_Hello) throws(WireError) {
        term = try FieldChecks.count(message.term, "Hello.term")
        hasOthers = message.hasOthers_p
        session = message.hasSession ? try SessionOffer(decoding: message.session) : nil
        collectors = message.collectors
        isMirror = message.isMirror
    }
}

extension Epoch {
    static func decode(_ messages: [Tributary_V1_Epoch]) throws(WireError) -> [Epoch] {
        try FieldChecks.count(messages.count, "Hello.epochs", 1...WireLimits.epochsPerAgent)
        var epochs: [Epoch] = []
        for message in messages {
            guard !epochs.contains(where: { $0.number == message.number }) else {
                throw .malformed("Hello.epochs has the number \(message.number) twice")
            }
            epochs.append(
                Epoch(
                    number: message.number,
                    identity: try FieldChecks.identity(message.identity, "Epoch.identity"),
                    zeroUTCNanoseconds: message.hasZeroUtcNanoseconds
                        ? try FieldChecks.time(
                            message.zeroUtcNanoseconds, "Epoch.zero_utc_nanoseconds") : nil))
        }
        return epochs
    }
}

extension SourceOffer {
    func encoded() -> Tributary_V1_Source {
        var message = Tributary_V1_Source()
        message.name = name
        message.tracks = tracks.map { $0.encoded() }
        message.firstSequence = firstSequence
        message.held = held.map { $0.encoded() }
        return message
    }

    init(decoding message: Tributary_V1_Source) throws(WireError) {
        guard SourceName.isValid(message.name) else {
            throw .name(
                "\"\(printable(message.name, limit: WireLimits.nameBytes))\" is not a valid source name: "
                    + SourceName.rule)
        }
        name = message.name
        try FieldChecks.count(
            message.tracks.count, "Source.tracks", 1...WireLimits.tracksPerSource)
        tracks = []
        for track in message.tracks {
            let format = try TrackFormat(decoding: track)
            guard !tracks.contains(where: { $0.kind == format.kind }) else {
                throw .malformed("the source \(name) has two \(format.kind) tracks")
            }
            tracks.append(format)
        }
        firstSequence = try FieldChecks.sequence(message.firstSequence, "Source.first_sequence")
        held = try HeldRange.decode(message.held)
    }
}

extension Welcome {
    func encoded() -> Tributary_V1_Welcome {
        var message = Tributary_V1_Welcome()
        message.major = WireLimits.major
        message.minor = minor
        message.software = software
        message.session = session
        message.heartbeatMilliseconds = heartbeatMilliseconds
        message.sources = sources.map { $0.encoded() }
        message.collector = collector
        if let clock { message.sessionClock = clock.encoded() }
        message.mirrored = mirrored
        return message
    }

    init(decoding message: Tributary_V1_Welcome) throws(WireError) {
        guard message.major == WireLimits.major else { throw .version(message.major) }
        minor = message.minor
        software = try FieldChecks.text(
            message.software, "Welcome.software", limit: WireLimits.labelBytes)
        session = try FieldChecks.text(
            message.session, "Welcome.session", limit: WireLimits.nameBytes)
        guard WireLimits.heartbeatMillisecondsRange.contains(message.heartbeatMilliseconds) else {
            let range = WireLimits.heartbeatMillisecondsRange
            throw .limit(
                "Welcome.heartbeat_milliseconds is \(message.heartbeatMilliseconds); "
                    + "\(range.lowerBound) to \(range.upperBound) are allowed")
        }
        heartbeatMilliseconds = message.heartbeatMilliseconds
        sources = try SourceState.decode(message.sources, "Welcome.sources")
        collector = try FieldChecks.text(
            message.collector, "Welcome.collector", limit: WireLimits.labelBytes)
        clock =
            message.hasSessionClock ? try SessionClock(decoding: message.sessionClock) : nil
        mirrored = message.mirrored
    }
}

extension SourceState {
    func encoded() -> Tributary_V1_SourceState {
        var message = Tributary_V1_SourceState()
        message.source = UInt32(source)
        message.received = received
        message.persisted = persisted
        message.creditLimit = creditLimitBytes
        message.watchMilliseconds = watchMilliseconds
        if let released { message.released = released }
        return message
    }

    static func decode(
        _ messages: [Tributary_V1_SourceState], _ field: String
    ) throws(WireError) -> [SourceState] {
        try FieldChecks.count(messages.count, field, 0...WireLimits.sourcesPerAgent)
        var states: [SourceState] = []
        for message in messages {
            let received = try FieldChecks.watermark(message.received, "SourceState.received")
            let persisted = try FieldChecks.watermark(message.persisted, "SourceState.persisted")
            guard persisted <= received else {
                throw .malformed(
                    "SourceState.persisted is \(persisted), above received, \(received)")
            }
            let released =
                message.hasReleased
                ? try FieldChecks.watermark(message.released, "SourceState.released") : nil
            if let released, released > persisted {
                throw .malformed(
                    "SourceState.released is \(released), above persisted, \(persisted)")
            }
            states.append(
                SourceState(
                    source: try FieldChecks.sourceIndex(message.source, "SourceState.source"),
                    received: received, persisted: persisted,
                    creditLimitBytes: message.creditLimit,
                    watchMilliseconds: message.watchMilliseconds, released: released))
        }
        return states
    }
}

extension Acknowledgement {
    func encoded() -> Tributary_V1_Ack {
        var message = Tributary_V1_Ack()
        message.sources = sources.map { $0.encoded() }
        message.session = session
        message.sendInstants = sendInstants
        if let clock { message.sessionClock = clock.encoded() }
        return message
    }

    init(decoding message: Tributary_V1_Ack) throws(WireError) {
        sources = try SourceState.decode(message.sources, "Ack.sources")
        session = try FieldChecks.text(message.session, "Ack.session", limit: WireLimits.nameBytes)
        sendInstants = message.sendInstants
        clock =
            message.hasSessionClock ? try SessionClock(decoding: message.sessionClock) : nil
    }
}

extension Refusal {
    func encoded() -> Tributary_V1_Refusal {
        var message = Tributary_V1_Refusal()
        message.reason =
            Tributary_V1_Refusal.Reason(rawValue: reason.rawValue) ?? .unspecified
        message.text = text
        message.term = term
        return message
    }

    init(decoding message: Tributary_V1_Refusal) throws(WireError) {
        reason = RefusalReason(rawValue: message.reason.rawValue) ?? .other
        text = try FieldChecks.text(message.text, "Refusal.text")
        term = try FieldChecks.count(message.term, "Refusal.term")
    }
}
