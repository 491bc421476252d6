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

/// One agent with its spool on a disk that fails, a collector that follows the protocol to the letter, and a network that
/// breaks: all from one seed.
struct BacklogSimulation {
    struct Trouble: OptionSet {
        let rawValue: Int
        static let kills = Trouble(rawValue: 1)
        static let powerCuts = Trouble(rawValue: 2)
        static let fullDisk = Trouble(rawValue: 4)
        static let outages = Trouble(rawValue: 8)
        static let snapshots = Trouble(rawValue: 16)
        /// What is durable at the collector is released later, when its store has it.
        static let lag = Trouble(rawValue: 32)
        /// The collector is lost with its disk, and another one goes on with what the store has.
        static let destroyed = Trouble(rawValue: 64)
        /// The store takes nothing: nothing is released.
        static let stalled = Trouble(rawValue: 128)
        /// Records are kept in memory alone.
        static let noDisk = Trouble(rawValue: 256)
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
    private var collector: CollectorLink
    private var connection: (peer: PeerID, toCollector: [IncomingMessage], toAgent: [[UInt8]])?
    private var peers: UInt16 = 0
    private var reconnectAt: Int64? = 0
    private var outageUntil: Int64 = 0
    private var spool = SpoolID.random()
    private(set) var isFinished = false
    private(set) var lives = 1
    private(set) var logs: [String] = []
    /// Names that the last power cut left on the disk.
    private(set) var leftBehind: [String] = []

    /// By decoding time: how often each sample has arrived.
    private(set) var arrived: [Int64: Int] = [:]
    private(set) var made: Set<Int64> = []
    private(set) var gaps: [GapRecord] = []
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
            limitBytes: Self.limit(trouble))
        archive.hasStore = !trouble.isDisjoint(with: [.lag, .stalled])
        collector = CollectorLink(
            settings: CollectorLinkSettings(software: "collector"),
            session: gathers ? "2026-11-20T22-40-00.000Z" : "")
    }

    private static func limit(_ trouble: Trouble) -> Int {
        trouble.isDisjoint(with: [.destroyed, .stalled]) ? limitBytes : largeBytes
    }

    private static func backlog(
        _ disk: SimulatedDisk?, boot: UInt8, life: Int, seed: UInt64, gathers: Bool,
        limitBytes: Int = Self.limitBytes
    ) throws -> Delivery<TestPayload> {
        var settings = UplinkSettings(
            endpoint: "tcp://c:1", sourceName: "camera", agentName: "box", software: "agent",
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
        outageUntil = 0
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
                collector.setWatch { _ in wish }
            }
            if chance(100) { breakConnection() }
            if trouble.contains(.outages), chance(150) {
                breakConnection()
                outageUntil = now + .random(in: 0...12_000_000_000, using: &random)
            }
            if trouble.contains(.kills), chance(200) { try restart(afterPowerCut: false) }
            if trouble.contains(.powerCuts), chance(250) { try restart(afterPowerCut: true) }
            if trouble.contains(.snapshots) { try putBackNowAndThen() }
            if trouble.contains(.destroyed), chance(150) { destroyCollector() }
            if trouble.contains(.fullDisk), chance(100) {
                disk.setCapacity(chance(2) ? 200_000 : nil)
            }
        }
        if connection == nil, let at = reconnectAt, now >= max(at, outageUntil) { connect() }
        deliver(inPeace ? 60 : 6)
        useDisk()
        if trouble.contains(.lag), chance(inPeace ? 5 : 60) { upload() }
        perform(backlog.tick(now: now))
        perform(collector.tick(now: now, durable: archive))
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

    /// A machine's disk is put back to an earlier state within one boot, and the agent goes on with what is there.
    private mutating func putBackNowAndThen() throws {
        if snapshot == nil, connection != nil, backlog.isFlowing, chance(30) {
            snapshot = disk.snapshot()
        }
        guard chance(120), let earlier = snapshot else { return }
        snapshot = nil
        timesPutBack += 1
        lives += 1
        breakConnection()
        disk.restore(earlier)
        backlog = try Self.backlog(disk, boot: boot, life: lives, seed: seed, gathers: gathers)
        undone.formUnion(made.subtracting(arrived.keys))
        framesSinceKey = 12
        reconnectAt = now
    }

    private mutating func restart(afterPowerCut: Bool) throws {
        lives += 1
        breakConnection()
        disk.setCapacity(nil)
        if afterPowerCut {
            boot += 1
            disk.cutPower()
            leftBehind = try disk.names()
        }
        backlog = try Self.backlog(
            disk, boot: boot, life: lives, seed: seed, gathers: gathers,
            limitBytes: Self.limit(trouble))
        framesSinceKey = 12
        reconnectAt = now
    }

    private mutating func connect() {
        peers += 1
        connection = (PeerID([UInt8(peers >> 8), UInt8(peers & 255)]), [], [])
        reconnectAt = nil
        perform(backlog.connected(now: now))
    }

    private mutating func breakConnection() {
        guard connection != nil else { return }
        deliver(6)
        guard let peer = connection?.peer else { return }
        connection = nil
        perform(collector.peerGone(peer, now: now, durable: archive))
        perform(backlog.disconnected(now: now))
    }

    private mutating func deliver(_ most: Int) {
        for _ in 0..<Int.random(in: 0...most, using: &random) {
            if let message = connection?.toCollector.first {
                connection?.toCollector.removeFirst()
                perform(collector.received(message, now: now, durable: archive))
            }
            if let header = connection?.toAgent.first {
                connection?.toAgent.removeFirst()
                perform(backlog.received(header, now: now))
            }
        }
    }

    private mutating func perform(_ actions: [AgentAction<TestPayload>]) {
        for action in actions {
            switch action {
            case .send(let header, let payload):
                guard let peer = connection?.peer else { continue }
                connection?.toCollector.append(
                    IncomingMessage(
                        peer: peer, address: "box", header: header,
                        payloadSizeBytes: payload?.bytes.count))
                check(header, payload)
            case .reconnect(let pause):
                if let peer = connection?.peer {
                    perform(collector.peerGone(peer, now: now, durable: archive))
                }
                connection = nil
                reconnectAt = now + pause * 1_000_000
            case .finished: isFinished = true
            case .failed(let line):
                Issue.record("seed \(seed): \(line)")
                isFinished = true
            case .log(let log): logs.append(log.text)
            case .command: continue
            case .fetch: Issue.record("the delivery reads its log itself")
            }
        }
    }

    /// Samples leave with the bytes they came with.
    private func check(_ header: [UInt8], _ payload: TestPayload?) {
        guard let payload, let message = try? WireMessage(decoding: header),
            case .samples(let samples) = message
        else { return }
        #expect(payload.bytes.allSatisfy { $0 == samples.payloadDigest[0] }, "seed \(seed)")
    }

    private mutating func perform(_ actions: [CollectorAction]) {
        for action in actions {
            switch action {
            case .send(let peer, let bytes):
                if connection?.peer == peer { connection?.toAgent.append(bytes) }
            case .dismissed(let peer):
                if connection?.peer == peer { connection?.toCollector.removeAll() }
            case .opened(let source):
                spool = source.spool
                taken = source.received
                if let missing = source.missing, !trouble.contains(.powerCuts) {
                    Issue.record("seed \(seed): \(missing) are nowhere")
                }
            case .samples(_, let samples):
                let times = samples.runs.flatMap(\.dtsNanoseconds)
                for time in times { arrived[time, default: 0] += 1 }
                recorded.append((spool, samples.lastSequence, times))
                unwritten.append(samples.amount)
                taken = samples.lastSequence
            case .gap(_, let gap):
                gaps.append(gap)
                taken = gap.sequences.upperBound
            case .trackUpdate(_, let update): taken = update.sequence
            case .goodbye(_, let goodbye): taken = goodbye.sequence
            case .log(let log):
                if log.text.contains("refused"), !log.text.contains("not known") {
                    Issue.record("seed \(seed): \(log.text)")
                }
            case .clockExchanges, .health, .closed, .report, .enrol: continue
            }
        }
    }

    /// What is durable at the collector, by spool.
    private struct Archive: DurabilityLookup {
        var watermarks: [SpoolID: UInt64] = [:]
        /// What the store has.
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

    private var archive = Archive()
    private var unwritten: [MediaAmount] = []
    /// What has arrived, by its last record.
    private var recorded: [(spool: SpoolID, last: UInt64, times: [Int64])] = []
    private(set) var destroyedCollectors = 0
    /// The last record that the collector has taken in.
    private var taken: UInt64 = 0

    /// All that is durable goes to the store.
    private mutating func upload() {
        archive.stored = archive.watermarks
        for spool in archive.stored.keys {
            collector.becameReleased(source: "camera", spool: spool)
        }
    }

    private mutating func destroyCollector() {
        destroyedCollectors += 1
        breakConnection()
        archive.watermarks = archive.stored
        unwritten.removeAll()
        collector = CollectorLink(settings: CollectorLinkSettings(software: "collector"))
        let stored = archive.stored
        for (spool, last, times) in recorded where last > stored[spool] ?? 0 {
            for time in times { arrived[time] = nil }
        }
        recorded.removeAll { $0.last > stored[$0.spool] ?? 0 }
        taken = 0
    }

    private mutating func useDisk() {
        guard chance(3), taken > 0 else { return }
        for amount in unwritten { collector.released(amount, source: "camera") }
        unwritten.removeAll()
        archive.watermarks[spool] = taken
        collector.becameDurable(source: "camera", spool: spool, through: taken)
    }
}
