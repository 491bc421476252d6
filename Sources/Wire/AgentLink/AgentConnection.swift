import Media

/// The link's own times, nanoseconds; the protocol's are in ``WireLimits``.
enum AgentLinkPace {
    /// The first pause after a connection that led nowhere; doubles each time.
    static let firstBackoff: Int64 = 500_000_000
    /// The longest pause.
    static let longestBackoff: Int64 = 30_000_000_000
    /// How long a Welcome may take: a contested source takes two seconds.
    static let greetingTime: Int64 = 5_000_000_000
    /// How long an absent collector goes unmentioned.
    static let firstMention: Int64 = 1_000_000_000
    /// The first interval between mentions; doubles each time.
    static let mentionInterval: Int64 = 10_000_000_000
    /// The longest interval between mentions.
    static let longestMentionInterval: Int64 = 600_000_000_000
    /// Interval between lines about dropped records.
    static let dropMention: Int64 = 10_000_000_000
}

extension AgentLink {
    /// The time since when there has been no welcome, and when that is mentioned next.
    struct Waiting: Hashable, Sendable {
        let since: Int64
        var nextMention: Int64
        var interval = AgentLinkPace.mentionInterval
        /// What was seen of the other end, if anything.
        var reason = "nobody answers there"

        init(since: Int64) {
            self.since = since
            nextMention = since + AgentLinkPace.firstMention
        }
    }

    /// The connection is up.
    package mutating func connectionOpened(now: Int64) -> [Action] {
        guard phase == .connecting else { return [] }
        guard outboxes.allSatisfy(\.hasBegun) else {
            phase = .connected
            return []
        }
        return sayHello(now: now)
    }

    /// What answers is no collector's socket; `reason` is shown while waiting.
    package mutating func connectionProblem(_ reason: String) {
        waiting?.reason = reason
    }

    /// The connection is gone.
    package mutating func connectionLost(now: Int64) -> [Action] {
        switch phase {
        case .idle, .connecting, .backingOff, .finished, .failed:
            return []
        case .connected, .greeting:
            return backOff(now: now)
        case .flowing:
            return reconnect(because: "lost the connection to", now: now)
        }
    }

    /// A message from the collector.
    package mutating func received(_ header: [UInt8], now: Int64) -> [Action] {
        switch phase {
        case .idle, .connecting, .backingOff, .connected, .finished, .failed: return []
        case .greeting, .flowing: break
        }
        if case .flowing(var flow) = phase {
            flow.lastHeard = now
            phase = .flowing(flow)
        }
        let message: WireMessage
        do throws(WireError) {
            message = try WireMessage(decoding: header)
        } catch {
            return fail("the collector at \(settings.endpoint) sent what it must not: \(error)")
        }
        switch message {
        case .welcome(let welcome): return take(welcome, now: now)
        case .acknowledgement(let ack): return take(ack, now: now)
        case .refusal(let refusal): return take(refusal, now: now)
        case .ping: return isFlowing ? [heartbeat(now: now)] : []
        case .clockReply, .unknown: return []
        case .hello, .samples, .gap, .trackUpdate, .goodbye, .clockProbe, .heartbeat:
            return fail(
                "what answers at \(settings.endpoint) is an agent, not a collector "
                    + "(it sent \(message.name))")
        }
    }

    /// Time has passed.
    package mutating func tick(now: Int64) -> [Action] {
        switch phase {
        case .idle, .connected, .finished, .failed:
            return []
        case .connecting:
            return mentionWaiting(now: now)
        case .backingOff(let until):
            var actions = mentionWaiting(now: now)
            if now >= until {
                phase = .connecting
                actions.append(.connect)
            }
            return actions
        case .greeting(let since):
            guard now - since >= AgentLinkPace.greetingTime else { return [] }
            waiting?.reason = "something accepts connections there, but does not answer Hello"
            return mentionWaiting(now: now) + backOff(now: now)
        case .flowing(let flow):
            if now - flow.lastHeard >= WireLimits.silentHeartbeats * flow.heartbeatNanoseconds {
                return reconnect(because: "no sign of life from", now: now)
            }
            guard now - flow.lastHeartbeat >= flow.heartbeatNanoseconds else { return [] }
            return [heartbeat(now: now)]
        }
    }
}

// What the messages do.
extension AgentLink {
    mutating func sayHello(now: Int64) -> [Action] {
        announcedFormats = outboxes.map(\.formatsAtFront)
        let hello = Hello(
            software: settings.software, agent: settings.agent, spool: settings.spool,
            epochs: settings.epochs,
            sources: zip(settings.sources, outboxes).map { name, outbox in
                SourceOffer(
                    name: name, tracks: outbox.formatsAtFront,
                    firstSequence: outbox.firstSequence)
            },
            clockExchanges: takeExchanges())
        phase = .greeting(since: now)
        return [.send(header: WireMessage.hello(hello).encoded(), payload: nil)]
    }

    private mutating func take(_ welcome: Welcome, now: Int64) -> [Action] {
        guard case .greeting = phase else {
            return fail("the collector at \(settings.endpoint) said Welcome without a Hello")
        }
        let named = Set(welcome.sources.map(\.source))
        guard named == Set(outboxes.indices), named.count == welcome.sources.count else {
            return fail("the collector at \(settings.endpoint) does not say what it has")
        }
        if let line = forget(welcome.sources) { return fail(line) }
        // The Hello said formats of records that are persisted by now: say which ones hold.
        if outboxes.map(\.formatsAtFront) != announcedFormats { return sayHello(now: now) }
        var credit = [UInt64](repeating: 0, count: outboxes.count)
        for state in welcome.sources {
            credit[state.source] = state.creditLimitBytes
            outboxes[state.source].rewind(received: state.received)
        }
        phase = .flowing(
            Flow(
                heartbeatNanoseconds: Int64(welcome.heartbeatMilliseconds) * 1_000_000,
                lastHeard: now, lastHeartbeat: now,
                spentBytes: [UInt64](repeating: 0, count: outboxes.count), creditBytes: credit))
        session = welcome.session
        backoffNanoseconds = AgentLinkPace.firstBackoff
        waiting = nil
        let kept = keptPayloadBytes
        let resumed = kept > 0 ? ", sending \(megabytes(kept)) kept so far" : ""
        let line = LinkLog(
            .info, "connected to the collector at \(settings.endpoint)\(resumed)",
            metadata: ["collector": welcome.software])
        return [.log(line)] + pump() + finishIfComplete()
    }

    private mutating func take(_ ack: Acknowledgement, now: Int64) -> [Action] {
        // One that crossed with a Hello says nothing that the Welcome will not say.
        guard case .flowing(var flow) = phase else { return [] }
        if let line = forget(ack.sources) { return fail(line) }
        for state in ack.sources {
            flow.creditBytes[state.source] = max(
                flow.creditBytes[state.source], state.creditLimitBytes)
        }
        phase = .flowing(flow)
        session = ack.session
        return pump() + finishIfComplete()
    }

    private mutating func take(_ refusal: Refusal, now: Int64) -> [Action] {
        switch refusal.reason {
        case .unknownConnection:
            waiting = waiting ?? Waiting(since: now)
            waiting?.reason = "it does not know this connection any more"
            return backOff(now: now)
        case .stopping:
            let isFirst = waiting == nil
            waiting = waiting ?? Waiting(since: now)
            waiting?.reason = "it is stopping"
            let line = LinkLog(
                .warning,
                "the collector at \(settings.endpoint) is stopping; keeping everything until "
                    + "it is back")
            return (isFirst ? [.log(line)] : []) + backOff(now: now)
        case .malformed, .version, .name, .sourceInUse, .limit, .sequence, .other:
            return fail("the collector at \(settings.endpoint) refused: \(refusal.text)")
        }
    }

    /// Forgets what is persisted; says what is wrong if that cannot be.
    private mutating func forget(_ states: [SourceState]) -> String? {
        for state in states {
            guard outboxes.indices.contains(state.source),
                state.received <= outboxes[state.source].newestSequence
            else {
                return "the collector at \(settings.endpoint) claims to have record "
                    + "\(state.received) of source \(state.source), which was never made"
            }
            outboxes[state.source].forget(upTo: state.persisted)
        }
        return nil
    }

    private mutating func finishIfComplete() -> [Action] {
        guard outboxes.allSatisfy(\.isComplete) else { return [] }
        phase = .finished
        return [.finished]
    }

    private mutating func heartbeat(now: Int64) -> Action {
        if case .flowing(var flow) = phase {
            flow.lastHeartbeat = now
            phase = .flowing(flow)
        }
        let health = outboxes.map { outbox in
            SourceHealth(
                source: outbox.source, keptBytes: UInt64(outbox.keptPayloadBytes),
                newestSequence: outbox.newestSequence, lostSamples: outbox.lostSamples)
        }
        let heartbeat = Heartbeat(clockExchanges: takeExchanges(), health: health)
        return .send(header: WireMessage.heartbeat(heartbeat).encoded(), payload: nil)
    }

    private mutating func takeExchanges() -> [ReportedExchange] {
        defer { clockExchanges.removeAll(keepingCapacity: true) }
        return clockExchanges
    }
}

// What is done when it does not go on.
extension AgentLink {
    private mutating func fail(_ line: String) -> [Action] {
        phase = .failed
        return [.disconnect, .failed(line)]
    }

    /// Lets go, and asks for a new connection after a pause that doubles each time.
    private mutating func backOff(now: Int64) -> [Action] {
        waiting = waiting ?? Waiting(since: now)
        phase = .backingOff(until: now + backoffNanoseconds)
        backoffNanoseconds = min(2 * backoffNanoseconds, AgentLinkPace.longestBackoff)
        return [.disconnect]
    }

    private mutating func reconnect(because reason: String, now: Int64) -> [Action] {
        phase = .connecting
        var waiting = Waiting(since: now)
        waiting.nextMention = now + waiting.interval
        self.waiting = waiting
        let line = LinkLog(
            .warning,
            "\(reason) the collector at \(settings.endpoint); keeping up to "
                + "\(megabytes(settings.memoryLimitBytes)) until it is back")
        return [.log(line), .connect]
    }

    private mutating func mentionWaiting(now: Int64) -> [Action] {
        guard var waiting, now >= waiting.nextMention else { return [] }
        waiting.nextMention = now + waiting.interval
        waiting.interval = min(2 * waiting.interval, AgentLinkPace.longestMentionInterval)
        self.waiting = waiting
        let seconds = (now - waiting.since) / 1_000_000_000
        let line =
            "waiting for the collector at \(settings.endpoint) since \(seconds) s: "
            + "\(waiting.reason); \(megabytes(keptBytes)) of "
            + "\(megabytes(settings.memoryLimitBytes)) kept"
        return [.log(LinkLog(.warning, line))]
    }
}

/// A size for people, in units of 1,000,000 bytes.
func megabytes(_ bytes: Int) -> String {
    "\(bytes / 1_000_000).\(bytes / 100_000 % 10) MB"
}
