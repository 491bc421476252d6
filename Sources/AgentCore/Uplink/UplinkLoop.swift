import Devices
import Encoding
import Logging
import Media
import Messaging
import CollectorClient
import Spooling
import Trust
import Wire

/// The uplink's thread: makes connections, and carries messages between them and the link.
struct UplinkLoop {
    /// How long the thread sleeps at most: batches and heartbeats are looked at that often.
    private static let tickMilliseconds = 50
    /// While the clocks are learnt, what was learnt is sent so often: a tenth of what a collector lets one peer send.
    private static let reportNanoseconds: Int64 = 150_000_000
    /// A name is looked up only where a collector is not there at once: most are, and the resolver takes memory.
    private static let lookUpAfterNanoseconds: Int64 = 500_000_000

    private enum Phase {
        /// No connection until then, on the monotonic clock.
        case pausing(until: Int64)
        /// The sockets wait for the collector.
        case connecting
        /// Connected; the collector's clock is being asked.
        case probing
        case greeted
    }

    private let uplink: Uplink
    private var delivery: Delivery<SharedBytes>
    private var synchronizer: SpoolSynchronizer?
    private var prober: ClockProber
    private var reportedNanoseconds: Int64 = 0
    private var phase = Phase.pausing(until: 0)
    private var outcome: UplinkOutcome?
    private var turns: UInt64 = 0
    /// What went wrong last, while nothing is sent.
    private var trouble: String?
    /// Of the endpoint that is connected, or was.
    private var hostCheck: HostLookup
    private var endpoint: String
    private var greeting = GreetingWatch()
    /// Since when the collector is not there.
    private var absentSince: Int64?
    /// Why the collector is not heard of.
    private var absence: String?
    /// When records last went to the collector, or the source ended: the linger of an end that nobody asked for counts from there.
    private var progressNanoseconds: Int64 = 0
    private var hasSaidGoodbye = false
    private var spoolTrouble: String?
    /// What somebody who watches the source wishes.
    private var watchNanoseconds: Int64?
    private var watchers = WatcherArrivals()
    /// Of agents that lose a collector together, each comes back at another time.
    private var pauses = ReconnectPauses(of: .random())
    private var outgoing: [(header: [UInt8], payload: SharedBytes?)] = []

    init(uplink: Uplink, formats: [TrackFormat]) {
        self.uplink = uplink
        delivery = Delivery(
            settings: uplink.settings, disk: uplink.disk, openDisk: uplink.diskOpener,
            formats: formats, epoch: BootEpoch.identity(), makeIdentity: { .random() })
        endpoint = delivery.endpoint
        hostCheck = HostLookup(of: endpoint)
        synchronizer = delivery.storage.map { SpoolSynchronizer($0) }
        prober = ClockProber(epoch: delivery.presentEpoch, now: 0)
    }

    /// Runs until everything is durable, or can never be.
    mutating func run() -> UplinkOutcome {
        defer { synchronizer?.stop() }
        do throws(MessagingError) {
            let context = try Context()
            while outcome == nil {
                let now = MonotonicClock().nowNanoseconds
                if case .pausing(let until) = phase, now < until {
                    try pause(in: context, until: until)
                } else {
                    phase = .connecting
                    try connect(in: context)
                }
            }
        } catch {
            return .failed("the connection to \(endpoint) broke: \(error)")
        }
        return outcome ?? .complete
    }

    /// Waits without a connection; what capture gives is kept meanwhile.
    private mutating func pause(in context: Context, until: Int64) throws(MessagingError) {
        var poller = Poller()
        _ = poller.add(descriptor: uplink.wakeUp.descriptor)
        while outcome == nil {
            let now = MonotonicClock().nowNanoseconds
            guard now < until else { return }
            let rest = Int((until - now) / 1_000_000) + 1
            _ = try poller.wait(milliseconds: min(rest, Self.tickMilliseconds))
            takeIn(now: MonotonicClock().nowNanoseconds)
        }
    }

    /// One connection, from its first attempt to its loss.
    private mutating func connect(in context: Context) throws(MessagingError) {
        if endpoint != delivery.endpoint {
            endpoint = delivery.endpoint
            hostCheck = HostLookup(of: endpoint)
            greeting = GreetingWatch()
        }
        var connection = try LinkConnection(
            to: endpoint, security: security, asksForTime: true, in: context,
            wakeUp: uplink.wakeUp)
        while outcome == nil {
            if case .pausing = phase { return }
            try connection.wait(
                milliseconds: waitMilliseconds(now: MonotonicClock().nowNanoseconds))
            try takeClockMessages(connection)
            try takeEvents(connection)
            try takeMessages(connection)
            takeIn(now: MonotonicClock().nowNanoseconds)
            try sendProbes(&connection, in: context)
            if case .pausing = phase { outgoing.removeAll() }
            try connection.send(outgoing, takesSeveral: delivery.takesSeveralRecords)
            outgoing.removeAll(keepingCapacity: true)
        }
    }

    private var security: SocketSecurity { uplink.settings.security(of: endpoint) }

    private func waitMilliseconds(now: Int64) -> Int {
        switch phase {
        case .probing, .greeted:
            // A batch that waited for the tick would be late by half of one.
            let batch = uplink.batchDueNanoseconds ?? .max
            let due = min(prober.dueNanoseconds, batch, delivery.sendDueNanoseconds ?? .max)
            let rest = Int(max(0, due - now) / 1_000_000)
            return min(Self.tickMilliseconds, rest + 1)
        case .pausing, .connecting:
            return Self.tickMilliseconds
        }
    }
}

extension UplinkLoop {
    /// What capture has given, and the time that has passed.
    private mutating func takeIn(now: Int64) {
        uplink.wakeUp.drain()
        let wish = delivery.watchNanoseconds
        if wish != watchNanoseconds {
            if watchers.arrives(isWatched: wish != nil, now: now) { uplink.beginsToBeWatched() }
            watchNanoseconds = wish
            uplink.setWatch(wish)
        }
        let (events, deadline) = uplink.takeEvents()
        for event in events {
            switch event {
            case .batch(let batch):
                perform(delivery.add(batch, payload: batch.payload, now: now))
            case .loss(let loss):
                perform(delivery.add(loss, now: now))
            case .format(let format):
                perform(delivery.setFormat(format, now: now))
            case .goodbye(let text):
                perform(delivery.sayGoodbye(text, now: now))
                hasSaidGoodbye = true
                progressNanoseconds = now
            }
        }
        if let sound = uplink.takeAudio() { delivery.setAudio(sound) }
        for (report, bytes) in uplink.takeReports() {
            let payload =
                bytes.isEmpty
                ? nil : SharedBytes(count: bytes.count) { $0.copyBytes(from: bytes) }
            perform(delivery.report(report, payload: payload, now: now))
        }
        perform(delivery.setStopped(uplink.isCaptureStopped, now: now))
        synchronize(now: now)
        if prober.isLearning(now: now), now - reportedNanoseconds >= Self.reportNanoseconds {
            reportedNanoseconds = now
            perform(delivery.reportExchanges(now: now))
        }
        lookForCollector(now: now)
        perform(delivery.tick(now: now))
        if outcome == nil, isOver(deadline, now: now) {
            outcome = outcomeOfGivingUp
        }
        var status = UplinkStatus()
        status.isConnected = delivery.isFlowing
        status.collector = delivery.endpoint
        status.moved = delivery.movedBecause
        status.term = delivery.term
        if delivery.hasOtherCollectors { status.held = delivery.held }
        status.keptBytes = delivery.keptBytes
        status.keptSamples = delivery.keptSamples
        status.lostSamples = delivery.lostSamples
        status.roundTripNanoseconds = prober.roundTripNanoseconds
        if delivery.isFlowing { trouble = nil }
        status.trouble = delivery.shutOut ?? trouble ?? absence
        if delivery.isOnDisk { spoolTrouble = nil }
        let inMemory = spoolTrouble ?? uplink.spoolTrouble
        status.spoolTrouble = delivery.isOnDisk ? nil : inMemory
        turns &+= 1
        status.turns = turns
        uplink.setStatus(status)
    }

    /// Whether to wait no longer. Where nobody has asked for the end, what is on the box's disk waits for a collector that is not there
    /// as long as the linger says; what would be lost waits on.
    private func isOver(_ deadline: Int64?, now: Int64) -> Bool {
        if let deadline { return now >= deadline }
        return hasSaidGoodbye && isKept
            && now - progressNanoseconds >= uplink.settings.linger.nanoseconds
    }

    /// Finds out why the collector is not heard of.
    private mutating func lookForCollector(now: Int64) {
        guard !delivery.isFlowing else {
            // While only releases are awaited, nothing goes to the collector.
            if !(hasSaidGoodbye && delivery.isPersisted) { progressNanoseconds = now }
            absence = nil
            absentSince = nil
            return delivery.setAbsence(nil)
        }
        let since = absentSince ?? now
        absentSince = since
        let isEarly = now - since < Self.lookUpAfterNanoseconds
        absence =
            greeting.trouble(of: endpoint, now: now)
            ?? (isEarly ? nil : hostCheck.trouble(now: now))
        delivery.setAbsence(absence)
    }

    /// Hands files to the thread that synchronises them, when it is time.
    private mutating func synchronize(now: Int64) {
        if synchronizer == nil, let storage = delivery.storage {
            synchronizer = SpoolSynchronizer(storage)
        }
        guard let synchronizer else { return }
        if let failure = synchronizer.takeFailure() {
            perform(delivery.synchronizationFailed(failure, now: now))
        }
        guard synchronizer.isIdle else { return }
        let names = delivery.takeFilesToSynchronize(now: now)
        if !names.isEmpty { synchronizer.start(names) }
    }

    /// Whether what has not been sent outlives this process.
    private var isKept: Bool { delivery.isOnDisk && delivery.storage != nil }

    private var outcomeOfGivingUp: UplinkOutcome {
        if let why = delivery.shutOut { return .refused("\(why); \(givenUp)", isKept: isKept) }
        return isKept ? .kept(givenUp) : .failed(givenUp)
    }

    private var givenUp: String {
        if delivery.isPersisted {
            let place = isKept ? "stay in \(delivery.storage?.path ?? "")" : "are lost here"
            let awaited = delivery.isFlowing ? "the collector's store" : "the collector"
            return
                "given up waiting for \(awaited): \(delivery.unreleasedRecords) records are on the "
                + "collector's disk and not in its store yet; they \(place)"
                + (isKept ? " until the next start" : "")
        }
        let kept =
            isKept
            ? "; they stay in \(delivery.storage?.path ?? "") and are sent at the next start"
            : ""
        let why =
            delivery.isFlowing || delivery.shutOut != nil
            ? "" : " (\(trouble ?? absence ?? "no collector at \(uplink.settings.endpoint)"))"
        return
            "given up: \(delivery.keptSamples) samples (\(byteText(delivery.keptBytes))) had not "
            + "reached the collector's disk\(why)\(kept)"
    }

    /// Follows what happens to the connection.
    private mutating func takeEvents(
        _ connection: borrowing LinkConnection
    ) throws(MessagingError) {
        while let event = try connection.nextEvent() {
            if greeting.follow(event, now: MonotonicClock().nowNanoseconds) { continue }
            switch event {
            case .ready:
                prober = ClockProber(
                    epoch: delivery.presentEpoch, now: MonotonicClock().nowNanoseconds)
                phase = .probing
                delivery.heard(now: MonotonicClock().nowNanoseconds)
            case .disconnected:
                // Before the first success libzmq tries again by itself.
                if case .connecting = phase { continue }
                // What the collector said last, perhaps that everything is on disk, came before the end.
                try takeMessages(connection)
                perform(delivery.disconnected(now: MonotonicClock().nowNanoseconds))
            case .handshakeFailed(_, let failure):
                let why = HandshakeAdvice.line(
                    failure, endpoint: endpoint, name: uplink.settings.sourceName,
                    security: security)
                perform(delivery.notAdmitted(why, now: MonotonicClock().nowNanoseconds))
            case .connected, .accepted, .retrying, .other:
                continue
            }
        }
    }

    private mutating func takeMessages(
        _ connection: borrowing LinkConnection
    ) throws(MessagingError) {
        while let message = try connection.nextMessage() {
            perform(delivery.received(message, now: MonotonicClock().nowNanoseconds))
        }
    }

    private mutating func takeClockMessages(
        _ connection: borrowing LinkConnection
    ) throws(MessagingError) {
        while let message = try connection.nextClockMessage() {
            let now = MonotonicClock().nowNanoseconds
            do throws(WireError) {
                guard case .clockReply(let reply) = try WireMessage(decoding: message) else {
                    continue
                }
                if let exchange = prober.finish(reply, receivedAt: now) { delivery.add(exchange) }
            } catch {
                uplink.logger.debug("invalid message from the collector's clock: \(error)")
            }
        }
    }

    private mutating func sendProbes(
        _ connection: inout LinkConnection, in context: Context
    ) throws(MessagingError) {
        let now = MonotonicClock().nowNanoseconds
        switch phase {
        case .pausing, .connecting:
            return
        case .probing where prober.isBurstOver(now: now):
            phase = .greeted
            perform(delivery.connected(now: now))
        case .probing, .greeted:
            if prober.takeReplacement(now: now) { try connection.renewClock(in: context) }
            if let probe = prober.probe(now: now) {
                // One that cannot leave now is simply not made.
                _ = try connection.sendProbe(WireMessage.clockProbe(probe).encoded())
            }
        }
    }

    private mutating func perform(_ actions: [AgentAction<SharedBytes>]) {
        for action in actions {
            switch action {
            case .send(let header, let payload):
                outgoing.append((header, payload))
            case .fetch:
                preconditionFailure("the delivery reads its log itself")
            case .command(let command):
                uplink.follow(command)
            case .reconnect(let milliseconds):
                let pause = pauses.next(usualMilliseconds: milliseconds)
                phase = .pausing(until: MonotonicClock().nowNanoseconds + pause * 1_000_000)
            case .finished:
                outcome = .complete
            case .failed(let line):
                outcome = .failed(line)
            case .log(let line):
                log(line)
            }
        }
    }

    private mutating func log(_ line: LinkLog) {
        switch line.level {
        case .error where delivery.storage != nil && !delivery.isOnDisk && spoolTrouble == nil:
            spoolTrouble = line.text
        case .error: trouble = line.text
        // The link's warnings are about a collector that is not there.
        case .warning: trouble = nil
        case .debug, .info, .notice: break
        }
        var line = line
        if !delivery.session.isEmpty { line.metadata["session"] = delivery.session }
        uplink.logger.log(line)
    }
}
