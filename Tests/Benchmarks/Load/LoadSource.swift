import Media
import Glibc
import Messaging
import Terminal
import Wire

/// One camera box: its connection, its clock's connection, and the agent's end of the protocol.
///
/// Belongs to one thread. The box's boot, its spool and its clock exchanges are its own, as if there were as many machines.
final class LoadSource {
    /// How often the collector's clock is asked for, after the first few times at once.
    private static let probeNanoseconds: Int64 = 1_000_000_000
    private static let probesAtOnce = 8
    /// Of each source: one for samples, one for the clock.
    static let sockets = 2
    /// How long the first answers may take.
    private static let patienceNanoseconds: Int64 = 5_000_000_000
    /// What is handed to the link ahead of the credit: enough that the credit is always the limit.
    private static let keptBytes = 2 * Int(WireLimits.creditWindowBytes)

    private let name: String
    private let clip: Clip
    private let endpoint: String
    private let media: Socket
    private let clock: Socket
    private var link: AgentLink<SharedBytes>
    /// The agent's clock when the clip's first sample was captured.
    private let origin: Int64
    private let endNanoseconds: Int64
    /// Whether a collector that goes away at the goodbye has taken everything: it cannot finish its files.
    private let unfinishable: Bool
    private var nextBatch = 0
    private var round: Int64 = 0
    private var nextProbe: Int64
    private var hasSaidGoodbye = false
    private(set) var isFinished = false
    private(set) var sentBytes = 0
    private var outgoing: [(header: [UInt8], payload: SharedBytes?)] = []

    /// - Parameters:
    ///   - origin: where the clip's zero is on the machine's monotonic clock.
    ///   - seconds: how much is sent.
    ///   - gathers: whether samples wait for others, as with an agent's `--batch auto`.
    ///   - unfinishable: whether the collector may go away at the goodbye.
    init(
        number: Int, clip: Clip, endpoint: String, security: SocketSecurity, origin: Int64,
        seconds: Int, gathers: Bool, unfinishable: Bool, context: Context
    ) throws {
        name = "source\(number)"
        self.clip = clip
        self.origin = origin
        self.unfinishable = unfinishable
        endNanoseconds = Int64(seconds) * 1_000_000_000
        nextProbe = 0
        var options = SocketOptions()
        options.security = security
        media = try Socket(.dealer, in: context, options: options)
        clock = try Socket(.dealer, in: context, options: options)
        self.endpoint = endpoint
        var settings = AgentLinkSettings(
            endpoint: endpoint, software: Version.software("bench-load"), agent: "box\(number)",
            spool: .random(), epochs: [Epoch(number: 1, identity: .random())])
        settings.memoryLimitBytes = 2 * Self.keptBytes
        settings.gathers = gathers
        link = AgentLink(settings: settings)
        _ = link.addSource(name, formats: clip.formats)
    }

    /// Connects, measures the collector's clock a few times, then greets.
    func start() throws {
        try media.connect(endpoint)
        try clock.connect(endpoint)
        for _ in 0..<Self.probesAtOnce {
            try probe()
            while try !takeClockReplies() {
                guard now() < nextProbe + Self.patienceNanoseconds else {
                    throw LoadError.ended(source: name, reason: "no collector answers")
                }
                usleep(100)
            }
        }
        try perform(link.connected(now: now()))
        try send()
    }

    func watch(with poller: inout Poller) {
        _ = poller.add(media)
        _ = poller.add(clock)
    }

    /// When there is something to be done next; nil when it waits for credit and not for time.
    var dueNanoseconds: Int64? {
        [captureNanoseconds, link.sendDueNanoseconds].compactMap(\.self).min()
    }

    /// When the next batch has been captured; nil when there is none.
    private var captureNanoseconds: Int64? {
        hasSaidGoodbye ? nil : origin + batchOrigin + batch.endNanoseconds
    }

    private var batch: Clip.Batch { clip.batches[nextBatch] }
    private var batchOrigin: Int64 { round * clip.lengthNanoseconds }

    /// Does what has become due: answers, clock, samples.
    func turn() throws {
        while let message = try media.receive(maximumParts: 1) {
            try perform(link.received(message.parts[0].bytes, now: now()))
        }
        _ = try takeClockReplies()
        try perform(link.tick(now: now()))
        if now() >= nextProbe { try probe() }
        while !hasSaidGoodbye, link.keptBytes < Self.keptBytes {
            if batchOrigin + batch.endNanoseconds >= endNanoseconds {
                hasSaidGoodbye = true
                try perform(link.sayGoodbye("end of the load", of: 0, now: now()))
            } else if let due = captureNanoseconds, due <= now() {
                try offer()
            } else {
                break
            }
        }
        try send()
    }

    /// Sends what is to be sent at this moment, several records in one message.
    private func send() throws {
        let sizes = outgoing.lazy.map { (header: $0.header, payloadBytes: $0.payload?.count) }
        for group in RecordGroups.of(sizes, takesSeveral: link.takesSeveralRecords) {
            var parts: [OutgoingPart] = []
            for (header, payload) in outgoing[group] {
                parts.append(.bytes(header))
                if let payload { parts.append(.shared(payload)) }
            }
            guard try media.send(parts) == .sent else {
                throw LoadError.ended(source: name, reason: "no room to send")
            }
        }
        outgoing.removeAll(keepingCapacity: true)
    }

    private func offer() throws {
        let batch = batch
        sentBytes += batch.payload.count
        try perform(
            link.add(
                runs: batch.runs(from: origin + batchOrigin), digest: batch.digest,
                payload: batch.payload, to: 0, now: now()))
        nextBatch += 1
        if nextBatch == clip.batches.count {
            nextBatch = 0
            round += 1
        }
    }

    private func perform(_ actions: [AgentAction<SharedBytes>]) throws {
        for action in actions {
            switch action {
            case .send(let header, let payload):
                outgoing.append((header, payload))
            case .finished:
                isFinished = true
            case .fetch: preconditionFailure("everything is in memory")
            case .command: continue
            case .reconnect where unfinishable && hasSaidGoodbye:
                isFinished = true
            case .reconnect:
                throw LoadError.ended(source: name, reason: "the collector went away")
            case .failed(let line):
                throw LoadError.ended(source: name, reason: line)
            case .log(let line):
                if line.level == .warning || line.level == .error { Program.complain(line.text) }
            }
        }
    }

    private func probe() throws {
        let now = now()
        nextProbe = now + Self.probeNanoseconds
        _ = try clock.send(.bytes(WireMessage.clockProbe(ClockProbe(t1: now)).encoded()))
    }

    /// Whether there was one.
    private func takeClockReplies() throws -> Bool {
        var hasReplied = false
        while let message = try clock.receive(maximumParts: 1) {
            let t4 = now()
            guard case .clockReply(let reply) = try WireMessage(decoding: message.parts[0].bytes)
            else { continue }
            hasReplied = true
            link.add(
                ReportedExchange(t1: reply.t1, t2: reply.t2, t3: reply.t3, t4: t4, epoch: 1))
        }
        return hasReplied
    }
}

/// `CLOCK_MONOTONIC`, nanoseconds.
func now() -> Int64 { SystemClock.monotonic.nowNanoseconds }
