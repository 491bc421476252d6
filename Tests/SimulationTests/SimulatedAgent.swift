import Media
import CollectorClient
import Spooling
import TestSpools
import Wire

@testable import AgentCore

/// A box: simulated camera, clock and disk, with the real agent's code.
struct SimulatedAgent {
    static let spoolBytes = 8 << 20

    let name: String
    let index: UInt8
    let disk: SimulatedDisk
    private(set) var camera: SimulatedCamera
    private var random: SeededGenerator
    private var boot: UInt8 = 1
    /// Offset of the box's clock from true time, besides its skew.
    private var offsetNanoseconds: Int64
    private let skewPPM: Int64
    private var backlog: Delivery<SimulatedPayload>
    private(set) var lives = 1
    private(set) var isFinished = false
    private(set) var failure: String?
    private(set) var hasSaidGoodbye = false
    /// When to connect; nil while connected.
    private(set) var reconnectAt: Int64? = 0
    /// The same of the connection to the second collector.
    private var mirrorReconnectAt: Int64? = 0
    private var mirrorOutgoing: [(header: [UInt8], payload: SimulatedPayload?)] = []
    private(set) var mirrorHangsUp = false
    private var nextMirrorExchange: Int64 = 0
    private var nextExchange: Int64 = 0
    /// The first sample of each life that followed a power cut.
    private(set) var powerCuts: [UInt32] = []
    /// Messages to send, in order.
    private(set) var outgoing: [(header: [UInt8], payload: SimulatedPayload?)] = []
    /// Whether it closes its connection.
    private(set) var hangsUp = false
    /// The endpoints of its collectors.
    private let collectors: String
    /// Samples made between a snapshot and its restoration.
    private(set) var takenBack: [Range<UInt32>] = []
    private var snapshot: (disk: SimulatedDisk.Snapshot, made: UInt32)?
    private(set) var log: [String] = []
    /// A fault on purpose.
    private let groupSabotage: GroupSabotage?

    /// Where it connects to.
    var endpoint: String { backlog.endpoint }
    /// The second collector to connect to now; nil: none, or not now.
    func mirrorDue(now: Int64) -> String? {
        guard let endpoint = backlog.mirrorEndpoint(now: clock(now)),
            mirrorReconnectAt.map({ now >= $0 }) ?? false
        else { return nil }
        return endpoint
    }
    var isMirrored: Bool { backlog.isMirrored }
    var term: UInt64 { backlog.term }

    init(
        index: UInt8, seed: UInt64, now: Int64, collectors: String = "tcp://collector:5550",
        sabotage: GroupSabotage? = nil
    ) throws {
        self.collectors = collectors
        groupSabotage = sabotage
        name = "camera\(index)"
        self.index = index
        var random = SeededGenerator(seed: seed &* 31 &+ UInt64(index))
        camera = SimulatedCamera(
            source: index, start: now + .random(in: 0...400_000_000, using: &random))
        offsetNanoseconds = .random(in: -3_600_000_000_000...86_400_000_000_000, using: &random)
        skewPPM = .random(in: -80...80, using: &random)
        disk = SimulatedDisk(seed: random.next())
        self.random = random
        backlog = try Self.backlog(
            name, disk, boot: 1, box: index, random.next(), collectors, sabotage)
    }

    private static func backlog(
        _ name: String, _ disk: SimulatedDisk, boot: UInt8, box: UInt8, _ seed: UInt64,
        _ collectors: String, _ sabotage: GroupSabotage?
    ) throws -> Delivery<SimulatedPayload> {
        var settings = UplinkSettings(
            endpoint: collectors, sourceName: name, agentName: name,
            software: "agent", batch: .fixed(.milliseconds(200)), memoryLimitBytes: 16 << 20)
        settings.spool = SpoolSettings(path: "disk", limitBytes: spoolBytes)
        let identities = Identities(seed: seed)
        let storage: any SpoolStorage =
            sabotage == .skipsNoteSynchronization ? UnsyncedNotes(disk) : disk
        return Delivery(
            settings: settings,
            disk: try SpoolSet(storage: storage, limitBytes: spoolBytes),
            formats: SimulatedCamera.formats,
            epoch: EpochID([box] + [UInt8](repeating: boot, count: 15)) ?? .random(),
            makeIdentity: { identities.next() })
    }

    /// The epoch of the box's clock.
    var epoch: EpochID {
        EpochID([index] + [UInt8](repeating: boot, count: 15)) ?? .random()
    }

    /// The box's clock at a true time.
    func clock(_ now: Int64) -> Int64 {
        now + offsetNanoseconds + now / 1_000_000 * skewPPM
    }

    // MARK: What happens

    /// Captures the samples that are due.
    mutating func capture(until now: Int64) {
        while !hasSaidGoodbye, camera.dueNanoseconds <= now {
            var camera = camera
            let (batch, payload) = camera.batch(using: &random, clock: clock)
            self.camera = camera
            perform(backlog.add(batch, payload: payload, now: clock(now)), now: now)
        }
    }

    mutating func sayGoodbye(now: Int64) {
        guard !hasSaidGoodbye else { return }
        hasSaidGoodbye = true
        perform(backlog.sayGoodbye("end", now: clock(now)), now: now)
    }

    /// Runs the backlog's timers, which also synchronise its disk.
    mutating func tick(now: Int64) {
        perform(backlog.tick(now: clock(now)), now: now)
        let names = backlog.takeFilesToSynchronize(now: clock(now))
        guard !names.isEmpty else { return }
        do throws(SpoolError) {
            try disk.synchronize(names)
        } catch {
            perform(backlog.synchronizationFailed(error, now: clock(now)), now: now)
        }
    }

    /// The connection is established.
    /// - Parameter collector: the collector's clock as a function of true time.
    mutating func connected(now: Int64, collector: (Int64) -> Int64) {
        reconnectAt = nil
        hangsUp = false
        outgoing = []
        exchange(now: now, count: 6, collector: collector)
        perform(backlog.connected(now: clock(now)), now: now)
    }

    mutating func disconnected(now: Int64) {
        outgoing = []
        perform(backlog.disconnected(now: clock(now)), now: now)
    }

    mutating func received(_ header: [UInt8], now: Int64) {
        perform(backlog.received(header, now: clock(now)), now: now)
    }

    /// The connection to the second collector is established.
    mutating func mirrorConnected(now: Int64, collector: (Int64) -> Int64) {
        mirrorReconnectAt = nil
        mirrorHangsUp = false
        mirrorOutgoing = []
        for exchange in exchanges(now: now, count: 6, collector, epoch: backlog.mirrorEpoch) {
            backlog.addToMirror(exchange)
        }
        perform(backlog.mirrorConnected(now: clock(now)), now: now)
    }

    mutating func mirrorDisconnected(now: Int64) {
        mirrorOutgoing = []
        perform(backlog.mirrorDisconnected(now: clock(now)), now: now)
    }

    mutating func mirrorReceived(_ header: [UInt8], now: Int64) {
        let header = groupSabotage == .forgetsWhatIsReceived ? Self.exaggerated(header) : header
        perform(backlog.mirrorReceived(header, now: clock(now)), now: now)
    }

    /// A collector's message that reports records on disk that have only arrived.
    private static func exaggerated(_ header: [UInt8]) -> [UInt8] {
        switch try? WireMessage(decoding: header) {
        case .acknowledgement(var said)?:
            for index in said.sources.indices {
                said.sources[index].persisted = said.sources[index].received
            }
            return WireMessage.acknowledgement(said).encoded()
        default: return header
        }
    }

    mutating func measureMirror(now: Int64, collector: (Int64) -> Int64) {
        guard now >= nextMirrorExchange else { return }
        nextMirrorExchange = now + 500_000_000
        for exchange in exchanges(now: now, count: 1, collector, epoch: backlog.mirrorEpoch) {
            backlog.addToMirror(exchange)
        }
    }

    /// Sends a clock exchange when one is due.
    mutating func measure(now: Int64, collector: (Int64) -> Int64) {
        guard now >= nextExchange else { return }
        nextExchange = now + 500_000_000
        exchange(now: now, count: 1, collector: collector)
    }

    private mutating func exchange(now: Int64, count: Int64, collector: (Int64) -> Int64) {
        for exchange in exchanges(now: now, count: count, collector, epoch: backlog.presentEpoch) {
            backlog.add(exchange)
        }
    }

    private mutating func exchanges(
        now: Int64, count: Int64, _ collector: (Int64) -> Int64, epoch: UInt32
    ) -> [ReportedExchange] {
        (0..<count).map { index in
            let sent = now - (count - index) * 5_000_000
            let there = Int64.random(in: 50_000...900_000, using: &random)
            let back = Int64.random(in: 50_000...900_000, using: &random)
            return ReportedExchange(
                t1: clock(sent), t2: collector(sent + there),
                t3: collector(sent + there + 10_000), t4: clock(sent + there + back + 10_000),
                epoch: epoch)
        }
    }

    /// Kills the agent or cuts its box's power, and restarts it immediately.
    mutating func restart(afterPowerCut: Bool, now: Int64) throws {
        lives += 1
        outgoing = []
        if afterPowerCut {
            boot += 1
            disk.cutPower()
            offsetNanoseconds = -now + .random(in: 0...1_000_000_000, using: &random)
            powerCuts.append(UInt32(camera.made.count))
        }
        try restartAgent(now: now)
    }

    /// Takes a snapshot of the box.
    mutating func takeSnapshot() { snapshot = (disk.snapshot(), UInt32(camera.made.count)) }

    /// Puts the box's disk back to its last snapshot.
    /// - Parameter boots: whether the box boots then; otherwise its clock runs on.
    /// - Returns: false: there is none.
    mutating func restoreSnapshot(boots: Bool, now: Int64) throws -> Bool {
        guard let snapshot else { return false }
        lives += 1
        outgoing = []
        disk.restore(snapshot.disk)
        if boots {
            boot += 1
            offsetNanoseconds = -now + .random(in: 0...1_000_000_000, using: &random)
        }
        takenBack.append(snapshot.made..<UInt32(camera.made.count))
        try restartAgent(now: now)
        return true
    }

    private mutating func restartAgent(now: Int64) throws {
        backlog = try Self.backlog(
            name, disk, boot: boot, box: index, random.next(), collectors, groupSabotage)
        camera.restart(at: now)
        reconnectAt = now
        hangsUp = false
        mirrorReconnectAt = now
        mirrorOutgoing = []
        mirrorHangsUp = false
        if hasSaidGoodbye {
            hasSaidGoodbye = false
            sayGoodbye(now: now)
        }
    }

    mutating func takeOutgoing() -> [(header: [UInt8], payload: SimulatedPayload?)] {
        defer { outgoing = [] }
        return told(outgoing)
    }

    mutating func takeMirrorOutgoing() -> [(header: [UInt8], payload: SimulatedPayload?)] {
        defer { mirrorOutgoing = [] }
        return told(mirrorOutgoing)
    }

    private func told(
        _ messages: [(header: [UInt8], payload: SimulatedPayload?)]
    ) -> [(header: [UInt8], payload: SimulatedPayload?)] {
        guard groupSabotage == .keepsTerm else { return messages }
        return messages.map { message in
            guard case .hello(var hello)? = try? WireMessage(decoding: message.header) else {
                return message
            }
            hello.statement.term = 1
            return (WireMessage.hello(hello).encoded(), message.payload)
        }
    }

    mutating func takeLog() -> [String] {
        defer { log = [] }
        return log
    }

    /// The note of its collectors that a power cut would leave.
    var durableNote: CollectorNote? {
        CollectorNote(disk.durableBytes(of: "collectors.note"))
    }

    private mutating func perform(_ actions: [AgentAction<SimulatedPayload>], now: Int64) {
        for action in actions {
            switch action {
            case .send(let header, let payload): outgoing.append((header, payload))
            case .reconnect(let pause):
                outgoing = []
                hangsUp = true
                reconnectAt = now + pause * 1_000_000
            case .finished: isFinished = true
            case .failed(let line):
                failure = line
                isFinished = true
            case .log(let line): log.append(line.text)
            // The request for a keyframe after a stop. This camera has one every second.
            case .command: break
            case .fetch: failure = "the delivery reads its log itself"
            }
        }
        for action in backlog.takeMirrorActions() {
            switch action {
            case .send(let header, let payload): mirrorOutgoing.append((header, payload))
            case .reconnect(let pause):
                mirrorOutgoing = []
                mirrorHangsUp = true
                mirrorReconnectAt = now + pause * 1_000_000
            case .finished, .failed, .log, .command, .fetch:
                failure = "the second connection only sends, and ends"
            }
        }
    }
}
