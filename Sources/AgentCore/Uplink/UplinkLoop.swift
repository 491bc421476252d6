import Devices
import Encoding
import Logging
import Media
import Messaging
import CollectorClient
import Spooling
import Trust
import Wire

/// The loop of an uplink's thread: opens connections, and passes messages between them and the links.
struct UplinkLoop: ~Copyable {
    /// Maximum sleep of the thread: the interval for batches and heartbeats.
    private static let tickMilliseconds = 50
    /// Interval of questions for the capture's trouble, which is reported to the collector.
    private static let troubleNanoseconds: Int64 = 1_000_000_000

    private let uplink: Uplink
    private var delivery: Delivery<SharedBytes>
    private var synchronizer: SpoolSynchronizer?
    private let first: UplinkLane
    /// Idle without mirroring.
    private let second: UplinkLane
    /// Polls the open connections; nil after a change.
    private var poller: Poller?
    private var outcome: UplinkOutcome?
    private var turns: UInt64 = 0
    private var troubleAskedNanoseconds = Int64.min / 2
    /// The last error, while nothing is sent.
    private var trouble: String?
    /// Last time records were sent, or the end of the source: start of the linger unless a stop was requested.
    private var progressNanoseconds: Int64 = 0
    private var hasSaidGoodbye = false
    private var spoolTrouble: String?
    /// The delay that live viewers request.
    private var watchNanoseconds: Int64?
    private var watchers = WatcherArrivals()
    /// The only collector's host name, until it was resolved.
    private var hostName: HostLookup?

    init(uplink: Uplink, formats: [TrackFormat]) {
        self.uplink = uplink
        delivery = Delivery(
            settings: uplink.settings, disk: uplink.disk, openDisk: uplink.diskOpener,
            formats: formats, epoch: BootEpoch.identity(), makeIdentity: { .random() })
        let makeHost = { HostLookup(of: $0, resolver: uplink.resolver, wakeUp: uplink.wakeUp) }
        first = UplinkLane(.first, endpoint: delivery.endpoint, makeHost: makeHost)
        second = UplinkLane(.mirror, endpoint: delivery.endpoint, makeHost: makeHost)
        synchronizer = delivery.storage.map { SpoolSynchronizer($0) }
        hostName = delivery.hasOtherCollectors ? nil : makeHost(delivery.endpoint)
    }

    /// Runs until everything is persisted, or sending has to end. Closes the spool.
    mutating func run() -> UplinkOutcome {
        defer {
            uplink.begin(.spool)
            synchronizer?.stop()
            delivery.storage?.close()
        }
        var present = first
        do throws(MessagingError) {
            let context = try Context()
            // Sockets are closed before their context.
            defer {
                uplink.begin(outcome.map { .closingConnections($0) } ?? .connections)
                poller = nil
                first.connection = nil
                second.connection = nil
            }
            while outcome == nil {
                uplink.begin(.connections)
                for lane in [first, second] {
                    present = lane
                    try open(lane, in: context)
                }
                try wait()
                // Messages of the collector and of the capture are followed by reads and writes.
                uplink.begin(.spool)
                for lane in [first, second] where lane.connection != nil {
                    present = lane
                    try takeClockMessages(lane)
                    try takeEvents(lane)
                    try takeMessages(lane)
                }
                takeIn(now: MonotonicClock().nowNanoseconds)
                uplink.begin(.connections)
                for lane in [first, second] where lane.connection != nil {
                    present = lane
                    try sendProbes(lane, in: context)
                    if lane.isPausing {
                        close(lane)
                    } else {
                        let takesSeveral =
                            lane === first
                            ? delivery.takesSeveralRecords : delivery.mirrorTakesSeveralRecords
                        try lane.connection?.send(lane.outgoing, takesSeveral: takesSeveral)
                        lane.outgoing.removeAll(keepingCapacity: true)
                    }
                }
            }
        } catch {
            return .failed("the connection to \(present.endpoint) broke: \(error)")
        }
        return outcome ?? .complete
    }

    /// Opens a connection that is due, and closes one that is not required.
    private mutating func open(_ lane: UplinkLane, in context: Context) throws(MessagingError) {
        let now = MonotonicClock().nowNanoseconds
        guard let endpoint = lane === first ? delivery.endpoint : delivery.mirrorEndpoint(now: now)
        else { return close(lane) }
        guard lane.isDue(now: now) else { return }
        lane.follow(endpoint)
        lane.phase = .connecting
        lane.connection = try LinkConnection(
            to: lane.host, security: security(of: lane), asksForTime: true, in: context,
            wakeUp: uplink.wakeUp)
        poller = nil
    }

    private mutating func close(_ lane: UplinkLane) {
        lane.outgoing.removeAll()
        guard lane.connection != nil else { return }
        poller = nil
        lane.connection = nil
        if !lane.isPausing { lane.phase = .pausing(until: .min) }
    }

    /// Blocks until a message, a socket event or a captured sample is available, and queues it.
    private mutating func wait() throws(MessagingError) {
        if poller == nil {
            var poller = Poller()
            first.connection?.watch(in: &poller)
            second.connection?.watch(in: &poller)
            _ = poller.add(descriptor: uplink.wakeUp.descriptor)
            self.poller = consume poller
        }
        let now = MonotonicClock().nowNanoseconds
        var milliseconds = min(
            Self.tickMilliseconds, first.waitMilliseconds(now: now) ?? Self.tickMilliseconds)
        if delivery.isMirrored {
            milliseconds = min(milliseconds, second.waitMilliseconds(now: now) ?? milliseconds)
        }
        if first.isReady || second.isReady {
            // A batch that waited for the tick would be late by half of one.
            let due = min(
                uplink.batchDueNanoseconds ?? .max, delivery.sendDueNanoseconds ?? .max)
            milliseconds = min(milliseconds, Int(clamping: max(0, due - now) / 1_000_000 + 1))
        }
        _ = try poller?.wait(milliseconds: milliseconds)
    }

    private func security(of lane: UplinkLane) -> SocketSecurity {
        uplink.settings.security(of: lane.endpoint)
    }
}

extension UplinkLoop {
    /// Processes samples and events of the capture, and updates timers.
    private mutating func takeIn(now: Int64) {
        uplink.wakeUp.drain()
        let watch = delivery.watchNanoseconds
        if watch != watchNanoseconds {
            if watchers.arrives(isWatched: watch != nil, now: now) { uplink.beginsToBeWatched() }
            watchNanoseconds = watch
            uplink.setWatch(watch)
        }
        let (events, limits) = uplink.takeEvents()
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
        if now - troubleAskedNanoseconds >= Self.troubleNanoseconds {
            troubleAskedNanoseconds = now
            perform(delivery.setTrouble(uplink.captureTrouble, now: now))
        }
        synchronize(now: now)
        if first.isReportDue(now: now) { perform(delivery.reportExchanges(now: now)) }
        if second.isReportDue(now: now) { perform(delivery.reportMirrorExchanges(now: now)) }
        if let endpoints = hostName?.endpoints(now: now) {
            hostName = nil
            perform(delivery.learn(endpoints, now: now))
        }
        lookForCollectors(now: now)
        perform(delivery.tick(now: now))
        if outcome == nil, isOver(limits, now: now) {
            outcome = isHandedOverComplete(limits) ? .complete : outcomeOfGivingUp
        }
        var status = UplinkStatus()
        status.isConnected = delivery.isFlowing || delivery.isMirrorFlowing
        status.collector = delivery.endpoint
        status.moved = delivery.movedBecause
        status.term = delivery.term
        if delivery.hasOtherCollectors {
            status.held = delivery.held
            status.owed = delivery.owed
            status.lasts = delivery.spoolLasts
        }
        status.mirror = delivery.mirrorStatus
        if status.mirror?.trouble == nil { status.mirror?.trouble = second.absence }
        status.keptBytes = delivery.keptBytes
        status.keptSamples = delivery.keptSamples
        status.lostSamples = delivery.lostSamples
        status.roundTripNanoseconds = first.prober.roundTripNanoseconds
        if delivery.isFlowing { trouble = nil }
        status.trouble = delivery.shutOut ?? trouble ?? first.absence
        if delivery.isOnDisk { spoolTrouble = nil }
        let inMemory = spoolTrouble ?? uplink.spoolTrouble
        status.spoolTrouble = delivery.isOnDisk ? nil : inMemory
        turns &+= 1
        status.turns = turns
        uplink.setStatus(status)
    }

    /// Whether to end. Without a requested stop, records on disk wait for an unreachable collector until the linger is over; records
    /// in memory are waited for without limit.
    private func isOver(_ limits: Uplink.SendingLimits, now: Int64) -> Bool {
        if limits.isHandedOver, isKept || delivery.keptSamples == 0 { return true }
        if let deadline = limits.deadline { return now >= deadline }
        return hasSaidGoodbye && isKept && !limits.isPatient
            && now - progressNanoseconds >= uplink.settings.linger.nanoseconds
    }

    /// Whether the source was handed over without a record that the next agent would have to send.
    private func isHandedOverComplete(_ limits: Uplink.SendingLimits) -> Bool {
        limits.isHandedOver && delivery.keptSamples == 0
    }

    /// Diagnoses why collectors are unreachable.
    private mutating func lookForCollectors(now: Int64) {
        // While only a release is pending, no records are sent.
        let sends = delivery.isFlowing && !(hasSaidGoodbye && delivery.isPersisted)
        let sendsMore =
            delivery.isMirrorFlowing && !(hasSaidGoodbye && delivery.isMirrorPersisted)
        if sends || sendsMore { progressNanoseconds = now }
        first.lookForCollector(isFlowing: delivery.isFlowing, now: now)
        delivery.setAbsence(first.absence)
        guard delivery.isMirrored else { return }
        second.lookForCollector(isFlowing: delivery.isMirrorFlowing, now: now)
        delivery.setMirrorAbsence(second.absence)
    }

    /// Passes files that are due to the synchronising thread.
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

    /// Unsent records are on disk, and survive the process.
    private var isKept: Bool { delivery.isOnDisk && delivery.storage != nil }

    /// Where the samples remain that the collector does not have.
    private struct Remains {
        /// All of them are sent at the next start.
        var isKept: Bool
        /// The end of a line about them; nil: they are lost.
        var text: String?
    }

    private var remains: Remains {
        guard let path = delivery.storage?.path else { return Remains(isKept: false) }
        let memory = delivery.keptSamplesInMemory
        let disk = delivery.keptSamples - memory
        if disk > 0, !delivery.hasDiskFiles {
            let others = memory > 0 ? ", and \(memory) in memory" : ""
            return Remains(
                isKept: false,
                text: "\(disk) are lost with files that were removed from \(path)\(others)")
        }
        let stay = "stay in \(path) and are sent at the next start"
        if isKept { return Remains(isKept: true, text: "they \(stay)") }
        guard disk > 0 else { return Remains(isKept: false) }
        return Remains(
            isKept: false,
            text: memory > 0 ? "\(memory) in memory are lost, \(disk) \(stay)" : "they \(stay)")
    }

    private var outcomeOfGivingUp: UplinkOutcome {
        let isKept = remains.isKept
        if let why = delivery.shutOut { return .refused("\(why); \(givenUp)", isKept: isKept) }
        return isKept ? .kept(givenUp) : .failed(givenUp)
    }

    /// The samples that the collector does not have, for the line about a final refusal.
    private var unsent: String {
        guard delivery.keptSamples > 0 else { return "" }
        let samples = "\(delivery.keptSamples) samples (\(byteText(delivery.keptBytes)))"
        let remains = remains
        guard let text = remains.text else { return "; \(samples) are lost here" }
        guard remains.isKept else { return "; of \(samples), \(text)" }
        return "; \(samples) stay in \(delivery.storage?.path ?? "") and are sent at the next start"
    }

    private var givenUp: String {
        let stay = isKept ? "stay in \(delivery.storage?.path ?? "")" : "are lost here"
        if delivery.isMirrored, delivery.isPersisted || delivery.isMirrorPersisted {
            let lacking = delivery.owed.max { $0.records < $1.records }
            let what =
                lacking.map { "\($0.records) samples (\(byteText(Int(clamping: $0.bytes))))" }
                ?? "samples"
            return
                "given up waiting for \(lacking?.collector ?? "a second collector"): \(what) are on one "
                + "collector's disk only; they \(stay)" + (isKept ? " until the next start" : "")
        }
        if delivery.isPersisted {
            let awaited = delivery.isFlowing ? "the collector's store" : "the collector"
            return
                "given up waiting for \(awaited): \(delivery.unreleasedRecords) records are on the "
                + "collector's disk and not in its store yet; they \(stay)"
                + (isKept ? " until the next start" : "")
        }
        let kept = remains.text.map { "; \($0)" } ?? ""
        let why =
            delivery.isFlowing || delivery.shutOut != nil
            ? "" : " (\(trouble ?? first.absence ?? "no collector at \(uplink.settings.endpoint)"))"
        return
            "given up: \(delivery.keptSamples) samples (\(byteText(delivery.keptBytes))) had not "
            + "reached the collector's disk\(why)\(kept)"
    }

    /// Processes a connection's socket events.
    private mutating func takeEvents(_ lane: UplinkLane) throws(MessagingError) {
        while let event = try lane.connection?.nextEvent() ?? nil {
            let now = MonotonicClock().nowNanoseconds
            if lane.greeting.follow(event, now: now) { continue }
            switch event {
            case .ready:
                lane.phase = .probing
                switch lane.role {
                case .first:
                    lane.prober = ClockProber(epoch: delivery.presentEpoch, now: now)
                    delivery.heard(now: now)
                case .mirror:
                    lane.prober = ClockProber(epoch: delivery.mirrorEpoch, now: now)
                    delivery.mirrorHeard(now: now)
                }
            case .disconnected:
                // libzmq retries the first connection by itself.
                if case .connecting = lane.phase { continue }
                // Messages before the disconnection may acknowledge records.
                try takeMessages(lane)
                switch lane.role {
                case .first: perform(delivery.disconnected(now: MonotonicClock().nowNanoseconds))
                case .mirror:
                    perform(delivery.mirrorDisconnected(now: MonotonicClock().nowNanoseconds))
                }
            case .handshakeFailed(_, let failure):
                let holder = KeyHolder(
                    of: uplink.keySources(), source: uplink.settings.sourceName,
                    box: uplink.settings.agentName)
                let why = HandshakeAdvice.line(
                    failure, endpoint: lane.endpoint, name: holder.name, sources: holder.sources,
                    security: security(of: lane))
                switch lane.role {
                case .first: perform(delivery.notAdmitted(why, now: now))
                case .mirror: perform(delivery.mirrorNotAdmitted(why, now: now))
                }
            case .connected, .accepted, .retrying, .other:
                continue
            }
        }
    }

    private mutating func takeMessages(_ lane: UplinkLane) throws(MessagingError) {
        while let message = try lane.connection?.nextMessage() ?? nil {
            let now = MonotonicClock().nowNanoseconds
            switch lane.role {
            case .first: perform(delivery.received(message, now: now))
            case .mirror: perform(delivery.mirrorReceived(message, now: now))
            }
        }
    }

    private mutating func takeClockMessages(_ lane: UplinkLane) throws(MessagingError) {
        while let message = try lane.connection?.nextClockMessage() ?? nil {
            let now = MonotonicClock().nowNanoseconds
            do throws(WireError) {
                guard case .clockReply(let reply) = try WireMessage(decoding: message),
                    let exchange = lane.prober.finish(reply, receivedAt: now)
                else { continue }
                switch lane.role {
                case .first: delivery.add(exchange)
                case .mirror: delivery.addToMirror(exchange)
                }
            } catch {
                uplink.logger.debug("invalid message from the collector's clock: \(error)")
            }
        }
    }

    private mutating func sendProbes(
        _ lane: UplinkLane, in context: Context
    ) throws(MessagingError) {
        let now = MonotonicClock().nowNanoseconds
        switch lane.phase {
        case .pausing, .connecting:
            return
        case .probing where lane.prober.isBurstOver(now: now):
            lane.phase = .greeted
            switch lane.role {
            case .first: perform(delivery.connected(now: now))
            case .mirror: perform(delivery.mirrorConnected(now: now))
            }
        case .probing, .greeted:
            if lane.prober.takeReplacement(now: now) {
                poller = nil
                try lane.connection?.renewClock(in: context)
            }
            if let probe = lane.prober.probe(now: now) {
                // A probe that cannot be sent now is omitted.
                _ = try lane.connection?.sendProbe(WireMessage.clockProbe(probe).encoded())
            }
        }
    }

    private mutating func perform(_ actions: [AgentAction<SharedBytes>]) {
        for action in actions { perform(action, for: first) }
        guard delivery.isMirrored else { return }
        for action in delivery.takeMirrorActions() { perform(action, for: second) }
    }

    private mutating func perform(_ action: AgentAction<SharedBytes>, for lane: UplinkLane) {
        switch action {
        case .send(let header, let payload):
            lane.outgoing.append((header, payload))
        case .fetch:
            preconditionFailure("the delivery reads its log itself")
        case .command(let command):
            uplink.follow(command)
        case .reconnect(let milliseconds):
            lane.pause(milliseconds: milliseconds, now: MonotonicClock().nowNanoseconds)
        case .finished:
            outcome = .complete
        case .failed(let line):
            outcome = .failed(line + unsent)
        case .log(let line):
            log(line)
        }
    }

    private mutating func log(_ line: LinkLog) {
        switch line.level {
        case .error where delivery.storage != nil && !delivery.isOnDisk && spoolTrouble == nil:
            spoolTrouble = line.text
        case .error: trouble = line.text
        // The link's warnings concern an absent collector.
        case .warning: trouble = nil
        case .debug, .info, .notice: break
        }
        var line = line
        if !delivery.session.isEmpty { line.metadata["session"] = delivery.session }
        uplink.logger.log(line)
    }
}
