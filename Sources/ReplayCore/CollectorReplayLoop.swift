import Logging
import Media
import Messaging
import Outbound
import Trust
import Wire

/// The replay's thread: reads, keeps the pace, and carries messages between sockets and the link.
struct CollectorReplayLoop {
    /// How long the thread sleeps at most.
    private static let tickNanoseconds: Int64 = 50_000_000
    /// poll(2) counts in milliseconds; what is due sooner is slept for exactly.
    private static let fineNanoseconds: Int64 = 2_000_000
    /// What is read ahead of what the collector has on disk, payload bytes for each source: twice its credit, so that credit is
    /// always the limit.
    private static let aheadBytes = 2 * Int(WireLimits.creditWindowBytes)
    /// Messages that are handed over before the sockets are looked at again.
    private static let messagesPerTurn = 64
    /// While the clocks are learnt, what was learnt is sent so often.
    private static let reportNanoseconds: Int64 = 150_000_000
    private static let statusNanoseconds: Int64 = 100_000_000

    private enum Phase {
        /// No connection until then, on the monotonic clock.
        case pausing(until: Int64)
        case connecting
        /// Connected; the collector's clock is being asked.
        case probing
        case greeted
    }

    private let settings: ReplaySettings
    private let control: ReplayControl
    private let logger: Logger
    private var schedule: ReplaySchedule
    private var link: AgentLink<SharedBytes>
    private var prober: ClockProber
    private var phase = Phase.pausing(until: 0)
    private var pacer: ReplayPacer?
    private var hasSaidGoodbye = false
    private var isPaused = false
    private var outcome: ReplayOutcome?
    /// Why the recording could not be read on.
    private var failure: ReplayError?
    private var outgoing: [(header: [UInt8], payload: SharedBytes?)] = []
    private var status = ReplayStatus()
    private var meter = LatenessMeter()
    private var nextStatus: Int64 = 0
    private var reportedNanoseconds: Int64 = 0
    /// What is added to the recording's times to make stamps.
    private var stampOffset: Int64 = 0

    init(
        settings: ReplaySettings, control: ReplayControl, logger: Logger, schedule: ReplaySchedule
    ) {
        self.settings = settings
        self.control = control
        self.logger = logger
        self.schedule = schedule
        let epoch: Epoch
        switch settings.timeline {
        case .kept(let zero):
            epoch = Epoch(number: 1, identity: .random(), zeroUTCNanoseconds: zero)
        case .moved:
            epoch = Epoch(
                number: 1, identity: .random(),
                zeroUTCNanoseconds: ReplayClock.utc())
            // The new session's zero is where the recording begins.
            stampOffset = -schedule.start
        case .live:
            epoch = Epoch(number: 1, identity: BootEpoch.identity())
        }
        var own = AgentLinkSettings(
            endpoint: settings.endpoint, software: settings.software,
            agent: settings.agentName, spool: .random(), epochs: [epoch])
        // Never reached: nothing is dropped, reading waits.
        own.memoryLimitBytes = 4 * Self.aheadBytes * schedule.sources.count
        link = AgentLink(settings: own)
        for source in schedule.sources { _ = link.addSource(source.name, formats: source.formats) }
        prober = ClockProber(epoch: 1, now: 0)
    }

    /// Runs until everything is durable, or can never be.
    mutating func run() throws(ReplayError) -> ReplayOutcome {
        do throws(MessagingError) {
            let context = try Context()
            while outcome == nil {
                if case .pausing(let until) = phase, ReplayClock.now() < until {
                    try pause(until: until)
                } else {
                    phase = .connecting
                    try connect(in: context)
                }
            }
        } catch {
            outcome = .failed("the connection to \(settings.endpoint) broke: \(error)")
        }
        publish(now: ReplayClock.now(), force: true)
        if let failure, outcome == .complete { throw failure }
        return outcome ?? .complete
    }

    private mutating func pause(until: Int64) throws(MessagingError) {
        var poller = Poller()
        _ = poller.add(descriptor: control.wakeUp.descriptor)
        while outcome == nil {
            let now = ReplayClock.now()
            guard now < until else { return }
            _ = try poller.wait(
                milliseconds: Int(min(until - now, Self.tickNanoseconds) / 1_000_000) + 1)
            followWishes(now: ReplayClock.now())
            perform(link.tick(now: ReplayClock.now()))
        }
    }

    /// One connection, from its first attempt to its loss.
    private mutating func connect(in context: Context) throws(MessagingError) {
        var connection = try LinkConnection(
            to: settings.endpoint, security: settings.security, in: context,
            wakeUp: control.wakeUp)
        while outcome == nil {
            if case .pausing = phase { return }
            try wait(&connection)
            try takeEvents(connection)
            try takeClockMessages(connection)
            try takeMessages(connection)
            let now = ReplayClock.now()
            followWishes(now: now)
            play(now: now)
            perform(link.tick(now: now))
            try sendProbes(connection, now: now)
            if case .pausing = phase { outgoing.removeAll() }
            for (header, payload) in outgoing { try connection.send(header, payload) }
            outgoing.removeAll(keepingCapacity: true)
            if isLive, link.isFlowing, prober.isLearning(now: now),
                now - reportedNanoseconds >= Self.reportNanoseconds
            {
                reportedNanoseconds = now
                perform(link.reportExchanges(now: now))
            }
            publish(now: now)
        }
    }

    /// Waits for the next message or the next thing that is due.
    private func wait(_ connection: inout LinkConnection) throws(MessagingError) {
        let now = ReplayClock.now()
        var due = now + Self.tickNanoseconds
        switch phase {
        case .probing: due = min(due, prober.dueNanoseconds)
        case .greeted:
            if isLive { due = min(due, prober.dueNanoseconds) }
            if hasRoom, let next = schedule.nextNanoseconds, let time = pacer?.due(next) {
                // At full speed everything is due since ever.
                due = min(due, max(time, now))
            }
        case .pausing, .connecting: break
        }
        let rest = due - now
        if rest > Self.fineNanoseconds {
            try connection.wait(
                milliseconds: Int((rest - Self.fineNanoseconds) / 1_000_000) + 1)
        } else {
            if rest > 0 { ReplayClock.sleep(until: due) }
            try connection.wait(milliseconds: 0)
        }
    }

    private var isLive: Bool { settings.timeline == .live }

    /// Whether more may be read: the collector has most of what was.
    private var hasRoom: Bool {
        !hasSaidGoodbye && link.keptBytes < Self.aheadBytes * schedule.sources.count
    }
}

// MARK: - Playing

extension CollectorReplayLoop {
    /// Sends what is due.
    private mutating func play(now: Int64) {
        guard link.isFlowing || pacer != nil, !hasSaidGoodbye else { return }
        if pacer == nil { begin(now: now) }
        var budget = Self.messagesPerTurn
        while budget > 0, hasRoom, !hasSaidGoodbye {
            budget -= 1
            guard let next = schedule.nextNanoseconds else {
                return sayGoodbye("end of the recording")
            }
            guard let due = pacer?.due(next), due <= now else { return }
            do throws(ReplayError) {
                guard let entry = try schedule.take() else { return }
                if due > .min { meter.add(ReplayClock.now() - due) }
                send(entry, now: now)
            } catch {
                // What was read is complete; the line is told at the end.
                failure = error
                sayGoodbye("the recording cannot be read on")
            }
        }
    }

    private mutating func begin(now: Int64) {
        let first = schedule.nextNanoseconds.map { $0 == .min ? schedule.start : $0 }
        let start = first ?? schedule.start
        var pacer = ReplayPacer(speed: settings.speed, from: start, now: now)
        if isPaused { pacer.pause(now: now) }
        self.pacer = pacer
        // A sample was captured when it is due, to the nanosecond; what is complete now began a moment before.
        if isLive { stampOffset = now - start }
    }

    private mutating func send(_ entry: ReplaySchedule.Entry, now: Int64) {
        if isLive, let pacer { stampOffset = liveOffset(pacer, entry.item, now: now) }
        if entry.item.timeNanoseconds != .min {
            status.positionNanoseconds = entry.item.timeNanoseconds - schedule.roundOffset
        }
        switch entry.item.content {
        case .samples(let samples):
            let stamped = samples.moved(byNanoseconds: stampOffset)
            status.sentSamples += UInt64(samples.runs.reduce(0) { $0 + $1.count })
            status.sentBytes += UInt64(samples.payload.count)
            perform(
                link.add(
                    runs: stamped.runs, digest: stamped.digest, payload: stamped.payload,
                    to: entry.source, now: now))
        case .loss(var loss):
            loss.startNanoseconds &+= stampOffset
            perform(link.add(loss, to: entry.source, now: now))
        case .format(let format):
            perform(link.setFormat(format, of: entry.source, now: now))
        }
    }

    /// What makes stamps of the present: captured when due. What is stepped to is captured now.
    private func liveOffset(_ pacer: ReplayPacer, _ item: ReplayItem, now: Int64) -> Int64 {
        guard pacer.isPaused else { return pacer.time(of: 0) }
        guard item.timeNanoseconds != .min else { return stampOffset }
        return max(stampOffset, now - item.timeNanoseconds)
    }

    private mutating func sayGoodbye(_ text: String) {
        guard !hasSaidGoodbye else { return }
        hasSaidGoodbye = true
        let now = ReplayClock.now()
        for source in schedule.sources.indices {
            perform(link.sayGoodbye(text, of: source, now: now))
        }
    }

    /// Does what other threads have asked for.
    private mutating func followWishes(now: Int64) {
        let wishes = control.takeWishes()
        if wishes.isPaused != isPaused {
            isPaused = wishes.isPaused
            if isPaused {
                pacer?.pause(now: now)
            } else {
                pacer?.resume(now: now, next: schedule.nextNanoseconds ?? 0)
            }
        }
        if wishes.steps > 0, let next = schedule.nextNanoseconds {
            pacer?.step(to: next, now: now)
        }
        if wishes.isStopping {
            if link.isFlowing || pacer != nil {
                sayGoodbye("the replay was stopped")
            } else {
                outcome = .failed("stopped before the collector had taken anything")
            }
        }
        if wishes.isAbandoned, outcome == nil {
            outcome = .failed(
                "given up: \(link.keptSamples) samples (\(link.keptBytes) bytes) had not reached the "
                    + "collector's disk")
        }
    }

    private mutating func publish(now: Int64, force: Bool = false) {
        guard force || now >= nextStatus else { return }
        nextStatus = now + Self.statusNanoseconds
        status.isPaused = isPaused
        status.isFlowing = link.isFlowing
        status.rounds = schedule.rounds
        if force { status.lateness = meter.lateness }
        control.setStatus(status)
    }
}

// MARK: - The connection

extension CollectorReplayLoop {
    /// Follows what happens to the connection.
    private mutating func takeEvents(
        _ connection: borrowing LinkConnection
    ) throws(MessagingError) {
        while let event = try connection.nextEvent() {
            let now = ReplayClock.now()
            switch event {
            case .ready:
                prober = ClockProber(epoch: 1, now: now)
                if isLive {
                    phase = .probing
                } else {
                    // Times do not come from a clock: there is nothing to measure.
                    phase = .greeted
                    perform(link.connected(now: now))
                }
            case .disconnected:
                // Before the first success libzmq tries again by itself.
                if case .connecting = phase { continue }
                try takeMessages(connection)
                perform(link.disconnected(now: now))
            case .handshakeFailed(_, let failure):
                let why = HandshakeAdvice.line(
                    failure, endpoint: settings.endpoint,
                    name: schedule.sources.first?.name ?? "replay",
                    security: settings.security)
                perform(link.notAdmitted(why, now: now))
            case .connected, .accepted, .retrying, .other:
                continue
            }
        }
    }

    private mutating func takeMessages(
        _ connection: borrowing LinkConnection
    ) throws(MessagingError) {
        while let message = try connection.nextMessage() {
            perform(link.received(message, now: ReplayClock.now()))
        }
    }

    private mutating func takeClockMessages(
        _ connection: borrowing LinkConnection
    ) throws(MessagingError) {
        while let message = try connection.nextClockMessage() {
            let now = ReplayClock.now()
            do throws(WireError) {
                guard case .clockReply(let reply) = try WireMessage(decoding: message) else {
                    continue
                }
                if let exchange = prober.finish(reply, receivedAt: now) { link.add(exchange) }
            } catch {
                logger.debug("the collector's clock sent something unreadable: \(error)")
            }
        }
    }

    private mutating func sendProbes(
        _ connection: borrowing LinkConnection, now: Int64
    ) throws(MessagingError) {
        guard isLive else { return }
        switch phase {
        case .pausing, .connecting:
            return
        case .probing where prober.isBurstOver(now: now):
            phase = .greeted
            perform(link.connected(now: now))
        case .probing, .greeted:
            if let probe = prober.probe(now: now) {
                // One that cannot leave now is simply not made.
                _ = try connection.sendProbe(WireMessage.clockProbe(probe).encoded())
            }
        }
    }

    private mutating func perform(_ actions: [AgentAction<SharedBytes>]) {
        for action in actions {
            switch action {
            case .send(let header, let payload): outgoing.append((header, payload))
            case .fetch: preconditionFailure("a replay keeps everything in memory")
            case .reconnect(let milliseconds):
                phase = .pausing(until: ReplayClock.now() + milliseconds * 1_000_000)
            case .command(let command):
                let refusal = CommandReply.failure(.refused, "this is a replay: it has no camera")
                let report = Report(id: command.id, source: command.source, reply: refusal)
                perform(link.report(report, payload: nil, now: ReplayClock.now()))
            case .finished: outcome = .complete
            case .failed(let line): outcome = .failed(line)
            case .log(let line): log(line)
            }
        }
    }

    private func log(_ line: LinkLog) {
        let level: Logger.Level =
            switch line.level {
            case .debug: .debug
            case .info: .info
            case .notice: .notice
            case .warning: .warning
            case .error: .error
            }
        let metadata = Logger.Metadata(
            uniqueKeysWithValues: line.metadata.map { ($0.key, "\($0.value)") })
        logger.log(level: level, "\(line.text)", metadata: metadata)
    }
}
