import Logging
import Media
import Messaging
import CollectorClient
import Trust
import Wire

/// One connection of a replay, with at most the sources of an agent. Used on the replay's thread.
final class ReplayLine {
    /// Report interval during the initial clock measurement.
    private static let reportNanoseconds: Int64 = 150_000_000

    private enum Phase {
        /// No connection until then, on the monotonic clock.
        case pausing(until: Int64)
        case connecting
        /// Connected; the collector's clock is being measured.
        case probing
        case greeted
        /// Everything is durable.
        case done
        /// The records cannot become durable; the reason, in one line.
        case failed(String)
    }

    /// Indices of its sources in the replay.
    let sources: Range<Int>
    private let settings: ReplaySettings
    private let control: ReplayControl
    private let logger: Logger
    /// For advice on keys.
    private let firstName: String
    private let host: HostLookup
    private var link: AgentLink<SharedBytes>
    private var prober = ClockProber(epoch: 1, now: 0)
    private var greeting = GreetingWatch()
    private var phase = Phase.pausing(until: 0)
    private var connection: LinkConnection?
    private var outgoing: [(header: [UInt8], payload: SharedBytes?)] = []
    private var reportedNanoseconds: Int64 = 0

    /// - Parameters:
    ///   - sources: in their order among the replay's; at most ``WireLimits/sourcesPerAgent``.
    init(
        _ sources: ArraySlice<(name: String, formats: [TrackFormat])>, epoch: Epoch,
        settings: ReplaySettings, control: ReplayControl, logger: Logger
    ) {
        self.sources = sources.indices
        self.settings = settings
        self.control = control
        self.logger = logger
        firstName = sources.first?.name ?? "replay"
        host = HostLookup(of: settings.endpoint, wakeUp: control.wakeUp)
        var own = AgentLinkSettings(
            endpoint: settings.endpoint, software: settings.software,
            agent: settings.agentName, spool: .random(), epochs: [epoch])
        // A recording is its own copy: it need not wait for the collector's object store.
        own.forgetsAtPersisted = true
        link = AgentLink(settings: own)
        for source in sources { _ = link.addSource(source.name, formats: source.formats) }
    }

    private var isLive: Bool { settings.timeline == .live }
    var isFlowing: Bool { link.isFlowing }
    var keptBytes: Int { link.keptBytes }
    var memoryBytes: Int { link.memoryBytes }
    var keptSamples: UInt64 { link.keptSamples }

    var isDone: Bool {
        if case .done = phase { true } else { false }
    }

    /// The reason why it can never be complete, in one line.
    var failure: String? {
        if case .failed(let line) = phase { line } else { nil }
    }

    /// The reason why the collector does not admit the replay; nil: it does, or it is unknown.
    var shutOut: String? { link.shutOut }

    // MARK: Samples

    /// - Parameter source: its index in the replay.
    func add(_ samples: ReplayedSamples, to source: Int, now: Int64) {
        perform(
            link.add(to: place(source), now: now) {
                KeptRecord(samples.runs, digest: samples.digest, payload: samples.payload, at: $0)
            })
    }

    func add(_ loss: Loss, to source: Int, now: Int64) {
        perform(link.add(to: place(source), now: now) { KeptRecord(loss, at: $0) })
    }

    func setFormat(_ format: TrackFormat, of source: Int, now: Int64) {
        perform(link.add(to: place(source), now: now) { KeptRecord(format, at: $0) })
    }

    func sayGoodbye(_ text: String, now: Int64) {
        for source in 0..<sources.count {
            perform(link.add(to: source, now: now) { KeptRecord(goodbye: text, at: $0) })
        }
    }

    private func place(_ source: Int) -> Int { source - sources.lowerBound }

    // MARK: The connection

    /// Next deadline on the monotonic clock; nil without one.
    var dueNanoseconds: Int64? {
        switch phase {
        case .pausing(let until): until
        case .probing: prober.dueNanoseconds
        case .greeted: isLive ? prober.dueNanoseconds : nil
        case .connecting, .done, .failed: nil
        }
    }

    /// Opens or closes the connection as required.
    /// - Returns: whether it changed, so that it must be polled again.
    func renew(in context: Context, now: Int64) throws(MessagingError) -> Bool {
        switch phase {
        case .pausing(let until):
            let hadOne = connection != nil
            connection = nil
            outgoing.removeAll()
            guard now >= until else { return hadOne }
            connection = try LinkConnection(
                to: host, security: settings.security, asksForTime: isLive,
                in: context, wakeUp: control.wakeUp)
            phase = .connecting
            return true
        case .done, .failed:
            defer { connection = nil }
            return connection != nil
        case .probing, .greeted:
            guard isLive, prober.takeReplacement(now: now) else { return false }
            try connection?.renewClock(in: context)
            return true
        case .connecting:
            return false
        }
    }

    /// Has a poller wait for it.
    func watch(in poller: inout Poller) {
        connection?.watch(in: &poller)
    }

    /// Receives messages and socket events.
    func receive() throws(MessagingError) {
        while let event = try connection?.nextEvent() { try take(event) }
        while let message = try connection?.nextClockMessage() { takeClock(message) }
        try takeMessages()
    }

    private func takeMessages() throws(MessagingError) {
        while let message = try connection?.nextMessage() {
            perform(link.received(message, now: SystemClock.monotonic.nowNanoseconds))
        }
    }

    /// Runs the link's timers, and sends clock probes and pending messages.
    func sendPending(now: Int64) throws(MessagingError) {
        link.setAbsence(
            greeting.trouble(of: settings.endpoint, now: now) ?? host.trouble(now: now))
        perform(link.tick(now: now))
        try sendProbes(now: now)
        guard connection != nil else { return outgoing.removeAll() }
        if case .pausing = phase { return outgoing.removeAll() }
        for (header, payload) in outgoing { try connection?.send(header, payload) }
        outgoing.removeAll(keepingCapacity: true)
        if isLive, link.isFlowing, prober.isLearning(now: now),
            now - reportedNanoseconds >= Self.reportNanoseconds
        {
            reportedNanoseconds = now
            perform(link.reportExchanges(now: now))
        }
    }

    private func take(_ event: ConnectionEvent) throws(MessagingError) {
        let now = SystemClock.monotonic.nowNanoseconds
        if greeting.follow(event, now: now) { return }
        switch event {
        case .ready:
            prober = ClockProber(epoch: 1, now: now)
            if isLive {
                phase = .probing
            } else {
                // The times are not a clock's, so there is nothing to measure.
                phase = .greeted
                perform(link.connected(now: now))
            }
        case .disconnected:
            // Before the first success libzmq tries again by itself.
            if case .connecting = phase { return }
            try takeMessages()
            perform(link.disconnected(now: now))
        case .handshakeFailed(_, let failure):
            let why = HandshakeAdvice.line(
                failure, endpoint: settings.endpoint, name: firstName,
                security: settings.security)
            perform(link.notAdmitted(why, now: now))
        case .connected, .accepted, .retrying, .other:
            return
        }
    }

    private func takeClock(_ message: [UInt8]) {
        let now = SystemClock.monotonic.nowNanoseconds
        do throws(WireError) {
            guard case .clockReply(let reply) = try WireMessage(decoding: message) else { return }
            if let exchange = prober.finish(reply, receivedAt: now) { link.add(exchange) }
        } catch {
            logger.debug("invalid message from the collector's clock: \(error)")
        }
    }

    private func sendProbes(now: Int64) throws(MessagingError) {
        guard isLive else { return }
        switch phase {
        case .pausing, .connecting, .done, .failed:
            return
        case .probing where prober.isBurstOver(now: now):
            phase = .greeted
            perform(link.connected(now: now))
        case .probing, .greeted:
            if let probe = prober.probe(now: now) {
                // A probe that cannot be sent now is dropped.
                _ = try connection?.sendProbe(WireMessage.clockProbe(probe).encoded())
            }
        }
    }

    private func perform(_ actions: [AgentAction<SharedBytes>]) {
        for action in actions {
            switch action {
            case .send(let header, let payload): outgoing.append((header, payload))
            case .fetch: preconditionFailure("what is persisted is not sent again")
            case .reconnect(let milliseconds):
                phase = .pausing(
                    until: SystemClock.monotonic.nowNanoseconds + milliseconds * 1_000_000)
            case .command(let command):
                let refusal = CommandReply.failure(.refused, "this is a replay: it has no camera")
                let report = Report(id: command.id, source: command.source, reply: refusal)
                let now = SystemClock.monotonic.nowNanoseconds
                perform(link.report(report, payload: nil, now: now))
            case .finished: phase = .done
            case .failed(let line): phase = .failed(line)
            case .log(let line): logger.log(line)
            }
        }
    }
}
