import Media
import Messaging
import Spooling
import Testing
import TestSpools
import Wire

@testable import AgentCore

private let second: Int64 = 1_000_000_000

/// An agent with two collectors, which usually want every record at both.
private struct MirroredAgent {
    /// A collector's records on disk.
    struct Archive: DurabilityLookup {
        var persisted: [SpoolID: UInt64] = [:]

        func released(source: String, spool: SpoolID, keptFrom: UInt64) -> UInt64? { nil }
        func archived(source: String, spool: SpoolID) -> ArchivedRecords {
            ArchivedRecords(persisted: persisted[spool] ?? 0)
        }
    }

    struct End {
        var link: CollectorLink
        var archive = Archive()
        var received: UInt64 = 0
        var waiting: [IncomingMessage] = []
        var peers: UInt8 = 0
        var isConnected = false
    }

    static let endpoints = ["tcp://a:1", "tcp://b:1"]

    var backlog: Delivery<TestPayload>
    var ends: [String: End] = [:]
    private(set) var logs: [String] = []
    /// Pauses before connections, milliseconds.
    private(set) var pauses: [String: [Int64]] = [:]
    private(set) var hellos: [String: [Hello]] = [:]
    /// The last one of each.
    private(set) var health: [String: SourceHealth] = [:]
    private(set) var isFinished = false
    private(set) var now = second
    private var made = 0

    init(
        disk: SimulatedDisk, endpoints: [String] = Self.endpoints, limitBytes: Int = 8 << 20,
        isMirrored: Bool = true, epoch: UInt8 = 1
    ) throws {
        for endpoint in endpoints {
            var settings = CollectorLinkSettings(software: "collector")
            settings.name = String(endpoint.dropFirst(6).prefix(1))
            settings.mirrored = isMirrored
            ends[endpoint] = End(link: CollectorLink(settings: settings))
        }
        var settings = UplinkSettings(
            endpoint: endpoints.joined(separator: ","), sourceName: "camera", agentName: "box",
            software: "agent", batch: .fixed(.milliseconds(100)), memoryLimitBytes: 16 << 20)
        settings.spool = SpoolSettings(path: "disk", limitBytes: limitBytes)
        backlog = Delivery(
            settings: settings, disk: try SpoolSet(storage: disk, limitBytes: limitBytes),
            formats: BacklogSimulation.formats,
            epoch: Self.epoch(epoch),
            makeIdentity: { .random() })
    }

    static func epoch(_ number: UInt8) -> EpochID {
        EpochID([UInt8](repeating: number, count: 16)) ?? .random()
    }

    var first: String { backlog.endpoint }
    /// Without a second collector, the other endpoint.
    var mirror: String {
        backlog.mirrorStatus?.collector ?? ends.keys.sorted().first { $0 != backlog.endpoint } ?? ""
    }

    mutating func connect() {
        open(first)
        perform(backlog.connected(now: now), to: first)
    }

    mutating func connectMirror() {
        open(mirror)
        perform(backlog.mirrorConnected(now: now), to: first)
    }

    /// The first collector says nothing any more, until the agent selects the other one.
    mutating func goElsewhere() {
        let former = first
        ends[former]?.isConnected = false
        for _ in 0..<600 where first == former { pass() }
    }

    /// Agents are sent away from a collector, or not any more.
    mutating func drain(_ endpoint: String, _ isDrained: Bool = true) {
        ends[endpoint]?.link.elsewhere = isDrained ? "drained" : nil
        guard isDrained, let archive = ends[endpoint]?.archive else { return }
        let now = now
        answer(
            ends[endpoint]?.link.sendElsewhere(because: "drained", now: now, durable: archive),
            endpoint)
    }

    /// Time passes for one source that is recorded by one collector.
    mutating func record(seconds: Int) {
        for _ in 0..<seconds * 10 {
            if ends[first]?.isConnected == false { connect() }
            capture()
            pass()
            persist(first)
        }
    }

    /// A collector is started again with an empty disk.
    mutating func replaceDisk(of endpoint: String) {
        var settings = CollectorLinkSettings(software: "collector")
        settings.name = Self.name(of: endpoint)
        settings.mirrored = true
        let peers = ends[endpoint]?.peers ?? 0
        ends[endpoint] = End(link: CollectorLink(settings: settings), peers: peers)
    }

    static func name(of endpoint: String) -> String { String(endpoint.dropFirst(6).prefix(1)) }

    /// Both collectors persist records of a second.
    mutating func recordAtBoth(sizeBytes: Int = 100) {
        for _ in 0..<10 {
            capture(sizeBytes: sizeBytes)
            pass()
            persist(first)
            persist(mirror)
        }
        for _ in 0..<30 { pass() }
    }

    mutating func loseMirror() {
        ends[mirror]?.isConnected = false
        perform(backlog.mirrorDisconnected(now: now), to: first)
    }

    private mutating func open(_ endpoint: String) {
        ends[endpoint]?.peers += 1
        ends[endpoint]?.isConnected = true
    }

    /// - Parameters:
    ///   - group: pictures from one keyframe to the next; nil: there is none.
    ///   - pictures: of each message.
    mutating func capture(
        _ count: Int = 1, sizeBytes: Int = 100, group: Int? = 1, pictures: Int = 1
    ) {
        for _ in 0..<count {
            let times = (0..<pictures).map { Int64(made + $0) * 100_000_000 }
            let run = SampleRun(
                track: .video, sizes: times.map { _ in UInt32(sizeBytes) }, dtsNanoseconds: times,
                ptsOffsetsNanoseconds: [], durationsNanoseconds: [100_000_000],
                flags: times.indices.map { index in
                    group.map { (made + index).isMultiple(of: $0) } ?? false ? .keyframe : []
                })
            let bytes = [UInt8](
                repeating: UInt8(truncatingIfNeeded: made), count: sizeBytes * pictures)
            let batch = Batch(
                runs: [run], digest: [UInt8](repeating: 0, count: 32), payload: .init(bytes))
            perform(backlog.add(batch, payload: TestPayload(bytes), now: now), to: first)
            made += pictures
        }
    }

    /// Has a collector answer `unknownConnection` to a source that is complete there.
    mutating func forget(at endpoint: String) {
        let refusal = WireMessage.refusal(
            Refusal(reason: .unknownConnection, text: "send Hello first")
        ).encoded()
        let isFirst = endpoint == first
        perform(
            isFirst
                ? backlog.received(refusal, now: now) : backlog.mirrorReceived(refusal, now: now),
            to: first)
    }

    mutating func end() { perform(backlog.sayGoodbye("end", now: now), to: first) }

    /// Time passes, and messages arrive.
    mutating func pass(_ duration: Int64 = second / 10) {
        now += duration
        for endpoint in ends.keys.sorted() {
            let arrived = ends[endpoint]?.waiting ?? []
            ends[endpoint]?.waiting = []
            for message in arrived {
                guard let archive = ends[endpoint]?.archive else { continue }
                let now = now
                let actions = ends[endpoint]?.link.received(message, now: now, durable: archive)
                answer(actions, endpoint)
            }
            guard let archive = ends[endpoint]?.archive else { continue }
            let now = now
            let actions = ends[endpoint]?.link.tick(now: now, durable: archive)
            answer(actions, endpoint)
        }
        perform(backlog.tick(now: now), to: first)
    }

    /// A collector's disk has everything that it has received, or all records through a number.
    mutating func persist(_ endpoint: String, through number: UInt64? = nil) {
        guard let spool = hellos[endpoint]?.last?.spool,
            let through = number ?? ends[endpoint]?.received
        else { return }
        ends[endpoint]?.archive.persisted[spool] = through
        ends[endpoint]?.link.becameDurable(source: "camera", spool: spool, through: through)
    }

    private mutating func perform(_ actions: [AgentAction<TestPayload>], to endpoint: String) {
        for action in actions { perform(action, to: endpoint) }
        for action in backlog.takeMirrorActions() { perform(action, to: mirror) }
    }

    private mutating func perform(_ action: AgentAction<TestPayload>, to endpoint: String) {
        switch action {
        case .send(let header, let payload):
            if case .hello(let hello)? = try? WireMessage(decoding: header) {
                hellos[endpoint, default: []].append(hello)
            }
            guard let end = ends[endpoint], end.isConnected else { return }
            ends[endpoint]?.waiting.append(
                IncomingMessage(
                    peer: PeerID([end.peers]), address: "box", header: header,
                    payloadSizeBytes: payload?.bytes.count))
        case .reconnect(let pause):
            ends[endpoint]?.isConnected = false
            pauses[endpoint, default: []].append(pause)
        case .finished: isFinished = true
        case .log(let line): logs.append(line.text)
        case .failed(let line): Issue.record("\(line)")
        case .command, .fetch: Issue.record("not asked for")
        }
    }

    private mutating func answer(_ actions: [CollectorAction]?, _ endpoint: String) {
        for action in actions ?? [] {
            switch action {
            case .send(_, let header):
                guard ends[endpoint]?.isConnected ?? false else { continue }
                if endpoint == first {
                    perform(backlog.received(header, now: now), to: first)
                } else {
                    perform(backlog.mirrorReceived(header, now: now), to: first)
                }
            case .samples(_, let samples):
                ends[endpoint]?.received = samples.lastSequence
                ends[endpoint]?.link.released(samples.amount, source: "camera")
            case .goodbye(_, let goodbye): ends[endpoint]?.received = goodbye.sequence
            case .gap(_, let gap): ends[endpoint]?.received = gap.sequences.upperBound
            case .log(let line): logs.append(line.text)
            case .health(_, let health): self.health[endpoint] = health
            default: continue
            }
        }
    }
}

/// Collectors that send agents away.
struct DrainedCollectorsTests {
    private func agent() throws -> MirroredAgent {
        var agent = try MirroredAgent(disk: SimulatedDisk(seed: 1), isMirrored: false)
        agent.connect()
        agent.record(seconds: 2)
        #expect(agent.backlog.isFlowing)
        return agent
    }

    @Test func `a source is recorded while all collectors are drained, at one of them`() throws {
        var agent = try agent()
        let present = agent.first
        let other = agent.mirror
        agent.drain(present)
        agent.record(seconds: 2)
        #expect(agent.first == other && agent.backlog.isFlowing)
        agent.drain(other)
        agent.record(seconds: 5)
        #expect(agent.backlog.isFlowing)
        // No alternating changes: each would raise the term.
        let term = agent.backlog.term
        let last = agent.first
        let returned = agent.ends[last]?.link.returnedSources
        #expect(returned == ["camera"])
        #expect(agent.ends[last]?.link.immovableSources == [])
        agent.record(seconds: 30)
        #expect(agent.backlog.term == term && agent.first == last && agent.backlog.isFlowing)
        // All are asked again after a minute, and none is different.
        agent.record(seconds: 60)
        #expect(agent.backlog.isFlowing && agent.backlog.term <= term + 4)
    }

    @Test func `a source leaves its last resort for a collector that is not drained any more`()
        throws
    {
        var agent = try agent()
        let (present, other) = (agent.first, agent.mirror)
        agent.drain(present)
        agent.drain(other)
        agent.record(seconds: 5)
        let last = agent.first
        let free = last == present ? other : present
        agent.drain(free, false)
        agent.record(seconds: 70)
        #expect(agent.first == free && agent.backlog.isFlowing)
        #expect(agent.ends[free]?.link.returnedSources == [])
        #expect(agent.hellos[free]?.last?.statement.hasOthers == true)
    }

    @Test func `a last resort that persists nothing is left`() throws {
        var agent = try agent()
        for endpoint in MirroredAgent.endpoints { agent.drain(endpoint) }
        agent.record(seconds: 5)
        let last = agent.first
        #expect(agent.ends[last]?.link.returnedSources == ["camera"])
        // Its disk is full: an agent without another collector is welcome, and sends what it may.
        for _ in 0..<200 where agent.first == last {
            agent.capture()
            agent.pass()
        }
        #expect(agent.first != last)
    }

    @Test func `addresses that are resolved later are separate collectors`() throws {
        var agent = try MirroredAgent(
            disk: SimulatedDisk(seed: 1), endpoints: ["tcp://name:1"], isMirrored: false)
        #expect(!agent.backlog.hasOtherCollectors)
        #expect(agent.backlog.learn(["tcp://name:1"], now: agent.now).isEmpty)
        let actions = agent.backlog.learn(MirroredAgent.endpoints, now: agent.now)
        #expect(
            actions.contains { if case .reconnect = $0 { true } else { false } } && !actions.isEmpty
        )
        #expect(agent.backlog.hasOtherCollectors)
        #expect(MirroredAgent.endpoints.contains(agent.backlog.endpoint))
        // They are known once.
        #expect(agent.backlog.learn(["tcp://c:1", "tcp://d:1"], now: agent.now).isEmpty)
    }
}

/// Records that two collectors have to have on disk (`--release mirrored`).
struct MirrorTests {
    private let disk = SimulatedDisk(seed: 1)

    /// An agent that both collectors are connected with.
    private func connected() throws -> MirroredAgent {
        var agent = try MirroredAgent(disk: disk)
        agent.connect()
        agent.pass()
        agent.pass()
        #expect(agent.backlog.isMirrored)
        // Where the first collector has no session, it is not waited for.
        #expect(agent.backlog.mirrorEndpoint(now: agent.now) == nil)
        for _ in 0..<60 { agent.pass() }
        #expect(agent.backlog.mirrorEndpoint(now: agent.now) == agent.mirror)
        agent.connectMirror()
        agent.pass()
        agent.pass()
        #expect(agent.backlog.isMirrorFlowing)
        return agent
    }

    @Test func `a record is kept until two collectors have persisted it`() throws {
        var agent = try connected()
        agent.capture(20)
        agent.pass()
        #expect(agent.ends[agent.first]?.received == 20)
        #expect(agent.ends[agent.mirror]?.received == 20)
        agent.end()
        agent.pass()
        agent.persist(agent.first)
        for _ in 0..<30 { agent.pass() }
        #expect(!agent.isFinished)
        #expect(!(try disk.names()).isEmpty)
        #expect(agent.backlog.mirrorStatus?.owed.last?.records == 21)
        agent.persist(agent.mirror)
        for _ in 0..<30 { agent.pass() }
        #expect(agent.isFinished)
        #expect(try disk.names() == [])
    }

    @Test func `the next collector begins with a whole group of pictures`() throws {
        var agent = try MirroredAgent(disk: disk, isMirrored: false)
        agent.connect()
        agent.pass()
        agent.capture(18, group: 10)
        agent.pass()
        let former = agent.first
        agent.persist(former)
        for _ in 0..<5 { agent.pass() }
        agent.goElsewhere()
        #expect(agent.first != former)
        agent.connect()
        agent.pass()
        let source = try #require(agent.hellos[agent.first]?.last?.sources.first)
        #expect(source.firstSequence == 11)
        #expect(source.held.map(\.sequences) == [1...10])
        agent.capture(2, group: 10)
        for _ in 0..<5 { agent.pass() }
        #expect(agent.ends[agent.first]?.received == 20)
        // At the end of a group, nothing is sent twice.
        agent.persist(agent.first)
        for _ in 0..<5 { agent.pass() }
        agent.goElsewhere()
        agent.connect()
        agent.pass()
        let back = try #require(agent.hellos[former]?.last?.sources.first)
        #expect(back.firstSequence == 11 || back.firstSequence == 21)
        agent.capture(group: 10)
        for _ in 0..<5 { agent.pass() }
        #expect(agent.ends[former]?.received == 21)
    }

    @Test func `the next collector begins with a whole message`() throws {
        var agent = try MirroredAgent(disk: disk, isMirrored: false)
        agent.connect()
        agent.pass()
        agent.capture(3, group: nil, pictures: 5)
        agent.pass()
        // A collector's disk may have a part of a message.
        agent.persist(agent.first, through: 8)
        for _ in 0..<5 { agent.pass() }
        agent.goElsewhere()
        agent.connect()
        for _ in 0..<5 { agent.pass() }
        let source = try #require(agent.hellos[agent.first]?.last?.sources.first)
        #expect(source.firstSequence == 6)
        #expect(source.held.map(\.sequences) == [1...5])
        #expect(agent.ends[agent.first]?.received == 15)
    }

    @Test func `exchanges with the second collector are of the present clock in each spool`()
        throws
    {
        var earlier = try MirroredAgent(disk: disk)
        earlier.capture(5)
        // The box boots again: a spool of each life, in which the present clock has another number.
        var agent = try MirroredAgent(disk: disk, epoch: 2)
        agent.capture(5)
        agent.connect()
        for _ in 0..<3 { agent.pass() }
        agent.persist(agent.first)
        for _ in 0..<30 { agent.pass() }
        agent.connect()
        for _ in 0..<60 { agent.pass() }
        let spools = Set((agent.hellos[agent.first] ?? []).map(\.spool))
        #expect(spools.count == 2)
        for number: UInt32 in [1, 2] {
            agent.backlog.addToMirror(
                ReportedExchange(t1: 1, t2: 2, t3: 3, t4: agent.now, epoch: number))
        }
        agent.connectMirror()
        let hello = try #require(agent.hellos[agent.mirror]?.last)
        #expect(hello.spool == agent.hellos[agent.first]?.first?.spool)
        #expect(hello.epochs.count == 2 && hello.clockExchanges.count == 2)
        for exchange in hello.clockExchanges {
            let epoch = hello.epochs.first { $0.number == exchange.epoch }
            #expect(epoch?.identity == MirroredAgent.epoch(2))
        }
    }

    @Test func `an acknowledgement of the second collector alone releases no record`() throws {
        var agent = try connected()
        agent.capture(5)
        agent.pass()
        agent.end()
        agent.pass()
        agent.persist(agent.mirror)
        for _ in 0..<30 { agent.pass() }
        #expect(!agent.isFinished)
        #expect(agent.backlog.mirrorStatus?.owed.first?.records == 6)
        agent.persist(agent.first)
        for _ in 0..<30 { agent.pass() }
        #expect(agent.isFinished)
    }

    @Test func `a second collector gets the records that it lacks after an absence`() throws {
        var agent = try connected()
        agent.capture(5)
        agent.pass()
        agent.persist(agent.first)
        agent.persist(agent.mirror)
        agent.pass()
        agent.loseMirror()
        for _ in 0..<200 {
            agent.capture(sizeBytes: 1_000)
            agent.pass()
            agent.persist(agent.first)
        }
        #expect(agent.ends[agent.mirror]?.received == 5)
        #expect(agent.logs.contains { $0.contains("records are at one collector only") })
        #expect(agent.logs.contains { $0.contains("the spool lasts for about") })
        agent.connectMirror()
        for _ in 0..<40 { agent.pass() }
        #expect(agent.ends[agent.mirror]?.received == 205)
        #expect(agent.hellos[agent.mirror]?.last?.sources[0].firstSequence ?? 0 <= 6)
    }

    @Test func `owed records are reported to both collectors while two are required`() throws {
        var agent = try connected()
        agent.capture(20)
        agent.pass()
        agent.persist(agent.first)
        for _ in 0..<30 { agent.pass() }
        for endpoint in MirroredAgent.endpoints {
            let owed = agent.health[endpoint]?.owed ?? []
            #expect(owed.map(\.records) == [0, 20], "\(endpoint)")
            #expect(Set(owed.map(\.collector)) == ["a", "b"], "\(endpoint)")
        }
        var settings = CollectorLinkSettings(software: "collector")
        settings.name = String(agent.first.dropFirst(6).prefix(1))
        agent.ends[agent.first]?.link = CollectorLink(settings: settings)
        agent.connect()
        for _ in 0..<30 { agent.pass() }
        #expect(!agent.backlog.isMirrored)
        #expect(agent.health[agent.first]?.owed == [])
        // The only collector may lack something, too.
        #expect(agent.backlog.owed.map(\.records) == [0])
    }

    @Test func `both connections state the same term, and the second one is marked`() throws {
        let agent = try connected()
        let (first, second) = (agent.hellos[agent.first]?.last, agent.hellos[agent.mirror]?.last)
        #expect(first?.statement.term == second?.statement.term)
        #expect(first?.statement.isMirror == false)
        #expect(second?.statement.isMirror == true)
        #expect(second?.statement.collectors == 2)
        // There is no third one to go to.
        #expect(second?.statement.hasOthers == false)
    }

    @Test func `a Hello to a collector with a new disk states the records of the other one`() throws
    {
        var agent = try connected()
        agent.recordAtBoth()
        let (former, replaced) = (agent.first, agent.mirror)
        agent.loseMirror()
        agent.replaceDisk(of: replaced)
        agent.connectMirror()
        agent.pass()
        var offer = try #require(agent.hellos[replaced]?.last?.sources.first)
        let last = offer.firstSequence - 1
        #expect(last == 10)
        #expect(
            offer.held == [HeldRange(collector: MirroredAgent.name(of: former), sequences: 1...10)])
        // Then the other disk: the first ten records are at no collector.
        agent.recordAtBoth()
        agent.replaceDisk(of: former)
        agent.connect()
        agent.pass()
        offer = try #require(agent.hellos[former]?.last?.sources.first)
        #expect(offer.firstSequence == 21)
        #expect(
            offer.held == [
                HeldRange(collector: MirroredAgent.name(of: replaced), sequences: 11...20)
            ])
    }

    @Test func `records at the other collector are remembered over a restart`() throws {
        var agent = try connected()
        agent.recordAtBoth(sizeBytes: 300_000)
        let replaced = agent.mirror
        agent.loseMirror()
        agent.replaceDisk(of: replaced)
        agent.connectMirror()
        agent.recordAtBoth(sizeBytes: 300_000)
        agent.capture()
        let former = agent.first
        var again = try MirroredAgent(disk: disk)
        again.replaceDisk(of: former)
        again.connect()
        again.pass()
        #expect(again.first == former && again.mirror == replaced)
        let offer = try #require(again.hellos[former]?.last?.sources.first)
        // The files of older records are deleted; the first ten records are at the former collector only.
        #expect(offer.firstSequence > 11)
        let held = 11...max(11, offer.firstSequence - 1)
        #expect(
            offer.held == [
                HeldRange(collector: MirroredAgent.name(of: replaced), sequences: held)
            ])
    }

    @Test func `one collector at two addresses counts once`() throws {
        var agent = try MirroredAgent(disk: disk, endpoints: ["tcp://a:1", "tcp://a2:1"])
        agent.connect()
        for _ in 0..<60 { agent.pass() }
        agent.capture(10)
        agent.pass()
        agent.persist(agent.first)
        agent.connectMirror()
        let spool = try #require(agent.hellos[agent.first]?.last?.spool)
        agent.ends[agent.mirror]?.archive.persisted[spool] = 10
        for _ in 0..<10 { agent.pass() }
        #expect(!agent.backlog.isMirrored)
        #expect(agent.logs.filter { $0.contains("lead to a;") }.count == 1)
        let term = agent.backlog.term
        // The next Hello says so, and the agent is not sent away.
        agent.connect()
        for _ in 0..<100 { agent.pass() }
        let hello = try #require(agent.hellos[agent.first]?.last)
        #expect(hello.statement.collectors == 1 && !hello.statement.hasOthers)
        #expect(!agent.backlog.isMirrored && agent.backlog.term == term)
        #expect(agent.logs.filter { $0.contains("lead to a;") }.count == 1)
    }

    @Test func `another address of the first collector is left for another collector`() throws {
        var agent = try MirroredAgent(
            disk: disk, endpoints: ["tcp://a:1", "tcp://a2:1", "tcp://b:1"])
        agent.connect()
        for _ in 0..<60 { agent.pass() }
        if agent.first == "tcp://b:1" {
            // The two addresses are then the second collector's.
            agent.connectMirror()
            for _ in 0..<10 { agent.pass() }
            #expect(agent.mirror.hasPrefix("tcp://a"))
            return
        }
        for _ in 0..<10 where agent.mirror != "tcp://b:1" {
            agent.connectMirror()
            for _ in 0..<10 { agent.pass() }
        }
        #expect(agent.mirror == "tcp://b:1")
        agent.connectMirror()
        for _ in 0..<30 { agent.pass() }
        #expect(agent.backlog.isMirrorFlowing)
        // The second address is no alternative while the collector is silent.
        agent.loseMirror()
        for _ in 0..<100 { agent.pass() }
        #expect(agent.mirror == "tcp://b:1")
    }

    @Test func `a connected collector that persists nothing is logged after ten seconds`() throws {
        var agent = try connected()
        agent.recordAtBoth()
        for _ in 0..<150 {
            agent.capture()
            agent.pass()
            agent.persist(agent.first)
        }
        let lines = agent.logs.filter { $0.contains("records are at one collector only") }
        #expect(lines.count == 1)
        let name = MirroredAgent.name(of: agent.mirror)
        #expect(
            lines.first?.contains("\(name) is connected, and puts nothing on its disk") ?? false)
    }

    @Test func `a collector that has returned has ten seconds to persist records`() {
        let second: Int64 = 1_000_000_000
        var watch = CopyWatch()
        watch.follow(isFlowing: false, owed: 0, persisted: 7, now: 0)
        watch.follow(isFlowing: false, owed: 100, persisted: 7, now: 12 * second)
        #expect(watch.lags(now: 12 * second))
        for now in [13, 18] as [Int64] {
            watch.follow(isFlowing: true, owed: 100, persisted: 7, now: now * second)
            #expect(!watch.lags(now: now * second))
        }
        watch.follow(isFlowing: true, owed: 100, persisted: 7, now: 23 * second)
        #expect(watch.lags(now: 23 * second))
        watch.follow(isFlowing: true, owed: 90, persisted: 17, now: 24 * second)
        #expect(!watch.lags(now: 40 * second))
    }

    @Test(arguments: [false, true])
    func `a collector that has everything is asked again every ten seconds only`(isMirror: Bool)
        throws
    {
        var agent = try connected()
        agent.recordAtBoth()
        agent.capture()
        agent.end()
        let complete = isMirror ? agent.mirror : agent.first
        for _ in 0..<5 {
            agent.pass()
            agent.persist(complete)
        }
        #expect(!agent.isFinished)
        agent.forget(at: complete)
        #expect(agent.pauses[complete]?.last == 10_000)
        // It is not away: the agent does not ask it.
        let before = agent.logs.count
        for _ in 0..<100 { agent.pass() }
        let absences = agent.logs.dropFirst(before).filter {
            $0.contains("no collector at \(complete)")
        }
        #expect(absences == [])
    }

    @Test func `an agent with one collector warns that records are at one only`() throws {
        var agent = try MirroredAgent(disk: disk, endpoints: ["tcp://a:1"])
        agent.connect()
        agent.pass()
        agent.pass()
        #expect(!agent.backlog.isMirrored)
        #expect(agent.logs.filter { $0.contains("give --collector two endpoints") }.count == 1)
        // And so does the collector.
        #expect(
            agent.logs.filter { $0.contains("--release mirrored does not hold for") }.count == 1)
    }

    @Test func `with several collectors, a restored box assigns no number twice`() throws {
        var agent = try MirroredAgent(disk: disk)
        agent.capture(10)
        let snapshot = disk.snapshot()
        agent.capture(10)
        agent.connect()
        agent.pass()
        agent.pass()
        let spool = agent.hellos[agent.first]?.last?.spool
        disk.restore(snapshot)
        // Records from after the snapshot are at one collector; the other one is asked now.
        var again = try MirroredAgent(disk: disk)
        again.capture(5)
        again.connect()
        for _ in 0..<10 { again.pass() }
        again.persist(again.first)
        for _ in 0..<30 { again.pass() }
        again.connect()
        again.pass()
        let hellos = again.hellos[again.first] ?? []
        #expect(hellos.first?.spool == spool)
        #expect(hellos.last?.spool != spool)
    }

    @Test func `a full spool drops records that one collector has before those that none has`()
        throws
    {
        var agent = try connected()
        agent.loseMirror()
        for _ in 0..<400 {
            agent.capture(sizeBytes: 40_000)
            agent.pass()
            agent.persist(agent.first)
        }
        #expect(agent.backlog.lostSamples == 0)
        #expect(agent.logs.contains { $0.contains("on one collector's disk alone are forgotten") })
        agent.connectMirror()
        agent.pass()
        let offer = agent.hellos[agent.mirror]?.last?.sources.first
        #expect(offer?.firstSequence ?? 0 > 100)
        #expect(offer?.held.map(\.collector) == [String(agent.first.dropFirst(6).prefix(1))])
    }
}
