package import Media

/// The agent's end of the protocol. A value: it owns no socket and no clock; time comes in with each call.
///
/// It has a ``Cursor`` in the log of each source: it sends records within the credit, states up to which one they need not
/// be kept, and starts again after the last durable record when a connection was lost. The logs keep the records, and drop
/// them where a collector is away for too long.
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

    /// How long a Welcome may take: longer than the collector waits for another holder of the source.
    private static var greetingNanoseconds: Int64 { 10_000_000_000 }
    /// Refusals before a source in use is an error: more than the runs of a box that have messages in flight at once.
    private static var inUsePatience: Int { 3 }
    /// Pauses before the next connection, milliseconds: short at first, for a collector that is just restarting.
    private static var pauses: [Int64] { [100, 200, 500, 1_000, 2_000] }
    /// Pauses after a refusal that an operator has to resolve, milliseconds.
    private static var pausesWhenRefused: [Int64] { [1_000, 2_000, 3_000] }
    /// When an absent collector is logged (again), seconds since it was last connected.
    private static var waitingNotices: [Int64] { [1, 10, 60, 300] }
    private static var waitingNoticeInterval: Int64 { 600 }

    private let settings: AgentLinkSettings
    /// The collector; the link's owner changes it while the link is not connected.
    package var route: LinkRoute
    private var state = State.offline
    /// The link's position in the log of each source; only the log's owner changes it from outside.
    package var cursors: [Cursor<Payload>] = []
    /// The formats in the last Hello.
    private var announcedFormats: [[TrackFormat]] = []
    private var exchanges = PendingExchanges()
    /// Audio levels and clock of each source since the last heartbeat.
    private var soundHealth: [Int: AudioHealth] = [:]
    /// Why nothing is captured of some tracks, by source.
    private var troubles: [Int: String] = [:]
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
    /// Why the collector, which is reachable, does not admit the agent.
    private var obstacle: String?
    /// Why the collector is unreachable.
    private var absence: String?
    private var keptAmounts: KeptAmounts?
    /// Source of the refusal whose reason is ``obstacle``; nil without a refusal.
    private var shutOutBy: RefusalWitness?
    /// A Hello was not answered.
    private var isUnanswered = false
    /// The estimate of the collector's clock, for common send instants.
    private(set) var collectorClock: CollectorClock
    /// The minor version of the collector's protocol; 0: not connected.
    private var collectorMinor: UInt32 = 0
    /// The session's name, as the collector reports it; empty until it has begun.
    package private(set) var session = ""
    /// Where its zero is on the collector's clock, as the collector reports it; nil: it has not.
    package private(set) var sessionClock: SessionClock?
    /// The collector's announced name; empty without a name or a connection.
    package private(set) var collectorName = ""
    /// Whether the collector requires two copies of records; nil before the first Welcome.
    package private(set) var wantsMirror: Bool?
    /// Records owed to each collector, for heartbeats.
    package var owed: [OwedRecords] = []
    /// Why the source changed its collector, for heartbeats.
    package var moved = ""
    /// Why the agent is to go to another collector.
    private var departure: String?
    /// The term that the collector has seen of the spool, higher than the present one.
    private var seenTerm: UInt64?

    /// A link that is not connected yet.
    package init(settings: AgentLinkSettings) {
        self.settings = settings
        route = LinkRoute(endpoint: settings.endpoint)
        collectorClock = CollectorClock(of: settings.spool)
    }

    /// A second link for the same log, to another collector.
    /// - Parameters:
    ///   - first: the oldest record of the log.
    ///   - formats: the formats at that record.
    package init(beside other: AgentLink, from first: UInt64, formats: [TrackFormat]) {
        self.init(settings: other.settings)
        cursors = other.cursors.map { Cursor(beside: $0, from: first, formats: formats) }
    }

    // MARK: Records of the sources

    /// Adds a source; its index identifies it in the other calls.
    /// - Parameters:
    ///   - formats: those in force at its first record.
    ///   - kept: the numbers of records that are already in its log, and the formats in force after them.
    /// - Precondition: there are fewer than ``WireLimits/sourcesPerAgent``, and no Hello has been sent.
    package mutating func addSource(
        _ name: String, formats: [TrackFormat],
        kept: (sequences: Range<UInt64>, newestFormats: [TrackFormat])? = nil
    ) -> Int {
        precondition(cursors.count < WireLimits.sourcesPerAgent)
        precondition(SourceName.isValid(name), "names are checked when they are given")
        cursors.append(
            Cursor(name: name, formats: formats, window: settings.window, kept: kept))
        return cursors.count - 1
    }

    /// The number of a source's next record.
    package func nextNumber(of source: Int) -> RecordNumber {
        RecordNumber(
            source: source, sequence: cursors[source].nextSequence,
            epoch: settings.epochs.last?.number ?? 0)
    }

    /// Adds the record that `make` makes with the next number.
    package mutating func add(
        to source: Int, now: Int64, _ make: (RecordNumber) -> KeptRecord<Payload>
    ) -> [Action] {
        admit(make(nextNumber(of: source)), to: source, now: now)
    }

    /// Adds a record of the log: sent records are never newer than the log, and no number is assigned twice.
    package mutating func admit(
        _ record: KeptRecord<Payload>, to source: Int, now: Int64
    ) -> [Action] {
        cursors[source].append(record)
        cursors[source].schedule.add(
            through: record.sequences.upperBound, bytes: record.payloadBytes,
            mayWait: record.samples != nil && isFlowing, clock: collectorClock, now: now)
        return pump(now: now)
    }

    /// No more records follow: when the collector has all of them on its disk, the link is finished without a goodbye.
    package mutating func retire() {
        for index in cursors.indices { cursors[index].retire() }
    }

    /// Adds records that were read for ``AgentAction/fetch(source:from:)``.
    /// - Parameters:
    ///   - records: contiguous; the first is, or contains, the requested one. Unreadable records are replaced by a gap.
    ///   - formats: the formats before the first.
    package mutating func loaded(
        _ records: [KeptRecord<Payload>], formats: [TrackFormat], of source: Int, now: Int64
    ) -> [Action] {
        cursors[source].load(records, formats: formats)
        // The collector has more than the Hello began with, including a change of format: the formats in the Hello are no longer
        // valid.
        let hasSent = cursors.contains { $0.sentCount > 0 }
        if isFlowing, cursors.map(\.baseFormats) != announcedFormats, !hasSent {
            return connected(now: now)
        }
        return pump(now: now)
    }

    /// Sets a source's audio health, which is sent with the next heartbeat.
    package mutating func setAudio(_ sound: AudioHealth, of source: Int) {
        soundHealth[source] = sound
    }

    /// Sets whether a source's capture was stopped by a command: sent at once, and with each heartbeat.
    package mutating func setStopped(_ isStopped: Bool, of source: Int, now: Int64) -> [Action] {
        guard stopped.contains(source) != isStopped else { return [] }
        if isStopped { stopped.insert(source) } else { stopped.remove(source) }
        return heartbeat(now: now)
    }

    /// Sets why nothing is captured of some of a source's tracks: sent at once, and with each heartbeat.
    /// - Parameter trouble: one line; nil: all tracks are captured.
    package mutating func setTrouble(_ trouble: String?, of source: Int, now: Int64) -> [Action] {
        guard troubles[source] != trouble else { return [] }
        troubles[source] = trouble
        return heartbeat(now: now)
    }

    /// Adds a finished clock exchange; it is sent with the next Hello or heartbeat.
    package mutating func add(_ exchange: ReportedExchange) {
        exchanges.add(exchange)
        if exchange.epoch == settings.epochs.last?.number { collectorClock.add(exchange) }
    }

    /// Forgets unreported clock exchanges: the next collector's clock may be another one.
    package mutating func forgetExchanges() { exchanges.removeAll() }

    // MARK: Connection and messages

    /// Messages can be sent: the link sends Hello.
    package mutating func connected(now: Int64) -> [Action] {
        guard !isOver else { return [] }
        precondition(!cursors.isEmpty, "an agent greets when it knows its sources")
        state = .greeting(since: now)
        // Zero is on the clock of the collector that stated it, and this may be another one.
        sessionClock = nil
        announcedFormats = cursors.map(\.baseFormats)
        let offers = cursors.map {
            SourceOffer(
                name: $0.name, tracks: $0.baseFormats, firstSequence: $0.firstKept,
                held: $0.heldElsewhere)
        }
        var hello = Hello(
            software: settings.software, agent: settings.agent, spool: settings.spool,
            epochs: settings.epochs, sources: offers, clockExchanges: exchanges.take())
        hello.forgetsAtPersisted = settings.forgetsAtPersisted
        hello.statement = route.statement
        if route.isLastResort { hello.statement.hasOthers = false }
        return [.send(header: WireMessage.hello(hello).encoded(), payload: nil)]
    }

    /// The connection has closed, or could not be opened.
    package mutating func disconnected(now: Int64) -> [Action] {
        guard !isOver else { return [] }
        forgetExchanges()
        var actions: [Action] = []
        if case .flowing = state {
            actions.append(
                log(
                    .warning,
                    "lost the collector at \(route.endpoint); \(keeping)trying again"))
            offlineSince = now
            nextWaitingNotice = 1
        }
        return actions + retry(now: now)
    }

    /// The collector does not admit the agent, which may change: the link keeps trying.
    /// - Parameter why: one line with the remedy.
    package mutating func notAdmitted(_ why: String, now: Int64) -> [Action] {
        notAdmitted(why, by: .handshake, now: now)
    }

    private mutating func notAdmitted(
        _ said: String, by witness: RefusalWitness, now: Int64
    ) -> [Action] {
        guard !isOver else { return [] }
        departure = said
        // The collector's refusal, received earlier, has more information than a failed handshake.
        let why = shutOutBy == .collector && witness == .handshake ? obstacle ?? said : said
        if shutOutBy != .collector { shutOutBy = witness }
        if case .flowing = state { offlineSince = now }
        guard why != obstacle else { return retry(now: now, after: Self.pausesWhenRefused) }
        obstacle = why
        nextWaitingNotice = 1
        return [log(.error, "\(why); \(keeping)trying again")]
            + retry(now: now, after: Self.pausesWhenRefused)
    }

    /// Processes the header of a message.
    package mutating func received(_ header: [UInt8], now: Int64) -> [Action] {
        do throws(WireError) {
            return received(try WireMessage(decoding: header), now: now)
        } catch {
            return receivedUnreadable(error, now: now)
        }
    }

    /// Processes bytes that cannot be decoded as a message.
    package mutating func receivedUnreadable(_ error: WireError, now: Int64) -> [Action] {
        guard !isOver else { return [] }
        return [log(.warning, "the collector sent something unreadable: \(error)")]
            + retry(now: now)
    }

    /// Processes a message.
    package mutating func received(_ message: WireMessage, now: Int64) -> [Action] {
        guard !isOver else { return [] }
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
            var isDue = settings.window.isPaced
            for index in cursors.indices {
                let newest = cursors[index].nextSequence - 1
                if cursors[index].schedule.tick(newest: newest, now: now) { isDue = true }
            }
            let actions = isDue ? pump(now: now) : []
            // Reports accompany records: a separate message would wake the collector.
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

    /// Time on the agent's clock at which batched records are due; ``tick(now:)`` should be called then. Nil: no record waits.
    package var sendDueNanoseconds: Int64? {
        isFlowing ? cursors.lazy.compactMap { $0.schedule.dueNanoseconds }.min() : nil
    }
    /// Whether the collector takes several records in one message.
    package var takesSeveralRecords: Bool { isFlowing && collectorMinor >= WireLimits.watchMinor }
    /// The delay that live viewers of a source request, nanoseconds; nil without viewers.
    package func watchNanoseconds(of source: Int) -> Int64? {
        let milliseconds = cursors[source].watchMilliseconds
        guard isFlowing, milliseconds > 0 else { return nil }
        let range = WireLimits.watchMillisecondsRange
        return Int64(min(max(milliseconds, range.lowerBound), range.upperBound)) * 1_000_000
    }

    /// Payload bytes in memory that are not durable at the collector.
    package var keptBytes: Int { cursors.reduce(0) { $0 + $1.payloadBytes } }
    /// Memory of the records that are sent next, bytes: within the settings' window.
    package var memoryBytes: Int { cursors.reduce(0) { $0 + $1.memoryBytes } }
    /// Numbers of records of any kind that are not durable at the collector: a record of samples counts each of them.
    package var keptSamples: UInt64 { cursors.reduce(0) { $0 + $1.keptSamples } }
    /// Whether nothing of any source is to come, and all of it is on the collector's disk: only releases are awaited.
    package var isPersisted: Bool { cursors.allSatisfy { $0.isPersisted } }
    /// All sources are complete, with no record to send or to keep.
    package var isComplete: Bool { cursors.allSatisfy { $0.isComplete } }
    /// Records of any kind that are on the collector's disk and have to be kept.
    package var unreleasedRecords: UInt64 { cursors.reduce(0) { $0 + $1.unreleasedRecords } }
    /// Where the records of all logs are, for log lines; nil: this link's log is the only one.
    package mutating func setKept(_ amounts: KeptAmounts?) { keptAmounts = amounts }
    /// Why the collector is unreachable, in a few words; nil: unknown. Used in log lines about its absence.
    package mutating func setAbsence(_ reason: String?) { absence = reason }
    /// Samples lost by the agent.
    package var lostSamples: UInt64 { cursors.reduce(0) { $0 + $1.lostSamples } }

    /// Why the collector does not admit the agent, one line with the remedy; nil: it does, or nothing is known.
    package var shutOut: String? { shutOutBy == nil ? nil : obstacle }

    private var isOver: Bool {
        switch state {
        case .done, .failed: true
        case .offline, .greeting, .flowing: false
        }
    }
}

// MARK: - Implementation

extension AgentLink {
    private mutating func welcomed(_ welcome: Welcome, now: Int64) -> [Action] {
        guard case .greeting = state else { return [] }
        guard welcome.sources.map(\.source) == Array(cursors.indices) else {
            return [log(.warning, "the collector's Welcome lists other sources than the Hello")]
                + retry(now: now)
        }
        for source in welcome.sources { cursors[source.source].resume(watermarks(source)) }
        // More is persisted than was known, including a change of format: the formats in the Hello are no longer valid.
        guard cursors.map(\.baseFormats) == announcedFormats else { return connected(now: now) }
        heartbeatNanoseconds = Int64(welcome.heartbeatMilliseconds) * 1_000_000
        session = welcome.session
        sessionClock = welcome.clock
        collectorName = welcome.collector
        collectorMinor = welcome.minor
        wantsMirror = welcome.mirrored
        for index in cursors.indices { schedule(index) }
        state = .flowing(lastHeard: now, lastSpoken: now)
        failedAttempts = 0
        inUseRefusals = 0
        obstacle = nil
        shutOutBy = nil
        isUnanswered = false
        offlineSince = nil
        nextWaitingNotice = 0
        let connected = log(
            .info, "connected to \(welcome.software) at \(route.endpoint)")
        return [connected] + finishIfComplete() + pump(now: now)
    }

    private mutating func acknowledged(
        _ acknowledgement: Acknowledgement, now: Int64
    ) -> [Action] {
        guard case .flowing = state else { return [] }
        if acknowledgement.session != session { sessionClock = nil }
        session = acknowledgement.session
        sessionClock = acknowledgement.clock ?? sessionClock
        collectorClock.setInstants(acknowledgement.sendInstants)
        for source in acknowledgement.sources where cursors.indices.contains(source.source) {
            cursors[source.source].acknowledge(watermarks(source))
        }
        for index in cursors.indices { schedule(index) }
        return finishIfComplete() + pump(now: now)
    }

    /// The collector's state of a source, as it applies here.
    private func watermarks(_ state: SourceState) -> SourceState {
        var state = state
        if settings.forgetsAtPersisted { state.released = nil }
        return state
    }

    /// Decides how long records of a source are batched.
    ///
    /// They are not batched if the settings exclude it; with a collector that does not report whether a source is watched,
    /// because nothing would end the wait; while the source is watched; and before the session has started, because its zero
    /// is the earliest sample received.
    private mutating func schedule(_ index: Int) {
        let gathers =
            settings.gathers && collectorMinor >= WireLimits.watchMinor && !session.isEmpty
            && cursors[index].watchMilliseconds == 0
        cursors[index].schedule.setInterval(
            gathers ? Int64(WireLimits.gatherMilliseconds) * 1_000_000 : 0,
            newest: cursors[index].nextSequence - 1)
    }

    private mutating func refused(_ refusal: Refusal, now: Int64) -> [Action] {
        switch refusal.reason {
        case .unknownConnection:
            return retry(now: now)
        case .stopping:
            let line = log(.warning, "the collector is stopping; \(keeping)trying again")
            if case .flowing = state {
                offlineSince = now
                nextWaitingNotice = 1
            }
            return [line] + retry(now: now)
        case .unauthorized:
            return notAdmitted(
                "the collector at \(route.endpoint) refused: \(refusal.text)", by: .collector,
                now: now)
        case .sourceInUse where inUseRefusals < Self.inUsePatience:
            // Its holder may be an earlier run of this box, whose last message was still in flight.
            inUseRefusals += 1
            // The collector has answered: its absence must not be logged too.
            obstacle = "the collector at \(route.endpoint) refused: \(refusal.text)"
            shutOutBy = nil
            nextWaitingNotice = max(nextWaitingNotice, 1)
            return [log(.warning, "\(refusal.text); trying again")] + retry(now: now)
        case .elsewhere:
            departure = refusal.text
            noteOffline(now: now)
            return retry(now: now)
        case .version where route.statement.hasOthers:
            departure = "it refused: \(refusal.text)"
            noteOffline(now: now)
            return retry(now: now, after: Self.pausesWhenRefused)
        case .term:
            seenTerm = refusal.term
            noteOffline(now: now)
            return [log(.warning, "the collector at \(route.endpoint) refused: \(refusal.text)")]
                + retry(now: now)
        case .malformed, .version, .name, .sourceInUse, .limit, .sequence, .enrolment, .other:
            state = .failed
            return [.failed("the collector at \(route.endpoint) refused: \(refusal.text)")]
        }
    }

    private mutating func noteOffline(now: Int64) {
        guard case .flowing = state else { return }
        offlineSince = now
        nextWaitingNotice = 1
    }

    /// Why the agent should switch to another collector; nil if it need not. Returned once.
    package mutating func takeDeparture() -> String? {
        defer { departure = nil }
        return departure
    }

    /// The higher term of the spool that the collector has seen, after a refusal. Returned once.
    package mutating func takeSeenTerm() -> UInt64? {
        defer { seenTerm = nil }
        return seenTerm
    }

    /// Only a command of a collector that has sent Welcome is executed.
    private mutating func commanded(_ command: Command) -> [Action] {
        guard case .flowing = state else { return [] }
        func refuse(_ failure: CommandFailure, _ text: String) -> [Action] {
            let report = Report(
                id: command.id, source: command.source, reply: .failure(failure, text))
            return [.send(header: WireMessage.report(report).encoded(), payload: nil)]
        }
        guard cursors.indices.contains(command.source) else {
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
        // This collector has everything: its absence delays nothing.
        if cursors.allSatisfy(\.awaitsOther) { return [] }
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
        let collector = "collector at \(route.endpoint)"
        let trouble =
            absence ?? (isUnanswered ? "the \(collector) does not answer" : "no \(collector)")
        // An obstacle's text ends with advice.
        let since = obstacle.map { "\($0) (for \(seconds) s)" } ?? "\(trouble) for \(seconds) s"
        let kept = settings.forgetsAtPersisted ? "" : "keeping samples \(keptText) and "
        return [log(.warning, "\(since); \(kept)trying again until it answers")]
    }

    /// A replay keeps no samples: the recording has them.
    private var keeping: String { settings.forgetsAtPersisted ? "" : "keeping samples, " }

    /// Kind of storage, and bytes in it.
    private var keptText: String {
        if let keptAmounts { return "\(keptAmounts)" }
        let bytes = byteText(cursors.reduce(0) { $0 + keptBytes(of: $1) })
        let limit = settings.memoryLimitBytes.map { " of at most \(byteText($0))" }
        return limit.map { "in memory (\(bytes)\($0))" } ?? "on disk (\(bytes))"
    }

    private func keptBytes(of cursor: Cursor<Payload>) -> Int {
        cursor.storedBytes ?? cursor.payloadBytes
    }

    /// Sends records within the credit.
    private mutating func pump(now: Int64) -> [Action] {
        guard case .flowing(let lastHeard, _) = state else { return [] }
        var actions: [Action] = []
        for index in cursors.indices {
            while let record = cursors[index].nextToSend(now: now) {
                actions.append(.send(header: record.header, payload: record.payload))
            }
            if let wanted = cursors[index].wanted {
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
        let health = cursors.enumerated().map { index, cursor in
            var health = SourceHealth(
                source: index, keptBytes: UInt64(keptBytes(of: cursor)),
                newestSequence: cursor.newestSequence, lostSamples: cursor.lostSamples,
                sound: soundHealth[index], isStopped: stopped.contains(index))
            health.owed = owed
            health.moved = moved
            health.trouble = troubles[index] ?? ""
            return health
        }
        soundHealth.removeAll()
        let message = Heartbeat(clockExchanges: exchanges.take(), health: health)
        return [.send(header: WireMessage.heartbeat(message).encoded(), payload: nil)]
    }

    private mutating func finishIfComplete() -> [Action] {
        guard cursors.allSatisfy({ $0.isComplete }) else { return [] }
        state = .done
        return [.finished]
    }

    private func log(_ level: LinkLog.Level, _ text: String) -> Action {
        .log(LinkLog(level, text))
    }
}
