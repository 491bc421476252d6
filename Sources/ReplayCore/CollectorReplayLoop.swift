import Logging
import Media
import Messaging
import CollectorClient
import Wire

/// The loop of the replay's thread: reads, paces, and passes due samples to the connections.
struct CollectorReplayLoop: ~Copyable {
    /// Maximum sleep of the thread.
    private static let tickNanoseconds: Int64 = 50_000_000
    /// Below this, sleeps precisely instead of polling, because poll(2) has a resolution of milliseconds.
    private static let fineNanoseconds: Int64 = 2_000_000
    /// Messages sent between two polls of the sockets.
    private static let messagesPerTurn = 64
    private static let statusNanoseconds: Int64 = 100_000_000

    private let settings: ReplaySettings
    private let control: ReplayControl
    private var schedule: ReplaySchedule
    private let lines: [ReplayLine]
    /// Limit of read samples that the collector has not persisted.
    private let aheadBytes: Int
    private var poller = Poller()
    private var pacer: ReplayPacer?
    private var hasSaidGoodbye = false
    private var isPaused = false
    /// Requested steps that are still to be made.
    private var steps = 0
    private var outcome: ReplayOutcome?
    /// The error that ended reading.
    private var failure: ReplayError?
    private var status = ReplayStatus()
    private var meter = LatenessMeter()
    private var nextStatus: Int64 = 0
    /// Added to recorded times to make capture times.
    private var stampOffset: Int64 = 0

    init(
        settings: ReplaySettings, control: ReplayControl, logger: Logger, schedule: ReplaySchedule
    ) {
        self.settings = settings
        self.control = control
        self.schedule = schedule
        let sources = schedule.sources
        let epoch: Epoch
        switch settings.timeline {
        case .kept(let zero):
            epoch = Epoch(number: 1, identity: .random(), zeroUTCNanoseconds: zero)
        case .moved:
            epoch = Epoch(
                number: 1, identity: .random(),
                zeroUTCNanoseconds: SystemClock.utc.nowNanoseconds)
            // The new session's zero is where the recording begins.
            stampOffset = -schedule.start
        case .live:
            epoch = Epoch(number: 1, identity: BootEpoch.identity())
        }
        let aheadBytes = Self.aheadBytes(sources: sources.count, at: settings.speed)
        self.aheadBytes = aheadBytes
        lines = stride(from: 0, to: sources.count, by: WireLimits.sourcesPerAgent).map { first in
            let end = min(first + WireLimits.sourcesPerAgent, sources.count)
            return ReplayLine(
                sources[first..<end], epoch: epoch, settings: settings, control: control,
                logger: logger)
        }
    }

    /// At full speed: twice the bytes that a collector writes between commits.
    private static let fullSpeedBytes = 128 << 20

    /// Three times the credit of these sources, so that credit is always the limit, with any overhead of small messages.
    private static func aheadBytes(sources: Int, at speed: ReplaySpeed) -> Int {
        let own = sources * Int(WireLimits.creditWindowBytes)
        let common = max(
            Int(WireLimits.commonCreditWindowBytes),
            sources * Int(WireLimits.smallestCreditWindowBytes))
        return max(3 * min(own, common), speed == .unlimited ? fullSpeedBytes : 0)
    }

    /// Runs until everything is durable, or can never be.
    mutating func run() throws(ReplayError) -> ReplayOutcome {
        do throws(MessagingError) {
            let context = try Context()
            while outcome == nil { try turn(context) }
        } catch {
            outcome = .failed("the connection to \(settings.endpoint) broke: \(error)")
        }
        publish(now: SystemClock.monotonic.nowNanoseconds, force: true)
        if let failure, outcome == .complete { throw failure }
        return outcome ?? .complete
    }

    private mutating func turn(_ context: Context) throws(MessagingError) {
        var isAnother = false
        for line in lines
        where try line.renew(in: context, now: SystemClock.monotonic.nowNanoseconds) {
            isAnother = true
        }
        if isAnother { watchAnew() }
        try wait()
        for line in lines { try line.receive() }
        let now = SystemClock.monotonic.nowNanoseconds
        followRequests(now: now)
        play(now: now)
        for line in lines { try line.sendPending(now: now) }
        publish(now: now)
        judge()
    }

    private mutating func watchAnew() {
        poller = Poller()
        _ = poller.add(descriptor: control.wakeUp.descriptor)
        for line in lines { line.watch(in: &poller) }
    }

    /// Whether it is over.
    private mutating func judge() {
        guard outcome == nil else { return }
        if let line = lines.lazy.compactMap(\.failure).first {
            outcome = .failed(line)
        } else if lines.allSatisfy(\.isDone) {
            outcome = .complete
        }
    }

    /// Waits for the next message or the next due time.
    private mutating func wait() throws(MessagingError) {
        let now = SystemClock.monotonic.nowNanoseconds
        var due = now + Self.tickNanoseconds
        for line in lines { due = min(due, line.dueNanoseconds ?? due) }
        if hasRoom, let next = schedule.nextNanoseconds, let time = pacer?.due(next) {
            // At maximum speed everything is due at once.
            due = min(due, max(time, now))
        }
        let rest = due - now
        if rest > Self.fineNanoseconds {
            _ = try poller.wait(
                milliseconds: Int((rest - Self.fineNanoseconds) / 1_000_000) + 1)
        } else {
            if rest > 0 { SystemClock.sleep(untilMonotonicNanoseconds: due) }
            _ = try poller.wait(milliseconds: 0)
        }
    }

    private var isLive: Bool { settings.timeline == .live }

    /// Whether more may be read: the collector has persisted most samples.
    private var hasRoom: Bool {
        !hasSaidGoodbye && lines.reduce(0) { $0 + $1.memoryBytes } < aheadBytes
    }

    /// Whether the collector accepts samples on every connection.
    private var isFlowing: Bool { lines.allSatisfy(\.isFlowing) }

    private func line(of source: Int) -> ReplayLine {
        lines[source / WireLimits.sourcesPerAgent]
    }
}

// MARK: - Playing

extension CollectorReplayLoop {
    /// Sends due samples.
    private mutating func play(now: Int64) {
        guard pacer != nil || isFlowing, !hasSaidGoodbye else { return }
        if pacer == nil { begin(now: now) }
        var budget = Self.messagesPerTurn
        while budget > 0, hasRoom, !hasSaidGoodbye {
            budget -= 1
            guard let next = schedule.nextNanoseconds else {
                return sayGoodbye("end of the recording")
            }
            if steps > 0, let pacer, pacer.due(next) == nil {
                steps -= 1
                self.pacer?.step(to: next, now: now)
            }
            guard let due = pacer?.due(next), due <= now else { return }
            do throws(ReplayError) {
                guard let entry = try schedule.take() else { return }
                if due > .min { meter.add(SystemClock.monotonic.nowNanoseconds - due) }
                send(entry, now: now)
            } catch {
                // Samples before the error are complete; it is reported at the end.
                failure = error
                sayGoodbye("the rest of the recording cannot be read")
            }
        }
    }

    private mutating func begin(now: Int64) {
        let first = schedule.nextNanoseconds.map { $0 == .min ? schedule.start : $0 }
        let start = first ?? schedule.start
        var pacer = ReplayPacer(speed: settings.speed, from: start, now: now)
        if isPaused { pacer.pause(now: now) }
        self.pacer = pacer
        // A sample's capture time is its due time; a complete sample was captured a moment before.
        if isLive { stampOffset = now - start }
    }

    private mutating func send(_ entry: ReplaySchedule.Entry, now: Int64) {
        if isLive, let pacer { stampOffset = liveOffset(pacer, entry.item, now: now) }
        if entry.item.timeNanoseconds != .min {
            status.positionNanoseconds = entry.item.timeNanoseconds - schedule.roundOffset
        }
        if schedule.rounds == 1 || status.unexplainedSamples == 0 {
            status.unexplainedSamples = status.unexplainedSamples.clampedAdding(
                entry.item.unexplainedSamples)
        }
        let line = line(of: entry.source)
        switch entry.item.content {
        case .samples(let samples):
            status.sentSamples += UInt64(samples.runs.reduce(0) { $0 + $1.count })
            status.sentBytes += UInt64(samples.payload.count)
            line.add(
                samples.moved(byNanoseconds: stampOffset), to: entry.source, now: now)
        case .loss(var loss):
            loss.startNanoseconds &+= stampOffset
            line.add(loss, to: entry.source, now: now)
        case .format(let format):
            line.setFormat(format, of: entry.source, now: now)
        }
    }

    /// Offset from recorded times to live capture times. A sample's capture time is its due time; in a single step, it is `now`.
    private func liveOffset(_ pacer: ReplayPacer, _ item: ReplayItem, now: Int64) -> Int64 {
        guard pacer.isPaused else { return pacer.time(of: 0) }
        guard item.timeNanoseconds != .min else { return stampOffset }
        return max(stampOffset, now - item.timeNanoseconds)
    }

    private mutating func sayGoodbye(_ text: String) {
        guard !hasSaidGoodbye else { return }
        hasSaidGoodbye = true
        let now = SystemClock.monotonic.nowNanoseconds
        for line in lines { line.sayGoodbye(text, now: now) }
    }

    /// Applies requests of other threads.
    private mutating func followRequests(now: Int64) {
        let requests = control.takeRequests()
        if requests.isPaused != isPaused {
            isPaused = requests.isPaused
            if isPaused {
                pacer?.pause(now: now)
            } else {
                pacer?.resume(now: now, next: schedule.nextNanoseconds ?? 0)
            }
        }
        steps = isPaused ? steps + requests.steps : 0
        if requests.isStopping {
            if pacer != nil || isFlowing {
                sayGoodbye("the replay was stopped")
            } else {
                outcome = gaveUp("stopped before the collector had accepted any samples")
            }
        }
        if requests.isAbandoned, outcome == nil {
            let samples = lines.reduce(0) { $0 + $1.keptSamples }
            let bytes = lines.reduce(0) { $0 + $1.keptBytes }
            outcome = gaveUp(
                "given up: \(samples) samples (\(byteText(bytes))) had not reached the "
                    + "collector's disk")
        }
    }

    private func gaveUp(_ line: String) -> ReplayOutcome {
        let why = lines.lazy.compactMap(\.shutOut).first
        return why.map { .refused("\($0); \(line)") } ?? .failed(line)
    }

    private mutating func publish(now: Int64, force: Bool = false) {
        guard force || now >= nextStatus else { return }
        nextStatus = now + Self.statusNanoseconds
        status.isPaused = isPaused
        status.isFlowing = isFlowing
        status.rounds = schedule.rounds
        if force { status.lateness = meter.lateness }
        control.setStatus(status)
    }
}
