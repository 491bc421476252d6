import Glibc
import Media
import Messaging
import CollectorClient
import Spooling
import Synchronization
import Testing
import TestSpools
import Wire

@testable import AgentCore

/// Bytes of samples.
struct TestPayload: SpooledPayload {
    var bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    init(copying bytes: UnsafeRawBufferPointer) { self.bytes = Array(bytes) }

    func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try bytes.withUnsafeBufferPointer { buffer throws(Failure) in
            try body(UnsafeRawBufferPointer(buffer))
        }
    }
}

/// One agent with its spool on a disk that fails, a collector that follows the protocol to the letter, or two that want every
/// record at both, and networks that break: all from one seed.
struct BacklogSimulation {
    struct Trouble: OptionSet {
        let rawValue: Int
        static let kills = Trouble(rawValue: 1)
        static let powerCuts = Trouble(rawValue: 2)
        static let fullDisk = Trouble(rawValue: 4)
        static let outages = Trouble(rawValue: 8)
        static let snapshots = Trouble(rawValue: 16)
        /// Durable records are released later, when the store has them.
        static let lag = Trouble(rawValue: 32)
        /// The collector is lost with its disk, and another one continues from the store.
        static let destroyed = Trouble(rawValue: 64)
        /// The store accepts nothing, so nothing is released.
        static let stalled = Trouble(rawValue: 128)
        /// Records are kept in memory alone.
        static let noDisk = Trouble(rawValue: 256)
        /// Two collectors have to have every record. Only one of them is ever destroyed.
        static let mirrored = Trouble(rawValue: 512)
    }

    static let limitBytes = 600_000
    /// Large enough for the store's lag.
    private static let largeBytes = 16 << 20
    static let formats: [TrackFormat] = [
        .video(
            .h264(
                sequenceParameterSets: [
                    [
                        0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10,
                        0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83,
                        0x19, 0x60,
                    ]
                ], pictureParameterSets: [[0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0]], width: 1280,
                height: 720)),
        .audio(.aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2)),
    ]

    let seed: UInt64
    let trouble: Trouble
    private let gathers: Bool
    let disk: SimulatedDisk
    private var random: SeededGenerator
    private var now: Int64 = 1_000_000_000
    private var boot: UInt8 = 1
    private var backlog: Delivery<TestPayload>
    private var ends: [End] = []
    /// The connection to the source's collector, and the one to the second one.
    private var lanes: [Lane] = []
    private var peers: UInt16 = 0
    private(set) var isFinished = false
    private(set) var lives = 1
    private(set) var logs: [String] = []
    /// Names that the last power cut left on the disk.
    private(set) var leftBehind: [String] = []

    /// By collector and decoding time: how often each sample has arrived.
    var arrivals: [[Int64: Int]] { ends.map(\.arrived) }
    /// The same at the first collector.
    var arrived: [Int64: Int] { ends[0].arrived }
    private(set) var made: Set<Int64> = []
    private(set) var gaps: [GapRecord] = []
    /// Samples of the gaps with a cause, whichever collectors have heard of them.
    func lost(_ cause: GapCause) -> UInt64 {
        var own: [String: UInt64] = [:]
        for end in ends {
            for (spool, gap) in end.gaps where gap.cause == cause {
                own["\(spool) \(gap.sequences)"] = gap.samples
            }
        }
        return own.values.reduce(0, +)
    }
    private var nextTime: Int64 = 0
    private(set) var largestBytes = 0
    private var snapshot: SimulatedDisk.Snapshot?
    /// Of samples that had been captured and had not arrived when the box was put back to a snapshot: they are lost.
    private(set) var undone: Set<Int64> = []
    private(set) var timesPutBack = 0
    private(set) var framesSinceKey = 0

    /// - Parameter gathers: whether records of an unwatched source wait for others; viewers come and go.
    init(seed: UInt64, trouble: Trouble, gathers: Bool = false) throws {
        self.gathers = gathers
        self.seed = seed
        self.trouble = trouble
        random = SeededGenerator(seed: seed)
        disk = SimulatedDisk(seed: seed)
        backlog = try Self.backlog(
            trouble.contains(.noDisk) ? nil : disk, boot: 1, life: 1, seed: seed, gathers: gathers,
            limitBytes: Self.limit(trouble), endpoints: Self.endpoints(trouble))
        for endpoint in Self.endpoints(trouble) {
            var end = End(
                endpoint: endpoint, link: Self.link(endpoint, trouble, gathers: gathers))
            end.archive.hasStore = !trouble.isDisjoint(with: [.lag, .stalled])
            ends.append(end)
        }
        lanes = [Lane](repeating: Lane(), count: ends.count)
    }

    private static func endpoints(_ trouble: Trouble) -> [String] {
        trouble.contains(.mirrored) ? ["tcp://c:1", "tcp://d:1"] : ["tcp://c:1"]
    }

    private static func link(
        _ endpoint: String, _ trouble: Trouble, gathers: Bool
    ) -> CollectorLink {
        var settings = CollectorLinkSettings(software: "collector")
        settings.mirrored = trouble.contains(.mirrored)
        if settings.mirrored { settings.name = String(endpoint.dropFirst(6).prefix(1)) }
        return CollectorLink(
            settings: settings, session: gathers ? "2026-11-20T22-40-00.000Z" : "")
    }

    private static func limit(_ trouble: Trouble) -> Int {
        // A second collector is connected five seconds after the first one, and gets what was captured until then.
        let keepsAll = trouble.contains(.mirrored) && !trouble.contains(.outages)
        return trouble.isDisjoint(with: [.destroyed, .stalled]) && !keepsAll
            ? limitBytes : largeBytes
    }

    private static func backlog(
        _ disk: SimulatedDisk?, boot: UInt8, life: Int, seed: UInt64, gathers: Bool,
        limitBytes: Int = Self.limitBytes, endpoints: [String] = Self.endpoints([])
    ) throws -> Delivery<TestPayload> {
        var settings = UplinkSettings(
            endpoint: endpoints.joined(separator: ","), sourceName: "camera", agentName: "box",
            software: "agent",
            batch: gathers ? .automatic : .fixed(.milliseconds(100)),
            memoryLimitBytes: disk == nil ? limitBytes : 16 << 20)
        settings.spool = SpoolSettings(path: "disk", limitBytes: limitBytes)
        var random = SeededGenerator(seed: seed &* 1_000 &+ UInt64(life))
        let base = (random.next(), random.next())
        return Delivery(
            settings: settings,
            disk: try disk.map { try SpoolSet(storage: $0, limitBytes: limitBytes) },
            formats: formats,
            epoch: EpochID([UInt8](repeating: boot, count: 16)) ?? .random(),
            makeIdentity: {
                withExtendedLifetime(base) { SpoolID.random() }
            })
    }

    /// - Parameter cut: after so many steps the power goes.
    mutating func run(steps: Int = 1_200, cut: Int? = nil) throws {
        for index in 0..<steps {
            if index == cut { try restart(afterPowerCut: true) }
            try step(inPeace: false)
        }
        disk.setCapacity(nil)
        for lane in lanes.indices { lanes[lane].outageUntil = 0 }
        perform(backlog.sayGoodbye("end", now: now))
        for _ in 0..<20_000 where !isFinished { try step(inPeace: true) }
        #expect(isFinished, "seed \(seed)")
        #expect(try disk.names() == [], "seed \(seed)")
    }

    /// The box loses its power again and again, each time with records of which some are on its disk.
    /// - Returns: the samples of its last life.
    mutating func losePower(times: Int) throws -> Set<Int64> {
        for _ in 0..<times {
            for _ in 0..<60 { try step(inPeace: false) }
            try restart(afterPowerCut: true)
        }
        let earlier = made
        for _ in 0..<30 { try step(inPeace: false) }
        return made.subtracting(earlier)
    }

    /// Nothing is captured, and nothing fails, for about a minute and a half.
    mutating func rest() throws {
        for _ in 0..<3_000 { try step(inPeace: true) }
    }

    private mutating func chance(_ oneIn: Int) -> Bool {
        Int.random(in: 0..<oneIn, using: &random) == 0
    }

    private mutating func step(inPeace: Bool) throws {
        now += .random(in: 1...60_000_000, using: &random)
        if !inPeace {
            make()
            if gathers, chance(40) {
                let wish = chance(2) ? UInt32.random(in: 1...200, using: &random) : 0
                for end in ends.indices { ends[end].link.setWatch { _ in wish } }
            }
            for lane in lanes.indices {
                if chance(100) { breakConnection(lane) }
                if trouble.contains(.outages), chance(150) {
                    breakConnection(lane)
                    lanes[lane].outageUntil =
                        now + .random(in: 0...12_000_000_000, using: &random)
                }
            }
            if trouble.contains(.kills), chance(200) { try restart(afterPowerCut: false) }
            if trouble.contains(.powerCuts), chance(250) { try restart(afterPowerCut: true) }
            if trouble.contains(.snapshots) { try putBackNowAndThen() }
            if trouble.contains(.destroyed), chance(150) { destroyCollector() }
            if trouble.contains(.fullDisk), chance(100) {
                disk.setCapacity(chance(2) ? 200_000 : nil)
            }
        }
        for lane in lanes.indices { connectIfDue(lane) }
        for lane in lanes.indices { deliver(inPeace ? 60 : 6, over: lane) }
        for end in ends.indices { useDisk(of: end) }
        if trouble.contains(.lag), chance(inPeace ? 5 : 60) { upload() }
        perform(backlog.tick(now: now))
        for end in ends.indices {
            let archive = ends[end].archive
            perform(ends[end].link.tick(now: now, durable: archive), by: end)
        }
        let names = backlog.takeFilesToSynchronize(now: now)
        if !names.isEmpty {
            do throws(SpoolError) {
                try disk.synchronize(names)
            } catch {
                perform(backlog.synchronizationFailed(error, now: now))
            }
        }
        let onDisk = try disk.names().reduce(0) { $0 + disk.bytes(of: $1).count }
        largestBytes = max(
            largestBytes, trouble.contains(.noDisk) ? backlog.memoryBytes : onDisk)
    }

    private mutating func make() {
        let isKeyframe = framesSinceKey >= 12
        framesSinceKey = isKeyframe ? 0 : framesSinceKey + 1
        var runs: [SampleRun] = []
        for kind in [TrackKind.video, .audio] {
            let count = Int.random(in: 1...3, using: &random)
            let sizes = (0..<count).map { _ in
                UInt32.random(in: 1...(kind == .video ? 8_000 : 300), using: &random)
            }
            let times = (0..<count).map { nextTime + Int64($0) * 20_000_000 + Int64(kind.rawValue) }
            let flags =
                (0..<count).map { index -> SampleFlags in
                    kind == .audio || (isKeyframe && index == 0) ? .keyframe : []
                }
            runs.append(
                SampleRun(
                    track: kind, sizes: sizes, dtsNanoseconds: times, ptsOffsetsNanoseconds: [],
                    durationsNanoseconds: [20_000_000], flags: flags))
            made.formUnion(times)
        }
        nextTime += 60_000_000
        let size = runs.reduce(0) { $0 + $1.sizeBytes }
        let byte = UInt8(truncatingIfNeeded: nextTime / 60_000_000)
        let payload = [UInt8](repeating: byte, count: size)
        let batch = Batch(
            runs: runs, digest: [UInt8](repeating: byte, count: 32), payload: .init(payload))
        perform(backlog.add(batch, payload: TestPayload(payload), now: now))
    }

    /// A machine's disk is restored to an earlier state within one boot, and the agent continues with it.
    private mutating func putBackNowAndThen() throws {
        if snapshot == nil, lanes[0].peer != nil, backlog.isFlowing, chance(30) {
            snapshot = disk.snapshot()
        }
        guard chance(120), let earlier = snapshot else { return }
        snapshot = nil
        timesPutBack += 1
        lives += 1
        breakConnections()
        disk.restore(earlier)
        backlog = try Self.backlog(disk, boot: boot, life: lives, seed: seed, gathers: gathers)
        undone.formUnion(made.subtracting(arrived.keys))
        framesSinceKey = 12
        for lane in lanes.indices { lanes[lane].reconnectAt = now }
    }

    private mutating func restart(afterPowerCut: Bool) throws {
        lives += 1
        breakConnections()
        disk.setCapacity(nil)
        if afterPowerCut {
            boot += 1
            disk.cutPower()
            leftBehind = try disk.names()
        }
        backlog = try Self.backlog(
            disk, boot: boot, life: lives, seed: seed, gathers: gathers,
            limitBytes: Self.limit(trouble), endpoints: Self.endpoints(trouble))
        framesSinceKey = 12
        for lane in lanes.indices { lanes[lane].reconnectAt = now }
    }

    private mutating func connectIfDue(_ lane: Int) {
        let endpoint = lane == 0 ? backlog.endpoint : backlog.mirrorEndpoint(now: now)
        guard let end = ends.firstIndex(where: { $0.endpoint == endpoint }) else {
            return close(lane)
        }
        guard lanes[lane].peer == nil, let at = lanes[lane].reconnectAt,
            now >= max(at, lanes[lane].outageUntil)
        else { return }
        peers += 1
        lanes[lane].end = end
        lanes[lane].peer = PeerID([UInt8(peers >> 8), UInt8(peers & 255)])
        lanes[lane].reconnectAt = nil
        perform(
            lane == 0 ? backlog.connected(now: now) : backlog.mirrorConnected(now: now))
    }

    /// The agent hangs up.
    private mutating func close(_ lane: Int) {
        guard let peer = lanes[lane].peer else { return }
        let end = lanes[lane].end
        let archive = ends[end].archive
        lanes[lane].peer = nil
        lanes[lane].toCollector = []
        lanes[lane].toAgent = []
        lanes[lane].reconnectAt = now
        perform(ends[end].link.peerGone(peer, now: now, durable: archive), by: end)
    }

    private mutating func breakConnections() {
        for lane in lanes.indices { breakConnection(lane) }
    }

    private mutating func breakConnection(_ lane: Int) {
        guard lanes[lane].peer != nil else { return }
        deliver(6, over: lane)
        guard lanes[lane].peer != nil else { return }
        close(lane)
        lanes[lane].reconnectAt = nil
        perform(
            lane == 0 ? backlog.disconnected(now: now) : backlog.mirrorDisconnected(now: now))
    }

    private mutating func deliver(_ most: Int, over lane: Int) {
        for _ in 0..<Int.random(in: 0...most, using: &random) {
            if lanes[lane].peer != nil, let message = lanes[lane].toCollector.first {
                lanes[lane].toCollector.removeFirst()
                let end = lanes[lane].end
                let archive = ends[end].archive
                perform(ends[end].link.received(message, now: now, durable: archive), by: end)
            }
            if lanes[lane].peer != nil, let header = lanes[lane].toAgent.first {
                lanes[lane].toAgent.removeFirst()
                perform(
                    lane == 0
                        ? backlog.received(header, now: now)
                        : backlog.mirrorReceived(header, now: now))
            }
        }
    }

    private mutating func perform(_ actions: [AgentAction<TestPayload>]) {
        for action in actions { perform(action, over: 0) }
        for action in backlog.takeMirrorActions() { perform(action, over: 1) }
    }

    private mutating func perform(_ action: AgentAction<TestPayload>, over lane: Int) {
        switch action {
        case .send(let header, let payload):
            guard let peer = lanes[lane].peer else { return }
            lanes[lane].toCollector.append(
                IncomingMessage(
                    peer: peer, address: "box", header: header,
                    payloadSizeBytes: payload?.bytes.count))
            check(header, payload)
        case .reconnect(let pause):
            close(lane)
            lanes[lane].reconnectAt = now + pause * 1_000_000
        case .finished: isFinished = true
        case .failed(let line):
            Issue.record("seed \(seed): \(line)")
            isFinished = true
        case .log(let log): logs.append(log.text)
        case .command: return
        case .fetch: Issue.record("the delivery reads its log itself")
        }
    }

    /// Samples leave with the bytes they came with.
    private func check(_ header: [UInt8], _ payload: TestPayload?) {
        guard let payload, let message = try? WireMessage(decoding: header),
            case .samples(let samples) = message
        else { return }
        let sent = [UInt8](repeating: samples.payloadDigest[0], count: payload.bytes.count)
        #expect(payload.bytes == sent, "seed \(seed)")
    }

    private mutating func perform(_ actions: [CollectorAction], by end: Int) {
        for action in actions {
            switch action {
            case .send(let peer, let bytes):
                for lane in lanes.indices where lanes[lane].peer == peer {
                    lanes[lane].toAgent.append(bytes)
                }
            case .dismissed(let peer):
                for lane in lanes.indices where lanes[lane].peer == peer {
                    lanes[lane].toCollector.removeAll()
                }
            case .opened(let source):
                ends[end].spool = source.spool
                ends[end].taken = source.received
                if let missing = source.missing, !mayBeMissing(missing, held: source.held) {
                    Issue.record("seed \(seed): \(missing) are nowhere")
                }
            case .samples(_, let samples):
                let times = samples.runs.flatMap(\.dtsNanoseconds)
                for time in times { ends[end].arrived[time, default: 0] += 1 }
                ends[end].recorded.append((ends[end].spool, samples.lastSequence, times))
                ends[end].unwritten.append(samples.amount)
                ends[end].taken = samples.lastSequence
            case .gap(_, let gap):
                gaps.append(gap)
                ends[end].gaps.append((ends[end].spool, gap))
                ends[end].taken = gap.sequences.upperBound
            case .trackUpdate(_, let update): ends[end].taken = update.sequence
            case .goodbye(_, let goodbye): ends[end].taken = goodbye.sequence
            case .log(let log):
                if log.text.contains("refused"), !log.text.contains("not known") {
                    Issue.record("seed \(seed): \(log.text)")
                }
            case .clockExchanges, .health, .closed, .turnedAway, .report, .enrol: continue
            }
        }
    }

    /// Records that an agent does not have any more and a collector never had: a power cut took them, the other collector has
    /// them, or the collector had them and is another one since.
    private func mayBeMissing(_ missing: ClosedRange<UInt64>, held: [HeldRange]) -> Bool {
        if trouble.contains(.powerCuts) { return true }
        if trouble.isSuperset(of: [.mirrored, .destroyed]) { return true }
        var next = missing.lowerBound
        for range in held.map(\.sequences) where range.contains(next) {
            next = range.upperBound + 1
        }
        return next > missing.upperBound
    }

    /// A collector and its records.
    private struct End {
        let endpoint: String
        var link: CollectorLink
        var archive = Archive()
        var unwritten: [MediaAmount] = []
        /// The last record that has arrived.
        var recorded: [(spool: SpoolID, last: UInt64, times: [Int64])] = []
        var arrived: [Int64: Int] = [:]
        var gaps: [(spool: SpoolID, gap: GapRecord)] = []
        /// The last record that it has taken in.
        var taken: UInt64 = 0
        /// The spool that is open.
        var spool = SpoolID.random()
    }

    /// One of the agent's connections.
    private struct Lane {
        /// The collector at the other end.
        var end = 0
        /// Nil: there is no connection.
        var peer: PeerID?
        var toCollector: [IncomingMessage] = []
        var toAgent: [[UInt8]] = []
        /// When another one is due; nil: not before the agent asks for it.
        var reconnectAt: Int64? = 0
        var outageUntil: Int64 = 0
    }

    /// Durable records at the collector, by spool.
    private struct Archive: DurabilityLookup {
        var watermarks: [SpoolID: UInt64] = [:]
        /// The records in the store.
        var stored: [SpoolID: UInt64] = [:]
        /// Whether there is one that agents wait for.
        var hasStore = false

        func released(source: String, spool: SpoolID, keptFrom: UInt64) -> UInt64? {
            hasStore ? max(stored[spool] ?? 0, keptFrom - 1) : nil
        }

        func archived(source: String, spool: SpoolID) -> ArchivedRecords {
            ArchivedRecords(persisted: watermarks[spool] ?? 0)
        }
    }

    private(set) var destroyedCollectors = 0

    /// All that is durable goes to the store.
    private mutating func upload() {
        for end in ends.indices {
            ends[end].archive.stored = ends[end].archive.watermarks
            for spool in ends[end].archive.stored.keys {
                ends[end].link.becameReleased(source: "camera", spool: spool)
            }
        }
    }

    private mutating func destroyCollector() {
        let end = Int(seed % UInt64(ends.count))
        destroyedCollectors += 1
        for lane in lanes.indices where lanes[lane].end == end { breakConnection(lane) }
        let stored = ends[end].archive.stored
        ends[end].archive.watermarks = stored
        ends[end].unwritten.removeAll()
        ends[end].link = Self.link(ends[end].endpoint, trouble, gathers: false)
        for (spool, last, times) in ends[end].recorded where last > stored[spool] ?? 0 {
            for time in times { ends[end].arrived[time] = nil }
        }
        ends[end].recorded.removeAll { $0.last > stored[$0.spool] ?? 0 }
        ends[end].taken = 0
    }

    private mutating func useDisk(of end: Int) {
        guard chance(3), ends[end].taken > 0 else { return }
        for amount in ends[end].unwritten {
            ends[end].link.released(amount, source: "camera")
        }
        ends[end].unwritten.removeAll()
        let (spool, taken) = (ends[end].spool, ends[end].taken)
        ends[end].archive.watermarks[spool] = taken
        ends[end].link.becameDurable(source: "camera", spool: spool, through: taken)
    }
}
