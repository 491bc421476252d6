import Logging
import Media
import Messaging
import CollectorClient
import Trust
import Wire

/// The thread's work of a ``WireReplay``.
final class WireReplayLoop {
    private static let tickNanoseconds: Int64 = 20_000_000
    private static let probes = 16
    /// Timeout for connecting, for replies, and for making records durable.
    private static let patienceNanoseconds: Int64 = 10_000_000_000
    /// More refusals are not worth remembering.
    private static let maximumRefusals = 100

    private let endpoint: String
    /// The endpoint with its host's address.
    private var address = ""
    private let options: SocketOptions
    private let context: Context
    private let logger: Logger
    private let isStopping: () -> Bool
    private let publish: (ReplayStatus) -> Void
    private var lines: [UInt32: WireLine] = [:]
    private var report = WireReplay.Report()
    private var status = ReplayStatus()
    /// The present collector's clock less the recording one's, for exchanges.
    private var shift: Int64 = 0
    private var meter = LatenessMeter()

    init(
        endpoint: String, security: SocketSecurity, logger: Logger,
        isStopping: @escaping () -> Bool, publish: @escaping (ReplayStatus) -> Void
    ) throws {
        self.endpoint = endpoint
        self.logger = logger
        self.isStopping = isStopping
        self.publish = publish
        context = try Context()
        var options = SocketOptions()
        options.security = security
        // Credit bounds messages in flight.
        options.sendQueue = 0
        options.maximumPartBytes = Int64(WireLimits.headerBytes)
        self.options = options
    }

    func run(_ recording: WireRecordingReader, speed: ReplaySpeed) throws -> WireReplay.Report {
        address = try resolve()
        let offset = try measureClock()
        guard var entry = try Self.next(recording) else {
            throw ReplayError("\(recording.path) has no messages")
        }
        let first = entry.arrivedNanoseconds
        // The last entry's checksum has not been verified yet, so its time is checked.
        let last = try recording.lastArrival().flatMap { Self.isPossible($0) ? $0 : nil } ?? first
        let length = max(0, last - first)
        let now = SystemClock.monotonic.nowNanoseconds
        let pacer = ReplayPacer(speed: speed, from: first, now: now)
        // At a higher speed, capture times have to be in the past: nothing can have been captured after it arrived.
        shift = now + offset - first &- Self.lead(length, speed)
        status.isFlowing = true
        while !isStopping() {
            try wait(until: pacer.time(of: entry.arrivedNanoseconds))
            try play(entry)
            status.positionNanoseconds = entry.arrivedNanoseconds - first
            publish(status)
            guard let next = try Self.next(recording) else { break }
            entry = next
        }
        report.isTorn = recording.isTorn
        try settle()
        report.connections = lines.count
        report.unpersistedRecords = lines.values.reduce(0) { $0 + $1.unpersisted }
        status.lateness = meter.lateness
        publish(status)
        return report
    }

    /// The next entry, with a time that can be reckoned with.
    private static func next(_ recording: WireRecordingReader) throws -> WireRecording.Entry? {
        guard let entry = try recording.next() else { return nil }
        guard isPossible(entry.arrivedNanoseconds) else {
            throw ReplayError(
                "\(recording.path): a message has an impossible time: the file is damaged")
        }
        return entry
    }

    private static func isPossible(_ arrivedNanoseconds: Int64) -> Bool {
        arrivedNanoseconds.magnitude <= WireLimits.timeNanoseconds.magnitude
    }

    /// Reduction of the last message's arrival time.
    private static func lead(_ length: Int64, _ speed: ReplaySpeed) -> Int64 {
        guard case .millionths(let factor) = speed else { return length }
        return max(0, length - Int64(clamping: Int128(length) * 1_000_000 / Int128(factor)))
    }

    /// The endpoint with its host's address.
    private func resolve() throws -> String {
        let host = HostLookup(of: endpoint)
        let giveUp = SystemClock.monotonic.nowNanoseconds + Self.patienceNanoseconds
        while true {
            let now = SystemClock.monotonic.nowNanoseconds
            if let address = host.address(now: now) { return address }
            guard now < giveUp, !isStopping() else {
                throw ReplayError(host.trouble(now: now) ?? "no collector at \(endpoint)")
            }
            SystemClock.sleep(untilMonotonicNanoseconds: now + Self.tickNanoseconds)
        }
    }

    /// The offset from this machine's clock to the collector's.
    private func measureClock() throws -> Int64 {
        let socket = try Socket(.dealer, in: context, options: options)
        let monitor = try ConnectionMonitor(of: socket, in: context)
        try socket.connect(address)
        let giveUp = SystemClock.monotonic.nowNanoseconds + Self.patienceNanoseconds
        var best: (roundTrip: Int64, offset: Int64)?
        var answers = 0
        var probe = SystemClock.monotonic.nowNanoseconds
        _ = try socket.send(.bytes(WireMessage.clockProbe(ClockProbe(t1: probe)).encoded()))
        var poller = Poller()
        _ = poller.add(socket)
        while answers < Self.probes {
            guard SystemClock.monotonic.nowNanoseconds < giveUp, !isStopping() else {
                throw ReplayError("no collector at \(endpoint)")
            }
            _ = try poller.wait(milliseconds: 20)
            try checkAdmission(monitor)
            while let message = try socket.receive(maximumParts: 1) {
                let t4 = SystemClock.monotonic.nowNanoseconds
                guard case .clockReply(let reply)? = Self.message(message.parts[0].bytes),
                    reply.t1 == probe
                else { continue }
                answers += 1
                let roundTrip = (t4 - reply.t1) - (reply.t3 - reply.t2)
                if best.map({ roundTrip < $0.roundTrip }) ?? true {
                    best = (roundTrip, ((reply.t2 - reply.t1) + (reply.t3 - t4)) / 2)
                }
                probe = SystemClock.monotonic.nowNanoseconds
                _ = try socket.send(
                    .bytes(WireMessage.clockProbe(ClockProbe(t1: probe)).encoded()))
            }
        }
        return best?.offset ?? 0
    }

    private func checkAdmission(_ monitor: borrowing ConnectionMonitor) throws {
        while let event = try monitor.nextEvent() {
            // The handshake was interrupted: the collector may still be starting.
            guard case .handshakeFailed(_, let failure) = event else { continue }
            if case .brokenOff = failure { continue }
            throw ReplayError(
                HandshakeAdvice.line(
                    failure, endpoint: endpoint, name: "replay", security: options.security),
                isRefused: true)
        }
    }

    private static func message(_ header: [UInt8]) -> WireMessage? {
        do throws(WireError) {
            return try WireMessage(decoding: header)
        } catch {
            // An unreadable message may be the one that broke the collector: it is sent unchanged.
            return nil
        }
    }
}

// MARK: - Playing

extension WireReplayLoop {
    private func play(_ entry: WireRecording.Entry) throws {
        switch entry.content {
        case .connection: break
        case .missing(let count):
            report.missingMessages += count
            logger.warning("\(count) messages are missing in the wire recording at this point")
        case .message(let header, let payload):
            let line = try line(entry.connection)
            guard !line.isRefused else {
                report.unsentMessages += 1
                return
            }
            let message = Self.message(header)
            if case .hello? = message {
                try awaitEnded()
                line.greets()
            }
            let record = message.flatMap { Record($0, payloadBytes: payload?.count ?? 0) }
            if let record {
                while !line.allows(source: record.source, cost: record.cost), !line.isRefused {
                    guard !isStopping() else { return }
                    try serve(milliseconds: 20)
                }
                line.sent(source: record.source, cost: record.cost, newest: record.newest)
                if case .goodbye? = message { line.hasSaidGoodbye = true }
            }
            var parts = [OutgoingPart.bytes(message.map { moved($0, header) } ?? header)]
            if let payload { parts.append(.bytes(payload)) }
            _ = try line.socket.send(parts)
            report.messages += 1
            report.payloadBytes += UInt64(payload?.count ?? 0)
            status.sentBytes = report.payloadBytes
            if line.state == .greeting { try awaitAnswer(line) }
        }
    }

    private func line(_ number: UInt32) throws -> WireLine {
        if let line = lines[number] { return line }
        let line = try WireLine(in: context, endpoint: address, options: options)
        lines[number] = line
        return line
    }

    /// A message with the collector's readings shifted to the present.
    private func moved(_ message: WireMessage, _ header: [UInt8]) -> [UInt8] {
        func moved(_ exchanges: [ReportedExchange]) -> [ReportedExchange] {
            exchanges.map { exchange in
                var exchange = exchange
                exchange.t2 &+= shift
                exchange.t3 &+= shift
                return exchange
            }
        }
        switch message {
        case .hello(var hello) where !hello.clockExchanges.isEmpty:
            hello.clockExchanges = moved(hello.clockExchanges)
            return WireMessage.hello(hello).encoded()
        case .heartbeat(var heartbeat) where !heartbeat.clockExchanges.isEmpty:
            heartbeat.clockExchanges = moved(heartbeat.clockExchanges)
            return WireMessage.heartbeat(heartbeat).encoded()
        default:
            return header
        }
    }

    /// Waits until sources are free: a Hello after a Goodbye may name the same source, which is busy until its records are
    /// durable. At more than real-time speed, that takes longer than in the recording.
    private func awaitEnded() throws {
        let giveUp = SystemClock.monotonic.nowNanoseconds + Self.patienceNanoseconds
        while lines.values.contains(where: { $0.hasSaidGoodbye && $0.unpersisted > 0 }),
            SystemClock.monotonic.nowNanoseconds < giveUp, !isStopping()
        {
            try serve(milliseconds: 20)
        }
    }

    /// Waits for the Welcome, as the recorded agent did.
    private func awaitAnswer(_ line: WireLine) throws {
        let giveUp = SystemClock.monotonic.nowNanoseconds + Self.patienceNanoseconds
        while line.state == .greeting, SystemClock.monotonic.nowNanoseconds < giveUp, !isStopping()
        {
            try serve(milliseconds: 20)
        }
    }

    private func wait(until due: Int64) throws {
        while !isStopping() {
            let rest = due == .min ? 0 : due - SystemClock.monotonic.nowNanoseconds
            if rest <= 2_000_000 {
                if rest > 0 { SystemClock.sleep(untilMonotonicNanoseconds: due) }
                if due > .min { meter.add(SystemClock.monotonic.nowNanoseconds - due) }
                return try serve(milliseconds: 0)
            }
            try serve(milliseconds: Int(min(rest - 1_000_000, Self.tickNanoseconds) / 1_000_000))
        }
    }

    /// Receives messages of the collector.
    private func serve(milliseconds: Int) throws {
        var poller = Poller()
        for line in lines.values { _ = poller.add(line.socket) }
        if milliseconds > 0 { _ = try poller.wait(milliseconds: milliseconds) }
        for line in lines.values {
            while let received = try line.socket.receive(maximumParts: 1) {
                let wasRefused = line.isRefused
                if let message = Self.message(received.parts[0].bytes) {
                    line.receive(message)
                    if case .command(let command) = message { try refuse(command, on: line) }
                }
                if case .refused(let text, let reason) = line.state, !wasRefused {
                    if reason == .unauthorized { report.shutOut = report.shutOut ?? text }
                    logger.warning("the collector refused a connection: \(text)")
                    if report.refusals.count < Self.maximumRefusals { report.refusals.append(text) }
                }
            }
        }
    }

    /// Refuses a command immediately, because there is no agent.
    private func refuse(_ command: Command, on line: WireLine) throws {
        let reply = CommandReply.failure(
            .refused, "this is the replay of a wire recording: it has no camera")
        let report = Report(id: command.id, source: command.source, reply: reply)
        _ = try line.socket.send(.bytes(WireMessage.report(report).encoded()))
    }

    /// Waits until everything is durable, while there is progress.
    private func settle() throws {
        var giveUp = SystemClock.monotonic.nowNanoseconds + Self.patienceNanoseconds
        var before = UInt64.max
        while SystemClock.monotonic.nowNanoseconds < giveUp, !isStopping() {
            let rest = lines.values.reduce(0) { $0 + $1.unpersisted }
            if rest == 0 { return }
            if rest < before {
                giveUp = SystemClock.monotonic.nowNanoseconds + Self.patienceNanoseconds
            }
            before = rest
            try serve(milliseconds: 20)
        }
    }
}

/// A record of the recording: its source, and its credit cost.
private struct Record {
    var source: Int
    var cost: UInt64
    var newest: UInt64

    init?(_ message: WireMessage, payloadBytes: Int) {
        cost = UInt64(payloadBytes) + WireLimits.recordCostBytes
        switch message {
        case .samples(let samples):
            (source, newest) = (samples.source, samples.lastSequence)
        case .gap(let gap): (source, newest) = (gap.source, gap.sequences.upperBound)
        case .trackUpdate(let update): (source, newest) = (update.source, update.sequence)
        case .goodbye(let goodbye): (source, newest) = (goodbye.source, goodbye.sequence)
        case .hello, .clockProbe, .heartbeat, .welcome, .acknowledgement, .refusal, .clockReply,
            .ping, .command, .report, .enrol, .enrolled, .unknown:
            return nil
        }
    }
}
