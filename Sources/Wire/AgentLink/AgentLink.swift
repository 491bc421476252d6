package import Media
import Spooling

/// The agent's end of the protocol. A value: it owns no socket and no clock; each call has the time.
///
/// It numbers the records of its sources, keeps them until the collector releases them, sends them within the credit,
/// and after a lost connection starts again after the last durable record. The kept bytes are bounded: when the
/// collector is away for too long, the oldest groups of pictures are replaced by a gap that explains their absence.
///
///     offline ──connected──► greeting ──Welcome──► flowing ──all released─► done
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

    /// Timeout of a Welcome: longer than the collector waits for another holder of the source.
    private static var greetingNanoseconds: Int64 { 10_000_000_000 }
    /// Number of refusals from which a source in use is an error: more than the runs of a box with messages in flight.
    private static var inUsePatience: Int { 3 }
    /// Pauses before the next connection, milliseconds: short at first, for a collector that is just restarting.
    private static var pauses: [Int64] { [100, 200, 500, 1_000, 2_000] }
    /// The same after a refusal that an operator has to resolve.
    private static var pausesWhenRefused: [Int64] { [1_000, 2_000, 3_000] }
    /// Times at which an absent collector is logged (again), seconds since the last connection.
    private static var waitingNotices: [Int64] { [1, 10, 60, 300] }
    private static var waitingNoticeInterval: Int64 { 600 }

    private let settings: AgentLinkSettings
    private var state = State.offline
    var outboxes: [Outbox<Payload>] = []
    /// The formats in the last Hello.
    var announcedFormats: [[TrackFormat]] = []
    private var exchanges = PendingExchanges()
    /// Audio levels and clock of each source since the last heartbeat.
    private var soundHealth: [Int: AudioHealth] = [:]
    /// Sources whose capture was stopped by a command.
    private var stopped: Set<Int> = []
    /// Unanswered commands of this connection.
    private var openCommands: Set<UInt64> = []
    private var heartbeatNanoseconds = Int64(WireLimits.heartbeatMilliseconds) * 1_000_000
    private var failedAttempts = 0
    /// Consecutive refusals because another agent has one of the sources.
    private var inUseRefusals = 0
    private var offlineSince: Int64?
    private var nextWaitingNotice = 0
    /// Why a reachable collector does not admit the agent.
    private var obstacle: String?
    /// Why the collector is unreachable.
    private var absence: String?
    /// Who says that the agent is not admitted; ``obstacle`` says why. Nil: it is, or nothing is known.
    private var shutOutBy: RefusalWitness?
    /// A Hello was not answered.
    private var isUnanswered = false
    private var dropping: DropPolicy
    /// The drop policy for persisted records that are not released.
    private var forgetting: DropPolicy
    /// Determines common send instants of agents.
    private(set) var collectorClock: CollectorClock
    /// The minor version of the collector's protocol; 0: not connected.
    private var collectorMinor: UInt32 = 0
    /// The session's name, as the collector reports it; empty until it has begun.
    package private(set) var session = ""

    /// A link that is not connected yet.
    package init(settings: AgentLinkSettings) {
        self.settings = settings
        collectorClock = CollectorClock(of: settings.spool)
        dropping = DropPolicy(limitBytes: settings.memoryLimitBytes)
        forgetting = DropPolicy(limitBytes: settings.memoryLimitBytes)
    }

    // MARK: Records of the sources

    /// Adds a source; its index identifies it in the other calls.
    /// - Parameters:
    ///   - formats: those in force at its first record.
    ///   - kept: the numbers of records that are already on the disk, and the formats in force after them.
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

    /// Adds samples.
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

    /// Adds a loss of data that never became a sample.
    package mutating func add(_ loss: Loss, to source: Int, now: Int64) -> [Action] {
        admit(prepare(loss, of: source), to: source, now: now)
    }

    /// Changes a track's format from the next samples on.
    package mutating func setFormat(
        _ format: TrackFormat, of source: Int, now: Int64
    ) -> [Action] {
        admit(prepare(format, of: source), to: source, now: now)
    }

    /// Sets a source's audio health, which is sent with the next heartbeat.
    package mutating func setAudio(_ sound: AudioHealth, of source: Int) {
        soundHealth[source] = sound
    }

    /// Sets whether a source's capture was stopped by a command: sent immediately, and with each heartbeat.
    package mutating func setStopped(_ isStopped: Bool, of source: Int, now: Int64) -> [Action] {
        guard stopped.contains(source) != isStopped else { return [] }
        if isStopped { stopped.insert(source) } else { stopped.remove(source) }
        return heartbeat(now: now)
    }

    /// Ends the source.
    package mutating func sayGoodbye(
        _ text: String, of source: Int, now: Int64
    ) -> [Action] {
        admit(prepareGoodbye(text, of: source), to: source, now: now)
    }

    /// Adds a finished clock exchange; it is sent with the next Hello or heartbeat.
    package mutating func add(_ exchange: ReportedExchange) {
        exchanges.add(exchange)
        if exchange.epoch == epoch { collectorClock.add(exchange) }
    }

    // MARK: Connection and messages

    /// Messages can be sent: the link sends Hello.
    package mutating func connected(now: Int64) -> [Action] {
        guard !isOver else { return [] }
        precondition(!outboxes.isEmpty, "an agent greets when it knows its sources")
        state = .greeting(since: now)
        announcedFormats = outboxes.map(\.baseFormats)
        let offers = outboxes.map {
            SourceOffer(name: $0.name, tracks: $0.baseFormats, firstSequence: $0.firstKept)
        }
        var hello = Hello(
            software: settings.software, agent: settings.agent, spool: settings.spool,
            epochs: settings.epochs, sources: offers, clockExchanges: exchanges.take())
        hello.forgetsAtPersisted = settings.forgetsAtPersisted
        return [.send(header: WireMessage.hello(hello).encoded(), payload: nil)]
    }

    /// The connection has closed, or could not be opened.
    package mutating func disconnected(now: Int64) -> [Action] {
        guard !isOver else { return [] }
        // The next collector's clock may be another one.
        exchanges.removeAll()
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

    /// The collector does not admit the agent at present: the link keeps trying.
    /// - Parameter why: one line with the remedy.
    package mutating func notAdmitted(_ why: String, now: Int64) -> [Action] {
        notAdmitted(why, by: .handshake, now: now)
    }

    private mutating func notAdmitted(
        _ said: String, by witness: RefusalWitness, now: Int64
    ) -> [Action] {
        guard !isOver else { return [] }
        // A handshake says less than the collector's own words did before it.
        let why = shutOutBy == .collector && witness == .handshake ? obstacle ?? said : said
        if shutOutBy != .collector { shutOutBy = witness }
        if case .flowing = state { offlineSince = now }
        guard why != obstacle else { return retry(now: now, after: Self.pausesWhenRefused) }
        obstacle = why
        nextWaitingNotice = 1
        return [log(.error, "\(why); keeping samples, trying again")]
            + retry(now: now, after: Self.pausesWhenRefused)
    }

    /// Processes a message.
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

    /// Answers a command. An answer for a disconnected collector is dropped.
    /// - Parameter payload: a snapshot's JPEG.
    package mutating func report(
        _ report: Report, payload: Payload?, now: Int64
    ) -> [Action] {
        guard case .flowing(let lastHeard, _) = state, openCommands.remove(report.id) != nil
        else { return [] }
        state = .flowing(lastHeard: lastHeard, lastSpoken: now)
        return [.send(header: WireMessage.report(report).encoded(), payload: payload)]
    }

    /// Sends the known clock exchanges now instead of with the next heartbeat.
    package mutating func reportExchanges(now: Int64) -> [Action] {
        exchanges.isEmpty ? [] : heartbeat(now: now)
    }

    /// Processes the passing of time: call it a few times per second.
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
            var isDue = settings.window != nil
            for index in outboxes.indices {
                let newest = outboxes[index].nextSequence - 1
                if outboxes[index].schedule.tick(newest: newest, now: now) { isDue = true }
            }
            let actions = isDue ? pump(now: now) : []
            // Sent with records if possible: a separate message would cost the collector a wake-up.
            let isAccompanied =
                !actions.isEmpty && !exchanges.isEmpty
                && now - lastSpoken >= heartbeatNanoseconds * 2 / 5
            let isHeartbeatDue = isAccompanied || now - lastSpoken >= heartbeatNanoseconds
            return actions + (isHeartbeatDue ? heartbeat(now: now) : [])
        case .done, .failed:
            return []
        }
    }
}

// MARK: - State for display

extension AgentLink {
    /// Whether samples can be sent now.
    package var isFlowing: Bool {
        if case .flowing = state { true } else { false }
    }

    /// When waiting records are due, agent's clock: call ``tick(now:)`` then. Nil: none wait.
    package var sendDueNanoseconds: Int64? {
        isFlowing ? outboxes.compactMap(\.schedule.dueNanoseconds).min() : nil
    }
    /// Whether the collector supports several records per message.
    package var takesSeveralRecords: Bool { isFlowing && collectorMinor >= WireLimits.watchMinor }
    /// Maximum delay from capture for samples of a watched source, nanoseconds; nil: it is not watched.
    package func watchNanoseconds(of source: Int) -> Int64? {
        let wish = outboxes[source].watchMilliseconds
        guard isFlowing, wish > 0 else { return nil }
        let range = WireLimits.watchMillisecondsRange
        return Int64(min(max(wish, range.lowerBound), range.upperBound)) * 1_000_000
    }

    /// Payload bytes in memory that are not durable at the collector.
    package var keptBytes: Int { outboxes.reduce(0) { $0 + $1.keptBytes } }
    /// Memory of all kept records, bytes: within the settings' limit.
    package var memoryBytes: Int { outboxes.reduce(0) { $0 + $1.memoryBytes } }
    /// Samples that are not durable at the collector.
    package var keptSamples: UInt64 { outboxes.reduce(0) { $0 + $1.keptSamples } }
    /// Whether no source has further records, and all are on the collector's disk: only releases are awaited.
    package var isPersisted: Bool { outboxes.allSatisfy(\.isPersisted) }
    /// Records of any kind that are on the collector's disk and have to be kept.
    package var unreleasedRecords: UInt64 { outboxes.reduce(0) { $0 + $1.unreleasedRecords } }
    /// The last deleted record of a source.
    package func released(of source: Int) -> UInt64 { outboxes[source].released }
    /// The last record of a source that is durable at the collector.
    package func persisted(of source: Int) -> UInt64 { outboxes[source].persisted }
    /// The number after the last record of a source in memory: later records are only on its disk.
    package func windowEnd(of source: Int) -> UInt64 { outboxes[source].windowEnd }
    /// Why the collector is unreachable, in a few words; nil: unknown. Used in log lines about its absence.
    package mutating func setAbsence(_ reason: String?) { absence = reason }
    /// The number of a source's next record.
    package func nextSequence(of source: Int) -> UInt64 { outboxes[source].nextSequence }
    /// The first number of a source that may be dropped from its disk: after all records that the collector may have.
    package func firstDroppable(of source: Int) -> UInt64 { outboxes[source].firstDroppable }
    /// The last number of a source that may be deleted from its disk without a gap.
    package func lastForgettable(of source: Int) -> UInt64 { outboxes[source].lastForgettable }
    /// Records up to this one, all of them persisted, were deleted from a source's disk for lack of space.
    package mutating func forgot(through sequence: UInt64, of source: Int) {
        outboxes[source].forgot(through: sequence)
    }
    /// Samples lost by the agent.
    package var lostSamples: UInt64 { outboxes.reduce(0) { $0 + $1.lostSamples } }

    /// Why the collector does not admit the agent, one line with the remedy; nil: it does, or nothing is known.
    package var shutOut: String? { shutOutBy == nil ? nil : obstacle }

    private var isOver: Bool {
        switch state {
        case .done, .failed: true
        case .offline, .greeting, .flowing: false
        }
    }

    var epoch: UInt32 { settings.epochs.last?.number ?? 0 }
}

// MARK: - Implementation

extension AgentLink {
    private mutating func welcomed(_ welcome: Welcome, now: Int64) -> [Action] {
        guard case .greeting = state else { return [] }
        guard welcome.sources.map(\.source) == Array(outboxes.indices) else {
            return [log(.warning, "the collector's Welcome lists other sources than the Hello")]
                + retry(now: now)
        }
        for source in welcome.sources { outboxes[source.source].resume(watermarks(source)) }
        // More is persisted than the Hello assumed, including a change of format: its formats are no longer valid.
        guard outboxes.map(\.baseFormats) == announcedFormats else { return connected(now: now) }
        heartbeatNanoseconds = Int64(welcome.heartbeatMilliseconds) * 1_000_000
        session = welcome.session
        collectorMinor = welcome.minor
        for index in outboxes.indices { schedule(index) }
        state = .flowing(lastHeard: now, lastSpoken: now)
        failedAttempts = 0
        inUseRefusals = 0
        obstacle = nil
        shutOutBy = nil
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
        collectorClock.setInstants(acknowledgement.sendInstants)
        for source in acknowledgement.sources where outboxes.indices.contains(source.source) {
            outboxes[source.source].acknowledge(watermarks(source))
        }
        for index in outboxes.indices { schedule(index) }
        return finishIfComplete() + pump(now: now)
    }

    /// The collector's state of a source, with the link's own policy.
    private func watermarks(_ state: SourceState) -> SourceState {
        var state = state
        if settings.forgetsAtPersisted { state.released = nil }
        return state
    }

    /// Decides how long records of a source wait for others.
    ///
    /// They do not wait if batching is disabled; with a collector that does not report whether sources are watched,
    /// because nothing would end the wait; while the source is watched; and until a session has begun, because its zero
    /// is the earliest sample that has arrived.
    private mutating func schedule(_ index: Int) {
        let gathers =
            settings.gathers && collectorMinor >= WireLimits.watchMinor && !session.isEmpty
            && outboxes[index].watchMilliseconds == 0
        outboxes[index].schedule.setInterval(
            gathers ? Int64(WireLimits.gatherMilliseconds) * 1_000_000 : 0,
            newest: outboxes[index].nextSequence - 1)
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
                "the collector at \(settings.endpoint) refused: \(refusal.text)", by: .collector,
                now: now)
        case .sourceInUse where inUseRefusals < Self.inUsePatience:
            // Its holder may be an earlier run of this box, whose last message was still in flight.
            inUseRefusals += 1
            // The collector has answered: its absence must not be logged too.
            obstacle = "the collector at \(settings.endpoint) refused: \(refusal.text)"
            shutOutBy = nil
            nextWaitingNotice = max(nextWaitingNotice, 1)
            return [log(.warning, "\(refusal.text); trying again")] + retry(now: now)
        case .malformed, .version, .name, .sourceInUse, .limit, .sequence, .enrolment, .other:
            state = .failed
            return [.failed("the collector at \(settings.endpoint) refused: \(refusal.text)")]
        }
    }

    /// Only a command of a collector that has sent Welcome is executed.
    private mutating func commanded(_ command: Command) -> [Action] {
        guard case .flowing = state else { return [] }
        func refuse(_ failure: CommandFailure, _ text: String) -> [Action] {
            let report = Report(
                id: command.id, source: command.source, reply: .failure(failure, text))
            return [.send(header: WireMessage.report(report).encoded(), payload: nil)]
        }
        guard outboxes.indices.contains(command.source) else {
            return refuse(.malformed, "this agent has no source \(command.source)")
        }
        guard command.request != .unknown else {
            return refuse(
                .unknownCommand, "this agent (\(settings.software)) does not support that command")
        }
        guard openCommands.count < WireLimits.openCommands,
            openCommands.insert(command.id).inserted
        else { return refuse(.busy, "too many unanswered commands") }
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
        guard let began = offlineSince else {
            offlineSince = now
            return []
        }
        let notices = Self.waitingNotices
        let due =
            nextWaitingNotice < notices.count
            ? notices[nextWaitingNotice]
            : (notices.last ?? 0)
                + Int64(nextWaitingNotice - notices.count + 1) * Self.waitingNoticeInterval
        guard now - began >= due * 1_000_000_000 else { return [] }
        nextWaitingNotice += 1
        let seconds = (now - began) / 1_000_000_000
        let collector = "collector at \(settings.endpoint)"
        let trouble =
            absence ?? (isUnanswered ? "the \(collector) does not answer" : "no \(collector)")
        // What an obstacle ends with is advice.
        let since = obstacle.map { "\($0) (for \(seconds) s)" } ?? "\(trouble) for \(seconds) s"
        return [
            log(.warning, "\(since); keeping samples \(keptText) and trying again until it answers")
        ]
    }

    /// The location of the kept samples, and their bytes.
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

    /// Keeps the records within the memory limit.
    mutating func makeRoom() -> [Action] {
        guard settings.window == nil, dropping.isExceeded(by: memoryBytes) else {
            dropping.note(keptBytes: memoryBytes)
            forgetting.note(keptBytes: memoryBytes)
            return []
        }
        let notice = forgetDurable()
        var dropped: UInt64 = 0
        while dropping.isExceeded(by: memoryBytes) {
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
            // The rest is in flight, which the credit bounds.
            if isStuck { break }
        }
        guard dropped > 0, dropping.reportsDrop() else { return notice }
        return notice + [
            log(
                .error,
                "\(byteText(settings.memoryLimitBytes)) of samples are kept and not yet acknowledged: "
                    + "the oldest are dropped from now on")
        ]
    }

    /// Deletes persisted records that are not released, before records that the collector does not have are dropped.
    private mutating func forgetDurable() -> [Action] {
        var hasForgotten = false
        while dropping.isExceeded(by: memoryBytes) {
            let fullestFirst = outboxes.indices.sorted {
                outboxes[$0].memoryBytes > outboxes[$1].memoryBytes
            }
            guard fullestFirst.contains(where: { outboxes[$0].forgetOldestDurable() }) else {
                break
            }
            hasForgotten = true
        }
        guard hasForgotten, forgetting.reportsDrop() else { return [] }
        return [
            log(
                .warning,
                "\(byteText(settings.memoryLimitBytes)) of memory are not enough until the collector's store "
                    + "has the samples: from now on those on the collector's disk alone are forgotten"
            )
        ]
    }

    private func log(_ level: LinkLog.Level, _ text: String) -> Action {
        .log(LinkLog(level, text))
    }
}
