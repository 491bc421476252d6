import CollectorClient
import Glibc
import Media
import Messaging
import Terminal
import Wire

/// One camera box: its connection, its clock's connection, and the agent's end of the protocol.
///
/// Belongs to one thread. Each box has its own boot, spool and clock exchanges, as if on a separate machine.
final class LoadSource {
    /// Interval of clock probes once the clocks' rates are known, as an agent's; and the initial one.
    private static let probeNanoseconds: Int64 = 2_000_000_000
    private static let firstProbesNanoseconds: Int64 = 2_000_000
    private static let firstProbes = 8
    /// ZeroMQ sockets: for samples, for the clock, and a pair for the monitor; twice, while those of a lost connection are closed.
    static let sockets = 8
    /// Each of them has a descriptor, and two have a connection.
    static let descriptors = 12
    /// Timeout of the first answers.
    private static let patienceNanoseconds: Int64 = 5_000_000_000
    /// Interval of checks for heartbeats and silence.
    private static let tickNanoseconds: Int64 = 200_000_000
    /// Bytes handed to the link ahead of the credit, so that credit is always the limit.
    private static let keptBytes = 2 * Int(WireLimits.creditWindowBytes)

    /// Values shared by all sources of a load.
    struct Surroundings {
        var clip: Clip
        /// Appended to the sources' names.
        var suffix: String
        var endpoint: String
        /// Duration to send.
        var seconds: Int
        /// Whether samples wait for others, as with an agent's `--batch auto`.
        var gathers: Bool
        /// Whether a collector that exits at the goodbye may keep everything unfinished.
        var unfinishable: Bool
        /// Whether a source reconnects to a collector that exited.
        var returns: Bool
        var context: Context
        /// The set that waits for its sockets.
        var ready: ReadySet
        /// Required by a connection; never signalled.
        var wakeUp: WakeUp
    }

    private enum Phase {
        /// Not connected until then.
        case pausing(until: Int64)
        /// The sockets wait for the collector.
        case connecting(since: Int64)
        /// Exchanges clock probes with the collector.
        case probing(since: Int64)
        case greeted
    }

    private let number: Int
    private let name: String
    private let all: Surroundings
    private let security: SocketSecurity
    private var phase = Phase.pausing(until: 0)
    private var connection: LinkConnection?
    private var link: AgentLink<SharedBytes>
    /// The agent's clock when the clip's first sample was captured.
    private let origin: Int64
    private let endNanoseconds: Int64
    private var nextBatch = 0
    private var round: Int64 = 0
    private var nextProbe: Int64 = 0
    private var answers = 0
    private var pauses = ReconnectPauses(of: .random())
    private var hasSaidGoodbye = false
    private(set) var isFinished = false
    private(set) var sentBytes = 0
    private(set) var sentSamples = 0
    private(set) var connections = 0
    private var outgoing: [(header: [UInt8], payload: SharedBytes?)] = []
    /// Batches that are not durable: their last sequences and capture times.
    private var unpersisted: [(through: UInt64, batch: Int, origin: Int64)] = []
    private var firstUnpersisted = 0
    /// Time from capture until durable, of each sample since the last call.
    private var delays = Delays()
    /// When ``turn()`` should be called, on the monotonic clock, if nothing becomes readable before.
    private(set) var nextTurn: Int64 = 0

    /// - Parameters:
    ///   - number: of the source; its sockets' number in the set of descriptors.
    ///   - origin: where the clip's zero is on the machine's monotonic clock.
    init(number: Int, origin: Int64, security: SocketSecurity, in surroundings: Surroundings) {
        self.number = number
        self.security = security
        name = "source\(number)\(surroundings.suffix)"
        all = surroundings
        self.origin = origin
        endNanoseconds = Int64(surroundings.seconds) * 1_000_000_000
        var settings = AgentLinkSettings(
            endpoint: surroundings.endpoint, software: Version.software("bench-load"),
            agent: "box\(number)", spool: .random(),
            epochs: [Epoch(number: 1, identity: .random())])
        settings.gathers = surroundings.gathers
        link = AgentLink(settings: settings)
        _ = link.addSource(name, formats: surroundings.clip.formats)
    }

    var isFlowing: Bool { link.isFlowing }

    func takeDelays() -> Delays {
        defer { delays = Delays() }
        return delays
    }

    private var batch: Clip.Batch { all.clip.batches[nextBatch] }
    private var batchOrigin: Int64 { round * all.clip.lengthNanoseconds }

    /// When the next batch has been captured; nil when it waits for credit and not for time, and when there is none.
    private var captureNanoseconds: Int64? {
        hasSaidGoodbye || link.keptBytes >= Self.keptBytes
            ? nil : origin + batchOrigin + batch.endNanoseconds
    }

    /// Does all due work: connection, answers, clock, samples.
    func turn() throws {
        if case .pausing(let until) = phase, now() >= until { try connect() }
        try read()
        try perform(link.tick(now: now()))
        try probe()
        while !hasSaidGoodbye, link.keptBytes < Self.keptBytes {
            if batchOrigin + batch.endNanoseconds >= endNanoseconds {
                hasSaidGoodbye = true
                try perform(
                    link.add(to: 0, now: now()) { KeptRecord(goodbye: "end of the load", at: $0) })
            } else if let due = captureNanoseconds, due <= now() {
                try offer()
            } else {
                break
            }
        }
        // Sending consumes libzmq's signals, so messages that arrived meanwhile are read now.
        while try send() { try read() }
        nextTurn = dueNanoseconds
    }

    private var dueNanoseconds: Int64 {
        let now = now()
        let due: [Int64?] = [
            captureNanoseconds, link.sendDueNanoseconds, now + Self.tickNanoseconds,
        ]
        let connection: Int64? =
            switch phase {
            case .pausing(let until): until
            case .connecting: nil
            case .probing, .greeted: nextProbe
            }
        return (due + [connection]).compactMap(\.self).min() ?? now
    }

    // MARK: The connection

    /// On one machine each box has its own address, since the collector limits connections per address. libzmq's form
    /// is `tcp://SOURCE:PORT;DESTINATION:PORT`, and all of 127.0.0.0/8 is this machine.
    private static func endpoint(_ collector: String, of number: Int) -> String {
        let loopback = "tcp://127.0.0.1:"
        guard collector.hasPrefix(loopback) else { return collector }
        let box = "127.1.\(number / 250).\(number % 250 + 1)"
        return "tcp://\(box):0;127.0.0.1:\(collector.dropFirst(loopback.count))"
    }

    private func connect() throws {
        // The old sockets are closed first.
        connection = nil
        let new = try LinkConnection(
            to: Self.endpoint(all.endpoint, of: number), security: security, asksForTime: true,
            in: all.context,
            wakeUp: all.wakeUp)
        for descriptor in new.stateDescriptors { try all.ready.add(descriptor, number: number) }
        connection = consume new
        phase = .connecting(since: now())
    }

    /// Reads events, messages and answers.
    private func read() throws {
        while let event = try connection?.nextEvent() { try follow(event) }
        try readMessages()
        while let message = try connection?.nextClockMessage() {
            let t4 = now()
            guard case .clockReply(let reply) = try WireMessage(decoding: message) else { continue }
            answers += 1
            link.add(ReportedExchange(t1: reply.t1, t2: reply.t2, t3: reply.t3, t4: t4, epoch: 1))
        }
    }

    private func readMessages() throws {
        while let message = try connection?.nextMessage() {
            try perform(link.received(message, now: now()))
            notePersisted()
        }
    }

    private func follow(_ event: ConnectionEvent) throws {
        switch event {
        case .ready:
            phase = .probing(since: now())
            answers = 0
            nextProbe = 0
        case .disconnected:
            // Before the first success libzmq reconnects by itself.
            if case .connecting = phase { return }
            // The collector's last messages, which may acknowledge everything, precede the disconnection.
            try readMessages()
            if case .pausing = phase { return }
            guard !isFinished else { return }
            try perform(link.disconnected(now: now()))
        case .handshakeFailed(_, let failure):
            guard all.returns else {
                throw LoadError.ended(source: name, reason: "the handshake failed: \(failure)")
            }
            // libzmq does not reconnect after a refusal.
            try perform(link.notAdmitted("the handshake failed: \(failure)", now: now()))
        case .connected, .accepted, .retrying, .other:
            break
        }
    }

    /// Probes the clock; greets when its offset is known well enough.
    private func probe() throws {
        let now = now()
        switch phase {
        case .pausing:
            return
        case .connecting(let since):
            guard all.returns || now < since + Self.patienceNanoseconds else {
                throw LoadError.ended(source: name, reason: "no collector answers")
            }
            return
        case .probing(let since):
            if answers >= Self.firstProbes || now >= since + Self.patienceNanoseconds {
                phase = .greeted
                connections += 1
                try perform(link.connected(now: now))
            }
        case .greeted:
            break
        }
        guard now >= nextProbe else { return }
        let isFirst = if case .probing = phase { true } else { false }
        nextProbe = now + (isFirst ? Self.firstProbesNanoseconds : Self.probeNanoseconds)
        _ = try connection?.sendProbe(WireMessage.clockProbe(ClockProbe(t1: now)).encoded())
    }

    /// Sends due messages.
    /// - Returns: whether any were sent.
    private func send() throws -> Bool {
        guard !outgoing.isEmpty else { return false }
        try connection?.send(outgoing, takesSeveral: link.takesSeveralRecords)
        outgoing.removeAll(keepingCapacity: true)
        return true
    }

    private func perform(_ actions: [AgentAction<SharedBytes>]) throws {
        for action in actions {
            switch action {
            case .send(let header, let payload):
                outgoing.append((header, payload))
            case .finished:
                isFinished = true
            case .fetch:
                throw LoadError.ended(
                    source: name, reason: "the collector has lost records that it had on disk")
            case .command: continue
            case .reconnect where all.unfinishable && hasSaidGoodbye:
                isFinished = true
            case .reconnect(let milliseconds):
                guard all.returns else {
                    throw LoadError.ended(source: name, reason: "the collector went away")
                }
                outgoing.removeAll()
                connection = nil
                let pause = pauses.next(usualMilliseconds: milliseconds)
                phase = .pausing(until: now() + pause * 1_000_000)
            case .failed(let line):
                throw LoadError.ended(source: name, reason: line)
            case .log(let line):
                let isToldAnyway = line.level == .error || line.level == .warning && !all.returns
                if isToldAnyway { Program.complain(line.text) }
            }
        }
    }

    // MARK: Samples

    private func offer() throws {
        let batch = batch
        sentBytes += batch.payload.count
        sentSamples += batch.runs.reduce(0) { $0 + $1.count }
        try perform(
            link.add(to: 0, now: now()) {
                KeptRecord(
                    batch.runs(from: origin + batchOrigin), digest: batch.digest,
                    payload: batch.payload, at: $0)
            })
        unpersisted.append((link.nextNumber(of: 0).sequence - 1, nextBatch, origin + batchOrigin))
        nextBatch += 1
        if nextBatch == all.clip.batches.count {
            nextBatch = 0
            round += 1
        }
    }

    /// Records the delays of samples that became durable.
    private func notePersisted() {
        let persisted = link.cursors[0].persisted
        let now = now()
        while firstUnpersisted < unpersisted.count,
            unpersisted[firstUnpersisted].through <= persisted
        {
            let (_, batch, origin) = unpersisted[firstUnpersisted]
            for run in all.clip.batches[batch].runs {
                for captured in run.dtsNanoseconds {
                    delays.add(nanoseconds: now - (captured + origin))
                }
            }
            firstUnpersisted += 1
        }
        guard firstUnpersisted >= 256 else { return }
        unpersisted.removeFirst(firstUnpersisted)
        firstUnpersisted = 0
    }
}

/// `CLOCK_MONOTONIC`, nanoseconds.
func now() -> Int64 { SystemClock.monotonic.nowNanoseconds }
