import Archive
import Catalog
import Glibc
import Media
import TestDisks
import TestSpools
import Wire

@testable import AgentCore
@testable import CollectorCore
@testable import Recordings

/// Some agents and three collectors, each with its own disk and archive, and faults, all from one seed.
///
/// Real: the agents' logs, cursors, choice of collector and notes, both ends of the protocol, sessions, segments, the MP4 writer, the
/// disk thread's work, recovery and verification. Simulated: time, the networks, the boxes' disks, and the faults of the collectors'
/// disks.
struct GroupSimulation {
    struct Trouble: OptionSet {
        let rawValue: Int
        static let kills = Trouble(rawValue: 1)
        static let powerCuts = Trouble(rawValue: 2)
        /// A collector pauses, and then continues.
        static let hangs = Trouble(rawValue: 4)
        /// Between one agent and one collector nothing arrives for a while, in one direction or in both.
        static let partitions = Trouble(rawValue: 8)
        static let fullDisks = Trouble(rawValue: 16)
        static let faultyDisks = Trouble(rawValue: 32)
        static let agentKills = Trouble(rawValue: 64)
        static let agentPowerCuts = Trouble(rawValue: 128)
        /// A box is put back to an earlier state of its disk, and boots.
        static let snapshots = Trouble(rawValue: 256)
        static let drains = Trouble(rawValue: 512)
        /// A collector's disk hangs for a while: it accepts work, and does not answer.
        static let hangingDisks = Trouble(rawValue: 1_024)
    }

    private struct Member {
        let name: String
        let layout: ArchiveLayout
        let disk: FaultyDisk
        var network = SimulatedNetwork()
        var collector: SimulatedCollector?
        var startsAt: Int64 = 0
        var hangsUntil: Int64 = 0
        var diskHangsSince: Int64 = 0
        var diskHangsUntil: Int64 = 0
        var bootedAt: Int64
        var boots = 1
        var starts = 0
        /// Of its archive, in the site's database; nil: it is not on a site.
        var catalog: SimulatedCatalog?
        var reportsAt: Int64 = 0
        var acknowledged: [String: [SpoolID: SequenceSet]] = [:]
        /// Highest first record offered per source and spool since the collector's start. Earlier ones need not be here.
        var offered: [String: [SpoolID: UInt64]] = [:]

        var endpoint: String { "tcp://\(name):5550" }
    }

    private struct Link: Hashable {
        var agent: Int
        var member: Int
    }

    static let captureNanoseconds: Int64 = 20_000_000_000
    private static let peaceNanoseconds: Int64 = 400_000_000_000
    private static let segmentNanoseconds: Int64 = 4_000_000_000
    /// See ``DiskStatistics/isHanging(now:)``.
    private static let diskPatienceNanoseconds: Int64 = 4_000_000_000
    /// How long agents continue after the last fault, so that the collectors of a site come to one session.
    private static let calmNanoseconds: Int64 = 40_000_000_000
    /// Interval of a collector's reports to its site.
    private static let reportNanoseconds: Int64 = 5_000_000_000
    private static let utc: Int64 = 1_800_000_000_000_000_000
    private static let names = ["east", "north", "west"]

    let seed: UInt64
    let trouble: Trouble
    let sabotage: GroupSabotage?
    private var random: SeededGenerator
    private(set) var now: Int64 = 100_000_000_000
    private(set) var agents: [SimulatedAgent] = []
    private var members: [Member] = []
    /// The database that the collectors share; nil: none.
    private var site: SimulatedSite?
    /// With which collector an agent has a connection.
    private var connected: [Int: Int] = [:]
    /// With which one it has the connection to a second collector.
    private var mirrored: [Int: Int] = [:]
    /// By collector.
    private let policies: [ReleasePolicy]
    /// Until when nothing arrives.
    private var blockedThere: [Link: Int64] = [:]
    private var blockedBack: [Link: Int64] = [:]
    private var isPeaceful = false
    private(set) var violations: [String] = []
    private(set) var history: [String] = []
    private(set) var faults = 0
    private(set) var moves: UInt64 = 0
    private(set) var heldRecords = 0
    private(set) var copiedRecords = 0
    /// By session and collector: its zero on the true clock, and how far that may be off, where the collector began or took over the
    /// session.
    private var zeros: [String: [String: (zero: Int64, error: Int64)]] = [:]
    private var sessionsBefore: [String: Set<String>] = [:]
    /// The greatest distance between two collectors' zeros of one session, nanoseconds.
    private(set) var greatestShift: Int64 = 0
    /// Sessions that more than one archive has.
    private(set) var sharedSessions = 0
    /// Sessions that a site's collectors recorded after a while without faults.
    private var recordedAtOnce: Set<String> = []
    /// Sessions that are parts of others.
    private(set) var attachedSessions = 0

    init(
        seed: UInt64, trouble: Trouble, agents count: Int, isOnSite: Bool = false,
        sabotage: GroupSabotage? = nil, root: String
    ) throws {
        if isOnSite { site = SimulatedSite(seed: seed) }
        self.seed = seed
        self.trouble = trouble
        self.sabotage = sabotage
        policies = Self.policies(of: seed)
        random = SeededGenerator(seed: seed ^ 0x6009)
        for name in Self.names {
            let place = "\(root)/\(name)"
            try FileSystem.makeDirectories(place)
            let disk = FaultyDisk(root: place, seed: random.next())
            let booted = now - .random(in: 1_000_000_000...60_000_000_000, using: &random)
            members.append(
                Member(
                    name: name, layout: ArchiveLayout(root: place, on: disk), disk: disk,
                    bootedAt: booted,
                    catalog: isOnSite
                        ? SimulatedCatalog(seed: seed ^ UInt64(members.count) << 8) : nil))
        }
        let endpoints = members.map(\.endpoint).joined(separator: ",")
        for index in 1...UInt8(count) {
            agents.append(
                try SimulatedAgent(
                    index: index, seed: seed, now: now, collectors: endpoints, sabotage: sabotage))
        }
    }

    private mutating func chance(_ oneIn: Int) -> Bool {
        Int.random(in: 0..<oneIn, using: &random) == 0
    }

    private mutating func note(_ text: String) {
        history.append("\(now / 1_000_000) ms: \(text)")
    }

    /// Notes a message of the protocol, without payload and clock exchanges.
    private mutating func trace(_ header: [UInt8], _ direction: String) {
        guard SimulationRun.isTraced, let message = try? WireMessage(decoding: header) else {
            return
        }
        switch message {
        case .hello(let hello):
            let offers = hello.sources.map { source in
                let held = source.held.map { "\($0.sequences) at \($0.collector)" }
                return "\(source.name) from \(source.firstSequence), held: \(held)"
            }
            note("\(direction) hello of \(hello.spool), term \(hello.statement.term): \(offers)")
        case .welcome(let welcome):
            note("\(direction) welcome \(welcome.sources.map(Self.text))")
        case .acknowledgement(let said):
            note("\(direction) acknowledgement \(said.sources.map(Self.text))")
        case .samples(let samples):
            note("\(direction) samples \(samples.firstSequence)...\(samples.lastSequence)")
        case .gap(let gap): note("\(direction) gap \(gap.sequences), \(gap.cause)")
        case .goodbye(let goodbye): note("\(direction) goodbye \(goodbye.sequence)")
        default: return
        }
    }

    private static func text(of state: SourceState) -> String {
        "received \(state.received), persisted \(state.persisted)"
    }

    private mutating func violate(_ text: String) {
        violations.append("seed \(seed) at \(now / 1_000_000) ms: \(text)")
    }

    /// Runs until all captured samples are stored.
    /// - Returns: violated invariants.
    mutating func run() throws -> [String] {
        let end = now + Self.captureNanoseconds
        while now < end, violations.isEmpty { try step() }
        makePeace()
        try findOneSession()
        for index in agents.indices { agents[index].sayGoodbye(now: now) }
        let deadline = now + Self.peaceNanoseconds
        while violations.isEmpty, !isOver {
            try step()
            if now > deadline {
                violate(
                    "not at an end: \(agents.map(\.isFinished)), \(agents.map(\.endpoint)), "
                        + "\(members.map { $0.collector?.isIdle ?? false })")
            }
        }
        if violations.isEmpty { try conclude() }
        return violations
    }

    private var isOver: Bool {
        agents.allSatisfy(\.isFinished) && members.allSatisfy { $0.collector?.isIdle == true }
    }

    private mutating func makePeace() {
        isPeaceful = true
        blockedThere = [:]
        blockedBack = [:]
        let instants = members.indices.map(instant)
        for index in members.indices {
            members[index].disk.setCapacity(nil)
            members[index].disk.setFaults(oneIn: nil)
            members[index].hangsUntil = 0
            members[index].diskHangsUntil = 0
            members[index].collector?.drain(false, at: instants[index])
            members[index].catalog?.makePeace()
            members[index].catalog?.setAway(false)
        }
        site?.makePeace()
    }

    private func instant(_ member: Int) -> Instant {
        Instant(
            monotonic: now - members[member].bootedAt, utc: UTCTime(nanoseconds: Self.utc + now))
    }

    private func hangs(_ member: Int) -> Bool { now < members[member].hangsUntil }

    private func isBlocked(_ blocked: [Link: Int64], _ agent: Int, _ member: Int) -> Bool {
        now < blocked[Link(agent: agent, member: member)] ?? 0
    }

    private func reaches(_ agent: Int, _ member: Int) -> Bool {
        !hangs(member) && !isBlocked(blockedThere, agent, member)
            && !isBlocked(blockedBack, agent, member)
    }
}

// MARK: - Steps

extension GroupSimulation {
    mutating func step() throws {
        // Sessions without agents only wait for their end.
        let isWaiting = isPeaceful && agents.allSatisfy(\.isFinished)
        now += .random(in: 1_000_000...(isWaiting ? 400_000_000 : 40_000_000), using: &random)
        if !isPeaceful { try makeTrouble() }
        for index in agents.indices where !agents[index].isFinished { stepAgent(index) }
        for index in members.indices { try stepMember(index) }
        for agent in agents {
            if let failure = agent.failure { violate("\(agent.name) gave up: \(failure)") }
        }
    }

    private mutating func makeTrouble() throws {
        for index in members.indices { makeTrouble(of: index) }
        if let fault = site?.makeTrouble(at: now) {
            note(fault.rawValue)
            faults += 1
            if fault.losesCommits {
                for member in members {
                    try member.catalog?.lose(isNoticed: sabotage != .forgetsLosses)
                }
            }
        }
        for index in agents.indices {
            if trouble.contains(.partitions), chance(250) {
                let link = Link(
                    agent: index, member: .random(in: members.indices, using: &random))
                let until = now + .random(in: 200_000_000...9_000_000_000, using: &random)
                let kind = Int.random(in: 0..<3, using: &random)
                if kind != 1 { blockedThere[link] = until }
                if kind != 0 { blockedBack[link] = until }
                note("\(agents[index].name) and \(members[link.member].name) are cut (\(kind))")
                faults += 1
            }
            if trouble.contains(.snapshots), chance(400) { agents[index].takeSnapshot() }
            let cut = trouble.contains(.agentPowerCuts) && chance(500)
            if cut || (trouble.contains(.agentKills) && chance(400)) {
                dropAll(index)
                note("\(agents[index].name) \(cut ? "loses its power" : "is killed")")
                try agents[index].restart(afterPowerCut: cut, now: now)
                faults += 1
            }
            if trouble.contains(.snapshots), chance(500),
                try agents[index].restoreSnapshot(boots: chance(2), now: now)
            {
                dropAll(index)
                note("\(agents[index].name) is put back")
                faults += 1
            }
        }
    }

    private mutating func makeTrouble(of index: Int) {
        if !trouble.isDisjoint(with: [.kills, .powerCuts]), chance(300) {
            members[index].disk.stop(afterOperations: .random(in: 1...12, using: &random))
        }
        if trouble.contains(.hangs), chance(300) {
            members[index].hangsUntil =
                now + .random(in: 500_000_000...9_000_000_000, using: &random)
            note("\(members[index].name) hangs")
            faults += 1
        }
        if trouble.contains(.hangingDisks), chance(300) {
            members[index].diskHangsSince = now
            members[index].diskHangsUntil =
                now + .random(in: 500_000_000...12_000_000_000, using: &random)
            note("the disk of \(members[index].name) hangs")
            faults += 1
        }
        if trouble.contains(.fullDisks), chance(150) {
            let isFull = chance(2)
            members[index].disk.setCapacity(
                isFull ? Int.random(in: 10_000...150_000, using: &random) : nil)
            if isFull { note("\(members[index].name) is full") }
        }
        if trouble.contains(.faultyDisks), chance(100) {
            members[index].disk.setFaults(
                oneIn: chance(3) ? Int.random(in: 3...30, using: &random) : nil)
        }
        if trouble.contains(.drains), chance(200), members[index].collector != nil {
            let isDraining = chance(2)
            let instant = instant(index)
            members[index].collector?.drain(isDraining, at: instant)
            note("\(members[index].name) is \(isDraining ? "" : "not ")drained")
        }
    }

    /// The box or its agent dies with its connections.
    private mutating func dropAll(_ agent: Int) {
        drop(agent)
        dropMirror(agent)
    }

    private mutating func dropMirror(_ agent: Int) {
        guard let member = mirrored.removeValue(forKey: agent),
            let peer = members[member].network.peer(of: agent)
        else { return }
        members[member].network.abandon(peer, using: &random)
    }

    private mutating func drop(_ agent: Int) {
        guard let member = connected.removeValue(forKey: agent),
            let peer = members[member].network.peer(of: agent)
        else { return }
        members[member].network.abandon(peer, using: &random)
    }

    private mutating func stepAgent(_ index: Int) {
        agents[index].capture(until: now)
        if agents[index].reconnectAt.map({ now >= $0 }) == true { connect(index) }
        if let member = connected[index], let peer = members[member].network.peer(of: index) {
            let booted = members[member].bootedAt
            if members[member].collector != nil, reaches(index, member) {
                agents[index].measure(now: now) { $0 - booted }
            }
            if !isBlocked(blockedBack, index, member) {
                for header in members[member].network.takeAnswers(at: now, over: peer) {
                    guard !agents[index].hangsUp else { break }
                    agents[index].received(header, now: now)
                }
            }
        }
        receiveFromMirror(index)
        agents[index].tick(now: now)
        sendToMirror(index)
        for line in agents[index].takeLog() { note("\(agents[index].name): \(line)") }
        let messages = agents[index].takeOutgoing()
        guard let member = connected[index], let peer = members[member].network.peer(of: index)
        else { return }
        if agents[index].hangsUp { return drop(index) }
        check(messages.map(\.header), of: index)
        members[member].network.send(messages, over: peer, now: now, using: &random)
    }

    private mutating func receiveFromMirror(_ index: Int) {
        if let endpoint = agents[index].mirrorDue(now: now) { connectMirror(index, endpoint) }
        guard let member = mirrored[index], let peer = members[member].network.peer(of: index)
        else { return }
        let booted = members[member].bootedAt
        if members[member].collector != nil, reaches(index, member) {
            agents[index].measureMirror(now: now) { $0 - booted }
        }
        guard !isBlocked(blockedBack, index, member) else { return }
        for header in members[member].network.takeAnswers(at: now, over: peer) {
            guard !agents[index].mirrorHangsUp else { break }
            agents[index].mirrorReceived(header, now: now)
        }
    }

    private mutating func sendToMirror(_ index: Int) {
        let messages = agents[index].takeMirrorOutgoing()
        guard let member = mirrored[index], let peer = members[member].network.peer(of: index)
        else { return }
        if agents[index].mirrorHangsUp || !agents[index].isMirrored { return dropMirror(index) }
        check(messages.map(\.header), of: index)
        members[member].network.send(messages, over: peer, now: now, using: &random)
    }

    private mutating func connectMirror(_ index: Int, _ endpoint: String) {
        dropMirror(index)
        guard let member = members.firstIndex(where: { $0.endpoint == endpoint }) else {
            return violate("\(agents[index].name) goes to \(endpoint)")
        }
        if connected[index] == member {
            // The first connection is about to be another one.
            guard agents[index].hangsUp else {
                return violate("\(agents[index].name) has two connections with \(endpoint)")
            }
            drop(index)
        }
        guard reaches(index, member) else { return }
        guard members[member].collector != nil else {
            return agents[index].mirrorDisconnected(now: now)
        }
        members[member].network.connect(index, using: &random)
        mirrored[index] = member
        let booted = members[member].bootedAt
        agents[index].mirrorConnected(now: now) { $0 - booted }
    }

    private mutating func connect(_ index: Int) {
        drop(index)
        guard let member = members.firstIndex(where: { $0.endpoint == agents[index].endpoint })
        else { return violate("\(agents[index].name) goes to \(agents[index].endpoint)") }
        // No handshake without an answer.
        guard reaches(index, member) else { return }
        if mirrored[index] == member { dropMirror(index) }
        guard members[member].collector != nil else { return agents[index].disconnected(now: now) }
        members[member].network.connect(index, using: &random)
        connected[index] = member
        let booted = members[member].bootedAt
        agents[index].connected(now: now) { $0 - booted }
    }

    /// A term is durable before it is sent.
    private mutating func check(_ headers: [[UInt8]], of index: Int) {
        for header in headers {
            guard case .hello(let hello)? = try? WireMessage(decoding: header) else { continue }
            let durable = agents[index].durableNote?.term ?? 0
            if durable < hello.statement.term {
                violate(
                    "\(agents[index].name) tells the term \(hello.statement.term), \(durable) is durable"
                )
            }
            moves = max(moves, hello.statement.term)
        }
    }

    private mutating func stepMember(_ index: Int) throws {
        guard !hangs(index) else { return }
        if members[index].collector == nil, now >= members[index].startsAt { try start(index) }
        guard members[index].collector != nil else { return }
        let instant = instant(index)
        let most = isPeaceful ? Int.max : Int.random(in: 0...6, using: &random)
        for peer in members[index].network.peers {
            guard let agent = members[index].network.connections[peer]?.agent,
                !isBlocked(blockedThere, agent, index)
            else { continue }
            for message in members[index].network.takeArrived(at: now, over: peer) {
                noteOffers(message.header, of: agent, at: index)
                trace(message.header, "\(agents[agent].name) → \(members[index].name):")
                members[index].collector?.receive(
                    IncomingMessage(
                        peer: peer, address: "box", right: nil, header: message.header,
                        payloadSizeBytes: message.payload?.memory.count),
                    payload: message.payload, at: instant)
            }
        }
        let doesDiskHang = now < members[index].diskHangsUntil
        let isHangingLong =
            doesDiskHang && now - members[index].diskHangsSince >= Self.diskPatienceNanoseconds
        members[index].collector?.setDiskHanging(isHangingLong)
        members[index].collector?.tick(at: instant)
        followSite(index, at: instant)
        noteZero(index)
        for line in members[index].collector?.takeLog() ?? [] {
            note("\(members[index].name): \(line)")
        }
        if !doesDiskHang { members[index].collector?.work(most, at: instant) }
        if members[index].disk.isDead { return crash(index) }
        if isPeaceful || !chance(4) { members[index].collector?.hear(at: instant) }
        deliver(index, at: instant)
    }

    private mutating func noteZero(_ index: Int) {
        let name = members[index].name
        guard let clock = members[index].collector?.engine.recorder.sessionClock,
            zeros[clock.session]?[name] == nil,
            sessionsBefore[name]?.contains(clock.session) != true
        else { return }
        zeros[clock.session, default: [:]][name] = (
            clock.zeroNanoseconds + members[index].bootedAt, clock.zeroErrorNanoseconds
        )
    }

    private mutating func deliver(_ index: Int, at instant: Instant) {
        while let messages = members[index].collector?.takeOutgoing(), !messages.isEmpty {
            for (peer, header) in messages {
                noteAcknowledgement(header, to: peer, by: index)
                if let agent = members[index].network.connections[peer]?.agent {
                    trace(header, "\(members[index].name) → \(agents[agent].name):")
                }
                if !members[index].network.answer(header, to: peer, now: now, using: &random) {
                    members[index].collector?.lost(peer, at: instant)
                }
            }
        }
        for peer in members[index].collector?.takeDismissed() ?? [] {
            members[index].network.dismiss(peer)
        }
    }

    private mutating func noteAcknowledgement(_ header: [UInt8], to peer: PeerID, by index: Int) {
        guard let agent = members[index].network.connections[peer]?.agent,
            let spool = members[index].collector?.engine.recorder.spool(of: agents[agent].name),
            case .acknowledgement(let said)? = try? WireMessage(decoding: header)
        else { return }
        let name = agents[agent].name
        let isRecording = members[index].collector?.engine.recorder.sessionClock != nil
        for state in said.sources {
            // Earlier records are not here: other collectors hold them, or they are lost.
            let first = members[index].offered[name]?[spool] ?? 1
            guard first <= state.persisted else { continue }
            guard isRecording else {
                // Gaps without a session are in no ledger.
                members[index].offered[name, default: [:]][spool] = state.persisted + 1
                continue
            }
            members[index].acknowledged[name, default: [:]][spool, default: SequenceSet()].insert(
                first...state.persisted)
        }
    }

    /// Notes which records an agent still has.
    private mutating func noteOffers(_ header: [UInt8], of agent: Int, at index: Int) {
        guard case .hello(let hello)? = try? WireMessage(decoding: header) else { return }
        for offer in hello.sources {
            let before = members[index].offered[offer.name]?[hello.spool] ?? 1
            members[index].offered[offer.name, default: [:]][hello.spool] = max(
                before, offer.firstSequence)
        }
    }
}

// MARK: - The site

extension GroupSimulation {
    /// Exchanges of a collector with its site's database.
    private mutating func followSite(_ index: Int, at instant: Instant) {
        guard site != nil else { return }
        let (name, start) = (members[index].name, members[index].starts)
        let booted = members[index].bootedAt
        if now >= members[index].reportsAt {
            members[index].reportsAt = now + Self.reportNanoseconds
            let recording = members[index].collector?.engine.recorder.siteProposal
            let isAgreed = site?.report(recording, of: name, at: now, bootedAt: booted)
            members[index].collector?.setSiteReachable(isAgreed != nil)
            if isAgreed == nil { members[index].reportsAt = now + 1_000_000_000 }
            if isAgreed == false, sabotage != .neverDenied, let recording {
                members[index].collector?.siteDenied(recording.session, at: instant)
            }
        }
        for (ticket, answer) in site?.takeAnswers(
            of: index, start: start, at: now, bootedAt: booted) ?? []
        {
            members[index].collector?.setSiteReachable(answer != nil)
            members[index].collector?.agreed(ticket, on: answer, at: instant)
        }
        for (proposal, ticket) in members[index].collector?.takeProposals() ?? [] {
            site?.ask(proposal, ticket: ticket, of: index, start: start, at: now)
        }
        members[index].catalog?.setAway(site?.isAway(at: now) == true)
        if chance(6) { members[index].collector?.followCatalog(at: instant) }
    }

    /// Waits until the collectors of a site have come to one session, without faults.
    private mutating func findOneSession() throws {
        guard site != nil else { return }
        let end = now + Self.calmNanoseconds
        while now < end, violations.isEmpty { try step() }
        recordedAtOnce = Set(members.compactMap { $0.collector?.engine.recorder.sessionName })
    }

    /// Readers see one session of all that was recorded at once; its parts are where their descriptions say, to within what they
    /// say.
    private mutating func checkAttachments() throws {
        var described: [SessionAttachments.Described] = []
        for member in members {
            for session in try member.layout.sessionNames() {
                let manifest = try SessionManifest.read(member.layout.manifest(session))
                described.append(
                    .init(session: session, attached: manifest.attached ?? []))
            }
        }
        let attachments = SessionAttachments(described)
        let wholes = Set(recordedAtOnce.map(attachments.whole(of:)))
        if wholes.count > 1 { violate("sessions at once: \(wholes.sorted())") }
        for session in Set(described.map(\.session)).sorted() {
            guard let place = attachments.place(of: session) else { continue }
            attachedSessions += 1
            // Sessions that a collector took over have been noted by the one that began them.
            for (_, own) in zeros[session] ?? [:] {
                for (_, whole) in zeros[place.session] ?? [:] {
                    let error = abs(own.zero - whole.zero - place.offsetNanoseconds)
                    let bound = Int64(clamping: place.boundNanoseconds) + own.error + whole.error
                    guard error > bound else { continue }
                    violate(
                        "\(session) is \(error) ns from its place in \(place.session), \(bound) are said"
                    )
                }
            }
        }
    }

    /// A collector's catalog agrees with its files.
    private mutating func checkCatalog(of index: Int) throws {
        guard let catalog = members[index].catalog else { return }
        for turn in 0..<10_000
        where turn < 2 || members[index].collector?.isCatalogInStep == false {
            now += 1_000_000_000
            let instant = instant(index)
            members[index].collector?.followCatalog(at: instant)
        }
        let fresh = try SQLiteCatalog.inMemory()
        _ = try CatalogIndexing.update(fresh, members[index].layout, everything: true)
        let (wanted, kept) = (try fresh.dump(), try catalog.dump())
        if wanted != kept {
            let differences = Set(wanted).symmetricDifference(kept).sorted().prefix(6)
            violate(
                "the catalog of \(members[index].name) differs: \(differences.joined(separator: "; "))"
            )
        }
    }
}

// MARK: - Crashes

extension GroupSimulation {
    private mutating func crash(_ index: Int) {
        faults += 1
        members[index].collector = nil
        members[index].offered = [:]
        for agent in members[index].network.loseCollector() {
            if connected[agent] == index {
                connected[agent] = nil
                agents[agent].disconnected(now: now)
            } else if mirrored[agent] == index {
                mirrored[agent] = nil
                agents[agent].mirrorDisconnected(now: now)
            }
        }
        members[index].startsAt = now + .random(in: 0...8_000_000_000, using: &random)
        let cutsPower =
            trouble.isSuperset(of: [.kills, .powerCuts])
            ? chance(2) : trouble.contains(.powerCuts)
        note("\(members[index].name) \(cutsPower ? "loses its power" : "is killed")")
        guard cutsPower else { return members[index].disk.restart() }
        members[index].disk.cutPower()
        members[index].bootedAt = now - .random(in: 0...60_000_000_000, using: &random)
        members[index].boots += 1
    }

    private mutating func start(_ index: Int) throws {
        let (layout, disk) = (members[index].layout, members[index].disk)
        disk.setFaults(oneIn: nil)
        let instant = instant(index)
        let recovered: RecoveredArchive
        do {
            try FileSystem.makeDirectories(layout.sessions, on: disk)
            try ModificationTimes.level(layout.root)
            recovered = try ArchiveRecovery.run(layout, now: instant.utc, idleTimeoutNanoseconds: 0)
        } catch {
            if disk.isDead { return crash(index) }
            members[index].startsAt = now + 300_000_000
            return
        }
        if disk.isDead { return crash(index) }
        for (name, spools) in members[index].acknowledged {
            for (spool, sequences) in spools {
                guard let own = recovered.spools[name]?.first(where: { $0.spool == spool }) else {
                    continue
                }
                for range in sequences.ranges.flatMap(own.sequences.missing(in:)) {
                    violate(
                        "\(name): \(members[index].name) acknowledged \(range), which is not on disk"
                    )
                }
            }
        }
        sessionsBefore[members[index].name] = Set(try layout.sessionNames())
        members[index].starts += 1
        members[index].reportsAt = now
        let space = FreeSpace(reserveBytes: 2_000, directory: layout.root) { _ in
            (UInt64(disk.freeBytes), 1 << 40)
        }
        members[index].collector = SimulatedCollector(
            layout: layout, space: space, recovered: recovered,
            host: HostClock(
                boot: "\(members[index].name) \(members[index].boots)",
                wallErrorNanoseconds: 1_000_000),
            takenNames: Set(try layout.sessionNames()), sabotage: nil,
            segmentNanoseconds: Self.segmentNanoseconds, keepsTime: false,
            catalog: members[index].catalog,
            release: policies[index], name: members[index].name, isOnSite: site != nil, at: instant)
    }
}

// MARK: - Invariants

extension GroupSimulation {
    /// At the end: every sample is once in all archives together, and each archive is intact.
    private mutating func conclude() throws {
        let archives = Dictionary(
            uniqueKeysWithValues: members.map { ($0.name, $0.layout) })
        let merged = try MergedRecords(archives)
        heldRecords = merged.heldRecords
        copiedRecords = merged.copied
        let found = merged.violations(Set(archives.keys))
        for violation in found {
            // A box that was put back has an earlier term again.
            if trouble.contains(.snapshots), violation.contains("has the term") { continue }
            // Two collectors have a term's records on purpose.
            if policies.contains(.mirrored), violation.contains("has the term") { continue }
            violate(violation)
        }
        let samples = merged.samples(countsCopies: sabotage == .countsCopies)
        for (id, count) in samples.sorted(by: { $0.key < $1.key }) where count > 1 {
            violate("sample \(id) is there \(count) times")
        }
        for agent in agents {
            var missing = agent.camera.made.filter {
                samples[$0] == nil && !isLostWithItsBox($0, agent)
            }
            // An ended session is not reopened.
            if missing.count <= (try writtenOff(agent.name)) { missing = [] }
            if let first = missing.first, let last = missing.last {
                violate("\(missing.count) samples are missing, \(first) to \(last)")
            }
        }
        try checkCopies()
        checkZeros()
        if site != nil {
            try checkAttachments()
            for index in members.indices { try checkCatalog(of: index) }
        }
        var sessions: [String: Int] = [:]
        for member in members {
            for session in try member.layout.sessionNames() {
                sessions[session, default: 0] += 1
                let report = try SessionVerifier.verify(session, in: member.layout)
                for finding in report.allFindings where finding.severity.isDamage {
                    violate("verify: \(finding.path): \(finding.text)")
                }
                if report.state != "finished" {
                    violate("\(session) is \(report.state ?? "nothing")")
                }
            }
        }
        sharedSessions = sessions.values.count { $0 > 1 }
    }

    /// Where every record is to be at two collectors, nothing is missing without any one of the archives.
    private mutating func checkCopies() throws {
        guard policies.allSatisfy({ $0 == .mirrored }) else { return }
        for lost in members.map(\.name) {
            let rest = members.filter { $0.name != lost }
            let samples = try MergedRecords(
                Dictionary(uniqueKeysWithValues: rest.map { ($0.name, $0.layout) })
            ).samples(countsCopies: false)
            for agent in agents {
                let missing = agent.camera.made.filter {
                    samples[$0] == nil && !isLostWithItsBox($0, agent)
                }
                if missing.count <= (try writtenOff(agent.name)) { continue }
                if let first = missing.first, let last = missing.last {
                    violate(
                        "\(missing.count) samples are missing without \(lost), \(first) to \(last)")
                }
            }
        }
    }

    /// The collectors of one session agree on its zero, to within what they say.
    private mutating func checkZeros() {
        for (session, own) in zeros.sorted(by: { $0.key < $1.key }) {
            for (first, a) in own.sorted(by: { $0.key < $1.key }) {
                for (second, b) in own where first < second {
                    let shift = abs(a.zero - b.zero)
                    greatestShift = max(greatestShift, shift)
                    guard shift > a.error + b.error else { continue }
                    violate(
                        "\(session): the zeros of \(first) and \(second) are \(shift) ns apart, \(a.error) and "
                            + "\(b.error) are said")
                }
            }
        }
    }

    /// Whether the box lost power within seconds after making a sample, or was put back to a state before it.
    private func isLostWithItsBox(_ id: SimulatedCamera.SampleID, _ agent: SimulatedAgent) -> Bool {
        let recent: UInt32 = 60 * 5
        return agent.powerCuts.contains { id.number < $0 && id.number + recent >= $0 }
            || agent.takenBack.contains { $0.contains(id.number) }
    }

    private func writtenOff(_ source: String) throws -> Int {
        var count = 0
        for member in members {
            for session in try member.layout.sessionNames() {
                for entry in try Ledger.read(member.layout.ledger(session, source)).entries
                where entry.cause == "write failed" {
                    count += entry.sequences.reduce(0) { $0 + $1.count }
                }
            }
        }
        return count
    }
}
