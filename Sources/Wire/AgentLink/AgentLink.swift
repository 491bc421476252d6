package import Media

/// The agent's end of the protocol. A value: it owns no socket and no clock; time comes in with each call.
///
/// It numbers what the sources give it, keeps it until the collector has it on disk, sends it within the credit, and starts
/// again after the last durable record whenever a connection is lost. Kept bytes are bounded: when the collector is away
/// for too long, the oldest groups of pictures give way to a gap that says so.
///
///     offline ──connected──► greeting ──Welcome──► flowing ──all durable──► done
///        ▲                       │                    │
///        └────lost, silent───────┴────────────────────┘        any ──Refusal──► failed
package struct AgentLink<Payload: Sendable>: Sendable {
    package typealias Action = AgentAction<Payload>

    private enum State: Sendable {
        case offline
        /// Hello has been sent.
        case greeting(since: Int64)
        case flowing(lastHeard: Int64, lastSpoken: Int64)
        case done
        case failed
    }

    /// How long a Welcome may take: longer than the collector asks another holder of the source.
    private static var greetingNanoseconds: Int64 { 10_000_000_000 }
    /// More lives of a box than have messages on their way at once.
    private static var inUsePatience: Int { 3 }
    /// Pauses before the next connection, milliseconds: short first, for a collector that is just being restarted.
    private static var pauses: [Int64] { [100, 200, 500, 1_000, 2_000] }
    /// The same after a refusal that somebody has to mend.
    private static var pausesWhenRefused: [Int64] { [1_000, 2_000, 3_000] }
    /// When an absent collector is mentioned (again), seconds since it was last there.
    private static var waitingNotices: [Int64] { [1, 10, 60, 300] }
    private static var waitingNoticeInterval: Int64 { 600 }

    private let settings: AgentLinkSettings
    private var state = State.offline
    var outboxes: [Outbox<Payload>] = []
    /// What the last Hello said of the formats.
    var announcedFormats: [[TrackFormat]] = []
    private var exchanges = PendingExchanges()
    /// How each source's sound does, since the last heartbeat.
    private var soundHealth: [Int: AudioHealth] = [:]
    /// Sources whose capture somebody has stopped.
    private var stopped: Set<Int> = []
    /// Commands of this connection that are not answered yet.
    private var openCommands: Set<UInt64> = []
    private var heartbeatNanoseconds =
        Int64(WireLimits.heartbeatMilliseconds) * 1_000_000
    private var failedAttempts = 0
    /// How often in a row somebody else had one of the sources.
    private var inUseRefusals = 0
    private var offlineSince: Int64?
    private var nextWaitingNotice = 0
    /// Why the collector, which is there, does not let us in.
    private var obstacle: String?
    /// Why nothing is heard of the collector.
    private var absence: String?
    /// A greeting was not answered.
    private var isUnanswered = false
    private var isDropping = false
    /// The session's name, as the collector says; empty until it has begun.
    package private(set) var session = ""

    /// A link that is not connected yet.
    package init(settings: AgentLinkSettings) {
        self.settings = settings
    }

    // MARK: What the sources give

    /// Adds a source; its index is what the other calls name it by.
    /// - Parameters:
    ///   - formats: those in force at its first record.
    ///   - kept: the numbers of records that are on the disk already, and the formats in force behind them.
    /// - Precondition: there are fewer than ``WireLimits/sourcesPerAgent``, and no Hello has been sent.
    package mutating func addSource(
        _ name: String, formats: [TrackFormat],
        kept: (sequences: Range<UInt64>, newestFormats: [TrackFormat])? = nil
    ) -> Int {
        precondition(outboxes.count < WireLimits.sourcesPerAgent)
        precondition(SourceName.isValid(name), "names are checked when they are given")
        precondition(kept == nil || settings.window != nil, "records on a disk need a window")
        outboxes.append(
            Outbox(name: name, formats: formats, window: settings.window, kept: kept))
        return outboxes.count - 1
    }

    /// Takes in samples.
    /// - Parameters:
    ///   - runs: at most one per track.
    ///   - digest: SHA-256 of the payload.
    package mutating func add(
        runs: [SampleRun], digest: [UInt8], payload: Payload, to source: Int, now: Int64
    ) -> [Action] {
        admit(
            prepare(runs: runs, digest: digest, payload: payload, of: source), to: source,
            now: now)
    }

    /// Takes note of something that never became a sample.
    package mutating func add(_ loss: Loss, to source: Int, now: Int64) -> [Action] {
        admit(prepare(loss, of: source), to: source, now: now)
    }

    /// From the next samples on, a track has this format.
    package mutating func setFormat(
        _ format: TrackFormat, of source: Int, now: Int64
    ) -> [Action] {
        admit(prepare(format, of: source), to: source, now: now)
    }

    /// How a source's sound does: told with the next heartbeat.
    package mutating func setAudio(_ sound: AudioHealth, of source: Int) {
        soundHealth[source] = sound
    }

    /// Whether somebody has stopped a source's capture: told at once, and with each heartbeat.
    package mutating func setStopped(_ isStopped: Bool, of source: Int, now: Int64) -> [Action] {
        guard stopped.contains(source) != isStopped else { return [] }
        if isStopped { stopped.insert(source) } else { stopped.remove(source) }
        return heartbeat(now: now)
    }

    /// The source is complete.
    package mutating func sayGoodbye(
        _ text: String, of source: Int, now: Int64
    ) -> [Action] {
        admit(prepareGoodbye(text, of: source), to: source, now: now)
    }

    /// Takes note of a finished clock exchange; it travels with the next greeting or heartbeat.
    package mutating func add(_ exchange: ReportedExchange) {
        exchanges.add(exchange)
    }

    // MARK: What the network does

    /// Messages can be sent: the link greets.
    package mutating func connected(now: Int64) -> [Action] {
        guard !isOver else { return [] }
        precondition(!outboxes.isEmpty, "an agent greets when it knows its sources")
        state = .greeting(since: now)
        announcedFormats = outboxes.map(\.baseFormats)
        let offers = outboxes.map {
            SourceOffer(name: $0.name, tracks: $0.baseFormats, firstSequence: $0.firstSequence)
        }
        let hello = Hello(
            software: settings.software, agent: settings.agent, spool: settings.spool,
            epochs: settings.epochs, sources: offers, clockExchanges: exchanges.take())
        return [.send(header: WireMessage.hello(hello).encoded(), payload: nil)]
    }

    /// The connection is gone, or could not be made.
    package mutating func disconnected(now: Int64) -> [Action] {
        guard !isOver else { return [] }
        var actions: [Action] = []
        if case .flowing = state {
            actions.append(
                log(
                    .warning,
                    "lost the collector at \(settings.endpoint); keeping samples, trying again"))
            offlineSince = now
            nextWaitingNotice = 1
        }
        return actions + retry(now: now)
    }

    /// The collector does not let us in, which may change: keeps on trying.
    /// - Parameter why: one line that says what to do.
    package mutating func notAdmitted(_ why: String, now: Int64) -> [Action] {
        guard !isOver else { return [] }
        if case .flowing = state { offlineSince = now }
        guard why != obstacle else { return retry(now: now, after: Self.pausesWhenRefused) }
        obstacle = why
        nextWaitingNotice = 1
        return [log(.error, "\(why); keeping samples, trying again")]
            + retry(now: now, after: Self.pausesWhenRefused)
    }

    /// A message has come.
    package mutating func received(_ header: [UInt8], now: Int64) -> [Action] {
        guard !isOver else { return [] }
        let message: WireMessage
        do throws(WireError) {
            message = try WireMessage(decoding: header)
        } catch {
            return [log(.warning, "the collector sent something unreadable: \(error)")]
                + retry(now: now)
        }
        if case .flowing(_, let lastSpoken) = state {
            state = .flowing(lastHeard: now, lastSpoken: lastSpoken)
        }
        switch message {
        case .welcome(let welcome):
            return welcomed(welcome, now: now)
        case .acknowledgement(let acknowledgement):
            return acknowledged(acknowledgement, now: now)
        case .ping:
            return heartbeat(now: now)
        case .refusal(let refusal):
            return refused(refusal, now: now)
        case .command(let command):
            return commanded(command)
        case .hello, .samples, .gap, .trackUpdate, .goodbye, .clockProbe, .heartbeat, .clockReply,
            .report, .enrol, .enrolled, .unknown:
            return []
        }
    }

    /// Answers a command. An answer for a collector that is gone goes nowhere.
    /// - Parameter payload: a snapshot's JPEG.
    package mutating func report(
        _ report: Report, payload: Payload?, now: Int64
    ) -> [Action] {
        guard case .flowing(let lastHeard, _) = state, openCommands.remove(report.id) != nil
        else { return [] }
        state = .flowing(lastHeard: lastHeard, lastSpoken: now)
        return [.send(header: WireMessage.report(report).encoded(), payload: payload)]
    }

    /// Sends what is known of the clocks now instead of with the next heartbeat.
    package mutating func reportExchanges(now: Int64) -> [Action] {
        exchanges.isEmpty ? [] : heartbeat(now: now)
    }

    /// Time has passed: call it a few times per second.
    package mutating func tick(now: Int64) -> [Action] {
        switch state {
        case .offline:
            return noticeWaiting(now: now)
        case .greeting(let since):
            guard now - since > Self.greetingNanoseconds else { return [] }
            isUnanswered = true
            return disconnected(now: now)
        case .flowing(let lastHeard, let lastSpoken):
            if now - lastHeard > WireLimits.silentHeartbeats * heartbeatNanoseconds {
                return disconnected(now: now)
            }
            let actions = settings.window == nil ? [] : pump(now: now)
            return actions + (now - lastSpoken >= heartbeatNanoseconds ? heartbeat(now: now) : [])
        case .done, .failed:
            return []
        }
    }
}

// MARK: - State for people

extension AgentLink {
    /// Whether samples can be sent at this moment.
    package var isFlowing: Bool {
        if case .flowing = state { true } else { false }
    }

    /// Payload bytes that are not durable at the collector, as far as they are in memory.
    package var keptBytes: Int { outboxes.reduce(0) { $0 + $1.keptBytes } }
    /// What keeping them takes in all, bytes: within the settings' limit.
    package var memoryBytes: Int { outboxes.reduce(0) { $0 + $1.memoryBytes } }
    /// Samples that are not durable at the collector.
    package var keptSamples: UInt64 { outboxes.reduce(0) { $0 + $1.keptSamples } }
    /// The last record of a source that is durable at the collector.
    package func persisted(of source: Int) -> UInt64 { outboxes[source].persisted }
    /// The number behind the last record of a source that is in memory: what follows is on its disk alone.
    package func windowEnd(of source: Int) -> UInt64 { outboxes[source].windowEnd }
    /// Why nothing is heard of the collector, in a few words; nil: nobody knows. Said where its absence is mentioned.
    package mutating func setAbsence(_ reason: String?) { absence = reason }
    /// The number of a source's next record.
    package func nextSequence(of source: Int) -> UInt64 { outboxes[source].nextSequence }
    /// The first number of a source that may be dropped from its disk: behind all that the collector may have.
    package func firstDroppable(of source: Int) -> UInt64 { outboxes[source].firstDroppable }
    /// Samples lost on this side.
    package var lostSamples: UInt64 { outboxes.reduce(0) { $0 + $1.lostSamples } }

    private var isOver: Bool {
        switch state {
        case .done, .failed: true
        case .offline, .greeting, .flowing: false
        }
    }

    var epoch: UInt32 { settings.epochs.last?.number ?? 0 }
}

// MARK: - Inside

extension AgentLink {
    private mutating func welcomed(_ welcome: Welcome, now: Int64) -> [Action] {
        guard case .greeting = state else { return [] }
        guard welcome.sources.map(\.source) == Array(outboxes.indices) else {
            return [log(.warning, "the collector welcomed other sources than ours")]
                + retry(now: now)
        }
        for source in welcome.sources { outboxes[source.source].resume(source) }
        // More is persisted than we knew, a change of format among it: the Hello named formats that hold no more.
        guard outboxes.map(\.baseFormats) == announcedFormats else { return connected(now: now) }
        heartbeatNanoseconds = Int64(welcome.heartbeatMilliseconds) * 1_000_000
        session = welcome.session
        state = .flowing(lastHeard: now, lastSpoken: now)
        failedAttempts = 0
        inUseRefusals = 0
        obstacle = nil
        isUnanswered = false
        offlineSince = nil
        nextWaitingNotice = 0
        let connected = log(
            .info, "connected to \(welcome.software) at \(settings.endpoint)")
        return [connected] + finishIfComplete() + pump(now: now)
    }

    private mutating func acknowledged(
        _ acknowledgement: Acknowledgement, now: Int64
    ) -> [Action] {
        guard case .flowing = state else { return [] }
        session = acknowledgement.session
        for source in acknowledgement.sources where outboxes.indices.contains(source.source) {
            outboxes[source.source].acknowledge(source)
        }
        return finishIfComplete() + pump(now: now)
    }

    private mutating func refused(_ refusal: Refusal, now: Int64) -> [Action] {
        switch refusal.reason {
        case .unknownConnection:
            return retry(now: now)
        case .stopping:
            let line = log(.warning, "the collector is stopping; keeping samples, trying again")
            if case .flowing = state {
                offlineSince = now
                nextWaitingNotice = 1
            }
            return [line] + retry(now: now)
        case .unauthorized:
            return notAdmitted(
                "the collector at \(settings.endpoint) refused: \(refusal.text)", now: now)
        case .sourceInUse where inUseRefusals < Self.inUsePatience:
            // The one that has it may be an earlier life of this box, of which a last message was still on its way.
            inUseRefusals += 1
            // The collector has answered: that it is not there is not to be said too.
            obstacle = "the collector at \(settings.endpoint) refused: \(refusal.text)"
            nextWaitingNotice = max(nextWaitingNotice, 1)
            return [log(.warning, "\(refusal.text); trying again")] + retry(now: now)
        case .malformed, .version, .name, .sourceInUse, .limit, .sequence, .enrolment, .other:
            state = .failed
            return [.failed("the collector at \(settings.endpoint) refused: \(refusal.text)")]
        }
    }

    /// Only a collector that has welcomed us is obeyed.
    private mutating func commanded(_ command: Command) -> [Action] {
        guard case .flowing = state else { return [] }
        func refuse(_ failure: CommandFailure, _ text: String) -> [Action] {
            let report = Report(
                id: command.id, source: command.source, reply: .failure(failure, text))
            return [.send(header: WireMessage.report(report).encoded(), payload: nil)]
        }
        guard outboxes.indices.contains(command.source) else {
            return refuse(.malformed, "there is no source \(command.source) here")
        }
        guard command.request != .unknown else {
            return refuse(
                .unknownCommand, "this agent (\(settings.software)) does not know that command")
        }
        guard openCommands.count < WireLimits.openCommands,
            openCommands.insert(command.id).inserted
        else { return refuse(.busy, "too many commands are not answered yet") }
        return [.command(command)]
    }

    private mutating func retry(now: Int64, after pauses: [Int64] = Self.pauses) -> [Action] {
        state = .offline
        openCommands.removeAll()
        let pause = pauses[min(failedAttempts, pauses.count - 1)]
        failedAttempts += 1
        if offlineSince == nil { offlineSince = now }
        return [.reconnect(afterMilliseconds: pause)]
    }

    private mutating func noticeWaiting(now: Int64) -> [Action] {
        guard let since = offlineSince else {
            offlineSince = now
            return []
        }
        let notices = Self.waitingNotices
        let due =
            nextWaitingNotice < notices.count
            ? notices[nextWaitingNotice]
            : (notices.last ?? 0)
                + Int64(nextWaitingNotice - notices.count + 1) * Self.waitingNoticeInterval
        guard now - since >= due * 1_000_000_000 else { return [] }
        nextWaitingNotice += 1
        let seconds = (now - since) / 1_000_000_000
        let trouble =
            obstacle ?? absence
            ?? (isUnanswered
                ? "the collector at \(settings.endpoint) does not answer"
                : "no collector at \(settings.endpoint)")
        return [
            log(
                .warning,
                "\(trouble) for \(seconds) s; keeping samples \(keptText) and trying until it is there"
            )
        ]
    }

    /// Where samples are kept, and how many.
    private var keptText: String {
        if settings.window != nil {
            let bytes = outboxes.reduce(0) { $0 + $1.storedBytes }
            return "on disk (\(byteText(bytes)))"
        }
        return
            "in memory (\(byteText(memoryBytes)) of at most \(byteText(settings.memoryLimitBytes)))"
    }

    /// Sends what the credit allows.
    mutating func pump(now: Int64) -> [Action] {
        guard case .flowing(let lastHeard, _) = state else { return [] }
        var actions: [Action] = []
        for index in outboxes.indices {
            while let record = outboxes[index].nextToSend(now: now) {
                actions.append(.send(header: record.header, payload: record.payload))
            }
            if let wanted = outboxes[index].wanted {
                actions.append(.fetch(source: index, from: wanted))
            }
        }
        if exchanges.isEmpty, !actions.isEmpty {
            state = .flowing(lastHeard: lastHeard, lastSpoken: now)
        }
        return actions
    }

    private mutating func heartbeat(now: Int64) -> [Action] {
        guard case .flowing(let lastHeard, _) = state else { return [] }
        state = .flowing(lastHeard: lastHeard, lastSpoken: now)
        let health = outboxes.enumerated().map { index, outbox in
            SourceHealth(
                source: index,
                keptBytes: UInt64(settings.window == nil ? outbox.keptBytes : outbox.storedBytes),
                newestSequence: outbox.newestSequence, lostSamples: outbox.lostSamples,
                sound: soundHealth[index], isStopped: stopped.contains(index))
        }
        soundHealth.removeAll()
        let message = Heartbeat(clockExchanges: exchanges.take(), health: health)
        return [.send(header: WireMessage.heartbeat(message).encoded(), payload: nil)]
    }

    mutating func finishIfComplete() -> [Action] {
        guard outboxes.allSatisfy(\.isComplete) else { return [] }
        state = .done
        return [.finished]
    }

    /// Keeps within the memory that the agent may use.
    mutating func makeRoom() -> [Action] {
        guard settings.window == nil, memoryBytes > settings.memoryLimitBytes else {
            isDropping = false
            return []
        }
        var dropped: UInt64 = 0
        while memoryBytes > settings.memoryLimitBytes {
            let fullestFirst = outboxes.indices.sorted {
                outboxes[$0].memoryBytes > outboxes[$1].memoryBytes
            }
            var isStuck = true
            for index in fullestFirst {
                let samples = outboxes[index].dropOldest(
                    source: index, encode: { WireMessage.gap($0).encoded() })
                guard let samples else { continue }
                dropped += samples
                isStuck = false
                break
            }
            // What is left is on its way, which the credit bounds.
            if isStuck { break }
        }
        guard dropped > 0, !isDropping else { return [] }
        isDropping = true
        return [
            log(
                .error,
                "\(byteText(settings.memoryLimitBytes)) of samples are kept and the collector has not "
                    + "taken them: the oldest are dropped from now on")
        ]
    }

    private func log(_ level: LinkLog.Level, _ text: String) -> Action {
        .log(LinkLog(level, text))
    }
}
