import Catalog
import Media
import Archive
import Glibc
import TestDisks
import TestSpools
import TestStores
import Wire

@testable import CollectorCore
@testable import Uploading

/// Some agents, one collector, the path of each sample from capture to file, and faults, all from one seed.
///
/// Real: the backlog with its spool, both ends of the protocol, timeline, session, segments, the MP4 writer, the disk
/// thread's work, recovery and verification. Simulated: time, the network, the boxes' disks, and the faults of the
/// collector's disk, whose files are real so that readers are too.
struct SystemSimulation {
    struct Trouble: OptionSet {
        let rawValue: Int
        static let lostConnections = Trouble(rawValue: 1)
        static let agentKills = Trouble(rawValue: 2)
        static let agentPowerCuts = Trouble(rawValue: 4)
        static let collectorKills = Trouble(rawValue: 8)
        static let collectorPowerCuts = Trouble(rawValue: 16)
        static let fullDisk = Trouble(rawValue: 32)
        static let faultyDisk = Trouble(rawValue: 64)
        static let all = Trouble(rawValue: 127)
        /// The session is ended while it is recorded; the next begins with the next sample.
        static let stops = Trouble(rawValue: 128)
        /// The collector is lost with its disk, and a new one starts from the bucket; only with a store.
        static let destruction = Trouble(rawValue: 256)
        /// The store answers late or not at all; only with a store.
        static let faultyStore = Trouble(rawValue: 512)
        /// At each boot, the server's wall clock is off by up to a minute. Times are compared with true time.
        static let wrongWallClocks = Trouble(rawValue: 1_024)
    }

    /// How long the cameras run.
    static let captureNanoseconds: Int64 = 5_000_000_000
    /// By when everything must have arrived once faults have stopped.
    private static let peaceNanoseconds: Int64 = 180_000_000_000
    private static let segmentNanoseconds: Int64 = 2_000_000_000
    /// By when every session has its zero, whichever agent connects first.
    private static let laterNanoseconds: Int64 = 1_800_000_000
    static let utc: Int64 = 1_800_000_000_000_000_000

    let seed: UInt64
    let trouble: Trouble
    let sabotage: Sabotage?
    private(set) var disk: FaultyDisk
    private(set) var layout: ArchiveLayout
    private var random: SeededGenerator
    private var stopRandom: SeededGenerator
    private var suspendRandom: SeededGenerator
    private(set) var suspensions = 0
    private(set) var now: Int64 = 5_000_000_000
    private(set) var agents: [SimulatedAgent] = []
    private var network = SimulatedNetwork()
    private(set) var collector: SimulatedCollector?
    private var startsAt: Int64 = 0
    /// When the server booted, on the true clock.
    private var bootedAt: Int64 = 0
    private var boots = 1
    private var wallErrorNanoseconds: Int64 = 0
    private var clockRandom: SeededGenerator
    /// Each session's zero on the true clock, if it began while a collector ran.
    private var trueZeros: [String: Int64] = [:]
    private var sessionsBefore: Set<String> = []
    /// The greatest error of a time, as recorded and as retimed, and what retiming refused.
    private(set) var greatestErrors = (recorded: Int64.zero, retimed: Int64.zero)
    private(set) var timedSamples = 0
    private(set) var refusedRetimings: [String] = []
    private(set) var crashes = 0
    /// Power was cut, and the torn files are not yet recovered.
    private var isTorn = false
    /// Sources with a failed file when the last collector ended; empty after a recovery.
    private var leftFailing: Set<String> = []
    /// By agent and spool: the sequence that the collector declared durable.
    private var acknowledged: [String: [SpoolID: UInt64]] = [:]
    /// By agent: digest of all headers sent to it.
    private var told: [String: Digest] = [:]
    /// The protocol's minor version when `Outcomes.txt` was begun.
    private static let firstOutcomesMinor: UInt32 = 4
    private(set) var violations: [String] = []
    /// Events, printed with a failure.
    private(set) var history: [String] = []
    /// Kills the collector within the disk change of this number; nil: at random.
    private var killAt: Int?
    private var isPeaceful = false
    /// The hostile agent, and when it starts.
    private var byzantine: ByzantineAgent?
    private var byzantineBegins: Int64 = 0
    /// Number of accepted greetings of the hostile agent, by source.
    var hostileVisits: [String: Int64] { byzantine?.visits ?? [:] }
    /// Whether faults of one agent leave the random numbers of others unchanged.
    private let isIsolated: Bool
    /// Survives collectors, as their files do; nil: no catalog.
    private let catalog: SimulatedCatalog?
    private var catalogRandom: SeededGenerator
    /// The object store that releases wait for; nil: none.
    private let bucket: SimulatedBucket?
    private var uploads: SimulatedUploads?
    private let time = SharedTime()
    private var storeRandom: SeededGenerator
    private(set) var destructions = 0
    private let root: String
    /// By agent and spool: the sequence that the collector released.
    private var released: [String: [SpoolID: UInt64]] = [:]

    /// Whether a hostile agent takes part, and from when.
    enum Company {
        /// No hostile agent; one random generator for all.
        case honest
        /// No hostile agent; a random generator for each, so that a run compares with one beside a hostile agent.
        case alone
        case byzantine(fromTheBeginning: Bool)
    }

    /// - Parameters:
    ///   - root: an empty directory for the archive.
    ///   - killAt: kills the collector once, within this change of its disk.
    init(
        seed: UInt64, trouble: Trouble, sabotage: Sabotage? = nil, killAt: Int? = nil,
        company: Company = .honest, keepsCatalog: Bool = false, hasStore: Bool = false,
        root: String
    ) throws {
        self.root = root
        bucket = hasStore ? SimulatedBucket(returnsDigests: !seed.isMultiple(of: 3)) : nil
        storeRandom = SeededGenerator(seed: seed ^ 0x570E)
        self.seed = seed
        self.trouble = trouble
        self.sabotage = sabotage
        self.killAt = killAt
        switch company {
        case .honest: isIsolated = false
        case .alone: isIsolated = true
        case .byzantine(let fromTheBeginning):
            isIsolated = true
            byzantine = ByzantineAgent(seed: seed)
            byzantineBegins = fromTheBeginning ? 0 : now + Self.laterNanoseconds
        }
        network.isIsolated = isIsolated
        catalog = keepsCatalog ? SimulatedCatalog(seed: seed) : nil
        catalogRandom = SeededGenerator(seed: seed ^ 0xCA7A)
        clockRandom = SeededGenerator(seed: seed ^ 0xC10C)
        random = SeededGenerator(seed: seed)
        stopRandom = SeededGenerator(seed: ~seed)
        suspendRandom = SeededGenerator(seed: seed ^ 0x7E24)
        disk = FaultyDisk(root: root, seed: random.next())
        disk.setIgnoresSynchronization(sabotage == .skipsSynchronization)
        layout = ArchiveLayout(root: root, on: disk)
        for index in 1...UInt8.random(in: 1...3, using: &random) {
            agents.append(try SimulatedAgent(index: index, seed: seed, now: now))
        }
        if let killAt { disk.stop(afterOperations: killAt) }
    }

    /// The collector's clock as a function of true time.
    private var collectorClock: (Int64) -> Int64 {
        let bootedAt = bootedAt
        return { $0 - bootedAt }
    }

    private var instant: Instant {
        Instant(
            monotonic: now - bootedAt,
            utc: UTCTime(nanoseconds: Self.utc + now + wallErrorNanoseconds))
    }

    /// Restarts the server's clocks.
    private mutating func setWallClock() {
        guard trouble.contains(.wrongWallClocks) else { return }
        wallErrorNanoseconds = .random(in: -60_000_000_000...60_000_000_000, using: &clockRandom)
    }

    /// Records a session's zero on the true clock while the clock relation is exact; after a restart it is an estimate.
    private mutating func noteZero() {
        guard let recorder = collector?.engine.recorder, let name = recorder.sessionName,
            trueZeros[name] == nil, !sessionsBefore.contains(name), let zero = recorder.sessionZero
        else { return }
        trueZeros[name] = zero + bootedAt
    }

    private mutating func chance(_ oneIn: Int) -> Bool {
        Int.random(in: 0..<oneIn, using: &random) == 0
    }

    /// Runs until all captured samples are stored.
    /// - Returns: violated invariants.
    mutating func run() throws -> [String] {
        let end = now + Self.captureNanoseconds
        while now < end, violations.isEmpty { try step() }
        makePeace()
        let deadline = now + Self.peaceNanoseconds
        while violations.isEmpty, !isOver {
            try step()
            if now > deadline { violate("not at an end: \(agents.map(\.isFinished))") }
        }
        if violations.isEmpty { try conclude() }
        return violations
    }

    private var isOver: Bool {
        agents.allSatisfy(\.isFinished) && collector?.isIdle == true
    }

    private mutating func makePeace() {
        isPeaceful = true
        disk.setCapacity(nil)
        disk.setFaults(oneIn: nil)
        catalog?.makePeace()
        bucket?.failNoMore()
        for index in agents.indices { agents[index].sayGoodbye(now: now) }
    }

    private mutating func note(_ text: String) {
        history.append("\(now / 1_000_000) ms: \(text)")
    }

    /// The honest agents' recordings: see ``HonestOutcome``.
    func outcome() throws -> HonestOutcome {
        try HonestOutcome(layout, of: agents.map(\.name))
    }

    /// Duration of the run, nanoseconds.
    var elapsedNanoseconds: Int64 { now - 5_000_000_000 }

    mutating func violate(_ text: String) {
        violations.append("seed \(seed) at \(now / 1_000_000) ms: \(text)")
    }
}

// MARK: - Steps

extension SystemSimulation {
    mutating func step() throws {
        now += .random(in: 1_000_000...40_000_000, using: &random)
        if !isPeaceful { try makeTrouble() }
        for index in agents.indices where !agents[index].isFinished { stepAgent(index) }
        time.now = now
        if collector == nil, now >= startsAt { try startCollector() }
        try stepCollector()
        try stepStore()
        for agent in agents {
            if let failure = agent.failure { violate("\(agent.name) gave up: \(failure)") }
        }
    }

    private mutating func makeTrouble() throws {
        for index in agents.indices {
            if trouble.contains(.lostConnections), chance(60) { breakConnection(index) }
            let cut = trouble.contains(.agentPowerCuts) && chance(150)
            if cut || (trouble.contains(.agentKills) && chance(120)) {
                if let peer = network.peer(of: index) { network.abandon(peer, using: &random) }
                note("\(agents[index].name) \(cut ? "loses its power" : "is killed")")
                try agents[index].restart(afterPowerCut: cut, now: now)
            }
        }
        if trouble.contains(.fullDisk), chance(50) {
            disk.setCapacity(chance(2) ? Int.random(in: 10_000...150_000, using: &random) : nil)
        }
        if trouble.contains(.faultyDisk), chance(40) {
            disk.setFaults(oneIn: chance(3) ? Int.random(in: 3...30, using: &random) : nil)
        }
        makeStops()
        // A broken promise shows where collectors are killed.
        if trouble.contains(.collectorKills), killAt == nil, sabotage == nil, collector != nil,
            Int.random(in: 0..<120, using: &suspendRandom) == 0
        {
            return try suspend()
        }
        if trouble.contains(.destruction), Int.random(in: 0..<90, using: &storeRandom) == 0 {
            return try destroy()
        }
        guard killAt == nil else { return }
        if !trouble.isDisjoint(with: [.collectorKills, .collectorPowerCuts]), chance(70) {
            disk.stop(afterOperations: Int.random(in: 1...12, using: &random))
        }
    }

    /// Ends the session at random, and sometimes kills the collector while it writes the end.
    private mutating func makeStops() {
        let instant = instant
        guard trouble.contains(.stops), Int.random(in: 0..<80, using: &stopRandom) == 0,
            let name = collector?.stop(at: instant)
        else { return }
        note("\(name) is stopped")
        let mayDie = !trouble.isDisjoint(with: [.collectorKills, .collectorPowerCuts])
        if mayDie, killAt == nil, Bool.random(using: &stopRandom) {
            disk.stop(afterOperations: Int.random(in: 1...20, using: &stopRandom))
        }
    }

    private mutating func stepAgent(_ index: Int) {
        let clock = collectorClock
        agents[index].capture(until: now)
        if agents[index].reconnectAt.map({ now >= $0 }) == true {
            if let peer = network.peer(of: index) { network.abandon(peer, using: &random) }
            if collector == nil {
                agents[index].disconnected(now: now)
            } else {
                network.connect(index, using: &random)
                agents[index].connected(now: now, collector: clock)
            }
        }
        if let peer = network.peer(of: index) {
            agents[index].measure(now: now, collector: clock)
            for header in network.takeAnswers(at: now, over: peer) {
                guard !agents[index].hangsUp else { break }
                agents[index].received(header, now: now)
            }
        }
        agents[index].tick(now: now)
        let messages = agents[index].takeOutgoing()
        if let peer = network.peer(of: index) {
            if agents[index].hangsUp {
                network.abandon(peer, using: &random)
            } else {
                network.send(messages, over: peer, now: now, using: &random)
            }
        }
    }

    private mutating func breakConnection(_ index: Int) {
        guard let peer = network.peer(of: index) else { return }
        network.abandon(peer, using: &random)
        agents[index].disconnected(now: now)
    }

    private mutating func stepCollector() throws {
        guard collector != nil else { return }
        let instant = instant
        var most = isPeaceful ? Int.max : Int.random(in: 0...6, using: &random)
        if isIsolated { most = .max }
        annoyCollector(at: instant)
        for peer in network.peers {
            for message in network.takeArrived(at: now, over: peer) {
                let incoming = IncomingMessage(
                    peer: peer, address: "box", right: right(of: peer), header: message.header,
                    payloadSizeBytes: message.payload?.memory.count)
                collector?.receive(incoming, payload: message.payload, at: instant)
            }
        }
        collector?.tick(at: instant)
        noteZero()
        for line in collector?.takeLog() ?? [] { note(line) }
        collector?.work(most, at: instant)
        if disk.isDead { return try crash() }
        if chance(25) { try checkPlayable("while it is recorded") }
        // The receiving thread gets the event a little later, or is killed before.
        if isPeaceful || !chance(4) || isIsolated { collector?.hear(at: instant) }
        if catalog != nil, Int.random(in: 0..<6, using: &catalogRandom) == 0 {
            collector?.followCatalog(at: instant)
        }
        deliver()
    }

    /// Continues uploads and reports stored records.
    private mutating func stepStore() throws {
        guard let bucket, collector != nil else { return }
        if trouble.contains(.faultyStore), !isPeaceful,
            Int.random(in: 0..<30, using: &storeRandom) == 0
        {
            if Bool.random(using: &storeRandom) {
                bucket.failAtRandom(
                    storeRandom.next(), oneIn: .random(in: 2...12, using: &storeRandom),
                    [.serverError, .slowDown, .cut, .lostAnswer, .wrongDigest, .uploadsGone])
            } else {
                bucket.failNoMore()
            }
        }
        let most = isPeaceful ? 40 : Int.random(in: 0...5, using: &storeRandom)
        uploads?.work(most, looks: Int.random(in: 0..<8, using: &storeRandom) == 0)
        if disk.isDead { return try crash() }
        if isPeaceful || Int.random(in: 0..<4, using: &storeRandom) > 0,
            let records = uploads?.records
        {
            collector?.hear(records)
        }
    }

    private mutating func deliver() {
        let instant = instant
        while let messages = collector?.takeOutgoing(), !messages.isEmpty {
            for (peer, header) in messages {
                if byzantine?.owns(peer) == true {
                    byzantine?.received(header, over: peer)
                    continue
                }
                note(header, to: peer)
                if !network.answer(header, to: peer, now: now, using: &random) {
                    collector?.lost(peer, at: instant)
                }
            }
        }
        for peer in collector?.takeDismissed() ?? [] {
            if byzantine?.owns(peer) == true {
                byzantine?.dismissed(peer)
            } else {
                network.dismiss(peer)
            }
        }
    }

    /// With a hostile agent there are keys: each agent may write only its own sources.
    private func right(of peer: PeerID) -> WritingRight? {
        guard isIsolated, let agent = network.connections[peer]?.agent else { return nil }
        let name = agents[agent].name
        return WritingRight(name: name, sources: SourcePattern(name).map { [$0] } ?? [])
    }

    private mutating func annoyCollector(at instant: Instant) {
        guard !isPeaceful, now >= byzantineBegins, byzantine != nil else { return }
        let victims = agents.compactMap { agent in
            collector?.engine.recorder.spool(of: agent.name).map {
                ByzantineAgent.Victim(spool: $0, epoch: agent.epoch)
            }
        }
        let time = collectorClock(now)
        let messages = byzantine?.messages(now: time, victims: victims) ?? []
        for message in messages {
            collector?.receive(
                IncomingMessage(
                    peer: message.peer, address: "evil", right: ByzantineAgent.right,
                    header: message.header, payloadSizeBytes: message.payload?.memory.count),
                payload: message.payload, at: instant)
            deliver()
        }
    }

    /// Records the acknowledgements sent to agents.
    private mutating func note(_ header: [UInt8], to peer: PeerID) {
        guard let index = network.connections[peer]?.agent,
            let spool = collector?.engine.recorder.spool(of: agents[index].name),
            let message = try? WireMessage(decoding: header)
        else { return }
        let before = told[agents[index].name]?.bytes ?? []
        var said = header
        if case .welcome(var welcome) = message {
            // Sends the earlier minor version, so that an unused protocol addition leaves outcomes unchanged.
            welcome.minor = Self.firstOutcomesMinor
            said = WireMessage.welcome(welcome).encoded()
        }
        told[agents[index].name] = Digest(of: before + said)
        var states: [SourceState] = []
        if case .acknowledgement(let acknowledgement) = message { states = acknowledgement.sources }
        for state in states {
            let name = agents[index].name
            acknowledged[name, default: [:]][spool] = max(
                acknowledged[name]?[spool] ?? 0, state.persisted)
            released[name, default: [:]][spool] = max(
                released[name]?[spool] ?? 0, state.released ?? state.persisted)
        }
    }
}

// MARK: - Crashes

extension SystemSimulation {
    /// The collector ends as its service manager asks, and restarts after a while.
    private mutating func suspend() throws {
        note("the collector is suspended")
        let instant = instant
        collector?.suspend(at: instant)
        if disk.isDead { return try crash() }
        suspensions += 1
        deliver()
        leftFailing.formUnion(collector?.failing ?? [])
        collector = nil
        uploads = nil
        byzantine?.lostCollector()
        for index in network.loseCollector() { agents[index].disconnected(now: now) }
        startsAt = now + .random(in: 0...1_500_000_000, using: &suspendRandom)
        disk.restart()
        if !isTorn { try checkPlayable("after it was suspended") }
    }

    /// The collector dies and restarts after a while.
    private mutating func crash() throws {
        crashes += 1
        leftFailing.formUnion(collector?.failing ?? [])
        collector = nil
        uploads = nil
        byzantine?.lostCollector()
        for index in network.loseCollector() { agents[index].disconnected(now: now) }
        startsAt = now + .random(in: 0...1_500_000_000, using: &random)
        let both: Trouble = [.collectorKills, .collectorPowerCuts]
        let cutsPower =
            killAt != nil
            ? trouble.contains(.collectorPowerCuts)
            : trouble.isSuperset(of: both) ? chance(2) : trouble.contains(.collectorPowerCuts)
        note("the collector \(cutsPower ? "loses its power" : "is killed")")
        if cutsPower {
            disk.cutPower()
            isTorn = true
            bootedAt = now - .random(in: 0...60_000_000_000, using: &random)
            boots += 1
            setWallClock()
        } else {
            disk.restart()
            if !isTorn { try checkPlayable("after it was killed") }
        }
    }

    /// The collector's machine is lost; another one, with an empty disk and another clock, replaces it.
    private mutating func destroy() throws {
        destructions += 1
        note("the collector's machine is destroyed")
        collector = nil
        uploads = nil
        for index in network.loseCollector() { agents[index].disconnected(now: now) }
        startsAt = now + .random(in: 0...1_500_000_000, using: &storeRandom)
        let place = "\(root)/\(destructions)"
        try FileSystem.makeDirectories(place)
        disk = FaultyDisk(root: place, seed: storeRandom.next())
        layout = ArchiveLayout(root: place, on: disk)
        bootedAt = now - .random(in: 0...60_000_000_000, using: &storeRandom)
        boots += 1
        setWallClock()
        isTorn = false
        acknowledged = released
    }

    /// Takes over from the store, as a collector with an empty disk does first.
    /// - Returns: whether recording may begin.
    private mutating func takeOver() throws -> Bool {
        guard let bucket, try ArchiveTakeOver.isNeeded(layout) else { return true }
        let place = SimulatedUploads.place(layout, bucket, time: time, seed: storeRandom.next())
        var attempt = ArchiveTakeOver(
            from: place, now: instant.utc, idleTimeoutNanoseconds: 0, connections: 1)
        do throws(UploadError) {
            let outcome = try attempt.run()
            for problem in outcome.problems { violate(problem) }
            if outcome.sessions > 0 { note("took over \(outcome)") }
            return true
        } catch {
            note("cannot take over: \(error)")
            return false
        }
    }

    private mutating func startCollector() throws {
        disk.setFaults(oneIn: nil)
        // Kills during recovery too.
        if !isPeaceful, killAt == nil,
            !trouble.isDisjoint(with: [.collectorKills, .collectorPowerCuts]), chance(4)
        {
            disk.stop(afterOperations: Int.random(in: 1...8, using: &random))
        }
        let recovered: RecoveredArchive
        do {
            try FileSystem.makeDirectories(layout.sessions, on: disk)
            guard try takeOver() else {
                if disk.isDead { return try crash() }
                startsAt = now + 300_000_000
                return
            }
            try ModificationTimes.level(layout.root)
            recovered = try ArchiveRecovery.run(layout, now: instant.utc, idleTimeoutNanoseconds: 0)
        } catch {
            if disk.isDead { return try crash() }
            // Out of space even for the takeover; the operator tries again.
            startsAt = now + 300_000_000
            return
        }
        if disk.isDead { return try crash() }
        for line in recovered.notes { note(line.text) }
        check(recovered)
        sessionsBefore = Set(try layout.sessionNames())
        let disk = disk
        let space = FreeSpace(reserveBytes: 2_000, directory: layout.root) { _ in
            (UInt64(disk.freeBytes), 1 << 40)
        }
        collector = SimulatedCollector(
            layout: layout, space: space, recovered: recovered,
            host: HostClock(
                boot: "boot \(boots)",
                wallErrorNanoseconds: trouble.contains(.wrongWallClocks)
                    ? 60_000_000_000 : 1_000_000),
            takenNames: Set(try layout.sessionNames()),
            sabotage: sabotage, segmentNanoseconds: Self.segmentNanoseconds,
            keepsTime: isIsolated, catalog: catalog, release: bucket == nil ? .local : .stored,
            at: instant)
        if let bucket {
            uploads = SimulatedUploads(layout, to: bucket, time: time, seed: storeRandom.next())
        }
        isTorn = false
        leftFailing = []
        try checkPlayable("after recovery")
    }
}

// MARK: - Invariants

extension SystemSimulation {
    /// Records acknowledged as durable are in the archive.
    private mutating func check(_ recovered: RecoveredArchive) {
        for (name, spools) in acknowledged {
            for (spool, sequence) in spools {
                // A spool may be unknown if only losses outside any session were acknowledged. Missing samples would
                // show at the end.
                let own = recovered.spools[name]?.first { $0.spool == spool }
                if let there = own?.sequences.watermark, there < sequence {
                    violate("\(name): \(sequence) was acknowledged, \(there) is on disk")
                }
            }
        }
    }

    private mutating func checkPlayable(_ when: String) throws {
        let failing = collector?.failing ?? leftFailing
        let names = byzantine == nil ? nil : Set(agents.map(\.name))
        for flaw in try ArchiveInspection(layout, readsMedia: false, of: names).unplayable
        where !failing.contains(where: flaw.contains) {
            violate("\(when): \(flaw)")
        }
    }

    /// At the end: every sample is in the files exactly once, and verification agrees.
    private mutating func conclude() throws {
        try fetchAll()
        let honest = Set(agents.map(\.name))
        let inspection = try ArchiveInspection(
            layout, readsMedia: true, of: byzantine == nil ? nil : honest)
        for flaw in inspection.unplayable { violate(flaw) }
        for (id, count) in inspection.samples.sorted(by: { $0.key < $1.key }) where count > 1 {
            violate("sample \(id) is there \(count) times")
        }
        for agent in agents {
            let missing = agent.camera.made.filter { inspection.samples[$0] == nil }
            var unexplained = missing.filter { !isTakenByPowerCut($0, agent) }
            // An ended session is not reopened.
            if unexplained.count <= (try writtenOff(agent.name)) { unexplained = [] }
            if let first = unexplained.first, let last = unexplained.last {
                violate("\(unexplained.count) samples are missing, \(first) to \(last)")
            }
        }
        for session in try layout.sessionNames() {
            let report = try SessionVerifier.verify(session, in: layout)
            // The hostile agent's own files only have to be readable.
            for finding in report.allFindings
            where finding.severity.isDamage && !finding.path.contains("/evil") {
                violate("verify: \(finding.path): \(finding.text)")
            }
            if !violations.isEmpty { history += try describe() }
            if report.state != "finished" { violate("\(session) is \(report.state ?? "nothing")") }
        }
        if trouble.contains(.wrongWallClocks) { try checkTimes() }
        try checkCatalog()
    }

    /// Times are true to within their bounds, as recorded and as retimed, and undoing the retiming restores every byte.
    private mutating func checkTimes() throws {
        let captured = Dictionary(
            uniqueKeysWithValues: agents.map { ($0.index, $0.camera.captured) })
        for (session, zero) in trueZeros.sorted(by: { $0.key < $1.key }) {
            guard try layout.sessionNames().contains(session) else { continue }
            let recorded = try TimeInspection(session, in: layout, zero: zero, captured: captured)
            for violation in recorded.violations { violate("as recorded: \(violation)") }
            greatestErrors.recorded = max(
                greatestErrors.recorded, recorded.greatestErrorNanoseconds)
            timedSamples += recorded.samples
            let before = try files(of: session)
            do throws(ArchiveError) {
                _ = try SessionRetimer(session, in: layout).retime(isDryRun: false)
            } catch {
                refusedRetimings.append("\(error)")
                if try files(of: session) != before { violate("a refused retiming left a trace") }
                continue
            }
            let retimed = try TimeInspection(session, in: layout, zero: zero, captured: captured)
            for violation in retimed.violations { violate("as retimed: \(violation)") }
            greatestErrors.retimed = max(greatestErrors.retimed, retimed.greatestErrorNanoseconds)
            for finding in try SessionVerifier.verify(session, in: layout).allFindings
            where finding.severity.isDamage {
                violate("verify, retimed: \(finding.path): \(finding.text)")
            }
            _ = try SessionRetimer(session, in: layout).undo(isDryRun: false)
            if try files(of: session) != before { violate("retiming was not undone") }
        }
    }

    private func files(of session: String) throws -> [Digest] {
        try layout.sourceNames(session).flatMap { try layout.segmentPaths(session, $0) }
            .map { Digest(of: try FileSystem.read($0, limit: 1 << 28)) }
    }

    /// Fetches what only the bucket has to the disk, for inspection.
    private mutating func fetchAll() throws {
        guard let bucket else { return }
        let fetch = StoredSessionFetch(
            from: SimulatedUploads.place(layout, bucket, time: time, seed: seed))
        do throws(UploadError) {
            for session in try fetch.sessionNames() {
                let outcome = try fetch.run(session) { _ in }
                // An upload left incomplete by a lost collector belongs to no one.
                for problem in outcome.problems where !problem.contains("was not completed") {
                    violate(problem)
                }
            }
        } catch {
            violate("\(error)")
        }
    }

    /// Number of failed catalog writes.
    var catalogRefusals: Int { catalog?.refusals ?? 0 }

    /// Digest of every file and of the messages sent to each agent.
    func digest() throws -> Digest {
        var bytes: [UInt8] = []
        for session in try layout.sessionNames() {
            bytes += try FileSystem.read(layout.manifest(session), limit: 1 << 28)
            for source in try layout.sourceNames(session) {
                for path in try layout.segmentPaths(session, source) {
                    bytes += path.dropFirst(layout.root.count).utf8
                    bytes += Digest(of: try FileSystem.read(path, limit: 1 << 28)).bytes
                }
                // Errors contain paths, and the archive's root differs between runs.
                for var entry in try Ledger.read(layout.ledger(session, source)).entries {
                    entry.text = entry.text?.replacing(layout.root, with: "")
                    bytes += Ledger.line(entry)
                }
            }
        }
        for (name, digest) in told.sorted(by: { $0.key < $1.key }) {
            bytes += name.utf8 + digest.bytes
        }
        return Digest(of: bytes)
    }

    /// Acknowledged sequences, by agent and spool.
    var acknowledgements: [String: [SpoolID: UInt64]] { acknowledged }

    /// At the end, the catalog agrees with the files.
    private mutating func checkCatalog() throws {
        guard let catalog else { return }
        // Not all changes have reached the catalog yet.
        for turn in 0..<10_000 where turn < 2 || collector?.isCatalogInStep == false {
            now += 1_000_000_000
            let instant = instant
            collector?.followCatalog(at: instant)
        }
        let fresh = try SQLiteCatalog.inMemory()
        _ = try CatalogIndexing.update(fresh, layout, everything: true)
        let (wanted, kept) = (try fresh.dump(), try catalog.dump())
        if wanted != kept {
            let differences = Set(wanted).symmetricDifference(kept).sorted().prefix(6)
            violate("the catalog differs: \(differences.joined(separator: "; "))")
        }
    }

    /// Number of records that a source's ledgers list as lost by a file that failed after its session ended.
    private func writtenOff(_ source: String) throws -> Int {
        var count = 0
        for session in try layout.sessionNames() {
            for entry in try Ledger.read(layout.ledger(session, source)).entries
            where entry.cause == "write failed" {
                guard let first = entry.firstSequence, let last = entry.lastSequence else {
                    continue
                }
                count += Int(last - first) + 1
            }
        }
        return count
    }

    /// The records that files and ledgers list.
    private func describe() throws -> [String] {
        var lines: [String] = []
        for session in try layout.sessionNames() {
            for source in try layout.sourceNames(session) {
                for path in try layout.segmentPaths(session, source) {
                    let sequences = FileVerifier.verify(path).sequences.map {
                        "\($0.key.description.prefix(6)) \($0.value)"
                    }
                    lines.append("\(path): \(sequences)")
                }
                for entry in try Ledger.read(layout.ledger(session, source)).entries {
                    let numbers = "\(entry.firstSequence ?? 0)...\(entry.lastSequence ?? 0)"
                    let spool = entry.spool?.prefix(6) ?? ""
                    let text = "\(entry.after ?? 0) \(entry.text ?? "")"
                    lines.append("\(source) \(entry.kind) \(spool) \(numbers) after \(text)")
                }
            }
        }
        return lines
    }

    /// Whether the box lost power within seconds after making a sample, which may then not have reached its disk.
    private func isTakenByPowerCut(_ id: SimulatedCamera.SampleID, _ agent: SimulatedAgent) -> Bool
    {
        agent.powerCuts.contains { id.number < $0 }
    }
}
