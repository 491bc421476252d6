import Media
import Testing

@testable import Wire

/// One agent with two sources, one collector with a disk, and a network that breaks: all from one seed.
///
/// A connection delivers in order and loses its end when it breaks, as TCP does. A collector that crashes forgets what it
/// had not persisted.
struct LinkSimulation {
    /// The records of one source by number: the collector must have each, or a gap for it.
    private enum Made: Hashable {
        case sample(dts: Int64, format: [TrackFormat])
        case loss(samples: UInt64)
        case update
        case goodbye
    }

    /// The records of one source at the collector.
    private struct Taken {
        struct Record {
            var sequences: ClosedRange<UInt64>
            var action: CollectorAction
            var formats: [TrackFormat]
            var payloadBytes: Int
        }

        var records: [Record] = []
        var formats: [TrackFormat] = []
        var persisted: UInt64 = 0
        var unwritten: [MediaAmount] = []
    }

    private struct Connection {
        var peer: PeerID
        var toCollector: [IncomingMessage] = []
        var toAgent: [[UInt8]] = []
    }

    static let names = ["camera1", "camera2"]
    private static let bigPicture: UInt32 = 120_000

    private let seed: UInt64
    private let gathers: Bool
    /// How far in the future records were to be sent, at most.
    private(set) var longestWait: Int64 = 0
    private var random: SeededGenerator
    private var now: Int64 = 0
    private var agent: AgentLink<Int>
    private var collector: CollectorLink
    private var durable = DurableMap()
    private var disk = Disk()
    private var connection: Connection?
    private var reconnectAt: Int64? = 0
    private var peers: UInt8 = 0
    private var made: [[Made]] = [[], []]
    private var nextDTS: [Int64] = [0, 0]
    private var formats: [[TrackFormat]] = [
        [Fixtures.video, Fixtures.audio], [Fixtures.audio],
    ]
    private var saidGoodbye = false
    private(set) var isFinished = false
    private(set) var crashes = 0
    private(set) var breaks = 0

    /// One side is of an earlier minor version.
    struct Older {
        var minor: UInt32
        var isAgent: Bool
        var history: ProtocolHistory

        /// A message as the older side sends or understands it.
        func message(_ bytes: [UInt8]) throws -> [UInt8] {
            let left = try history.message(bytes, in: minor)
            switch try WireMessage(decoding: left) {
            case .hello(var hello) where isAgent:
                hello.minor = minor
                return WireMessage.hello(hello).encoded()
            case .welcome(var welcome) where !isAgent:
                welcome.minor = minor
                return WireMessage.welcome(welcome).encoded()
            default: return left
            }
        }
    }

    /// Nil: both are of the present version.
    var older: Older?

    private func passed(_ bytes: [UInt8]) -> [UInt8] {
        guard let older else { return bytes }
        do {
            return try older.message(bytes)
        } catch {
            Issue.record("seed \(seed): \(error)")
            return bytes
        }
    }

    /// State that outlives the collector.
    private struct Disk {
        var taken: [String: Taken] = [:]
    }

    /// - Parameter gathers: whether records of an unwatched source wait for others; viewers come and go.
    init(seed: UInt64, gathers: Bool = false) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        var settings = AgentLinkSettings(
            endpoint: "tcp://c:1", software: "agent", agent: "box", spool: Fixtures.identity(1),
            epochs: [Fixtures.epoch])
        settings.gathers = gathers
        self.gathers = gathers
        agent = AgentLink(settings: settings)
        for (index, name) in Self.names.enumerated() {
            _ = agent.addSource(name, formats: formats[index])
        }
        collector = Self.collector(gathers: gathers)
    }

    private static func collector(gathers: Bool) -> CollectorLink {
        // Before a session has begun nothing waits.
        CollectorLink(
            settings: CollectorLinkSettings(software: "collector"),
            session: gathers ? "2026-11-20T22-40-00.000Z" : "")
    }

    /// Some minutes of faults, then as much time without faults as necessary.
    mutating func run() {
        for _ in 0..<3_000 { step(inPeace: false) }
        saidGoodbye = true
        for index in Self.names.indices {
            made[index].append(.goodbye)
            perform(agent.sayGoodbye("end", of: index, now: now))
        }
        for _ in 0..<2_000 where !isFinished { step(inPeace: true) }
        check()
    }

    private mutating func chance(_ oneIn: Int) -> Bool {
        Int.random(in: 0..<oneIn, using: &random) == 0
    }

    private mutating func step(inPeace: Bool) {
        now += .random(in: 1...60_000_000, using: &random)
        if !inPeace {
            make()
            if chance(60) { breakConnection() }
            if chance(300) { crash() }
            if gathers, chance(40) {
                let wishes = ["camera1": UInt32.random(in: 0...200, using: &random), "camera2": 0]
                collector.setWatch { wishes[$0] ?? 0 }
            }
            if chance(150) { reconnectAt = now + .random(in: 0...4_000_000_000, using: &random) }
        }
        if connection == nil, let at = reconnectAt, now >= at { connect() }
        deliver(all: inPeace)
        useDisk()
        // Waiting records have an instant that is soon.
        if let due = agent.sendDueNanoseconds { longestWait = max(longestWait, due - now) }
        perform(agent.tick(now: now))
        perform(collector.tick(now: now, durable: durable))
    }

    // MARK: The sources

    private mutating func make() {
        let source = Int.random(in: 0...1, using: &random)
        switch Int.random(in: 0..<20, using: &random) {
        case 0:
            let lost = UInt64.random(in: 1...9, using: &random)
            made[source].append(.loss(samples: lost))
            perform(
                agent.add(
                    Loss(
                        track: nil, cause: .encoderOverload, startNanoseconds: nextDTS[source],
                        durationNanoseconds: 1, samples: lost, text: "slow"), to: source, now: now)
            )
        case 1:
            let format = chance(2) ? Fixtures.audio : Fixtures.otherAudio
            formats[source] = formats[source].filter { $0.kind == .video } + [format]
            made[source].append(.update)
            perform(agent.setFormat(format, of: source, now: now))
        default:
            makeBatch(of: source)
        }
    }

    private mutating func makeBatch(of source: Int) {
        var runs: [SampleRun] = []
        for kind in source == 0 ? [TrackKind.video, .audio] : [.audio] {
            let count = Int.random(in: 1...4, using: &random)
            let largest = kind == .video ? Self.bigPicture / 4 : 300
            let sizes = (0..<count).map { _ in UInt32.random(in: 1...largest, using: &random) }
            let run = Fixtures.run(kind, sizes: sizes, isKeyframe: chance(5), dts: nextDTS[source])
            nextDTS[source] = run.dtsNanoseconds[count - 1] + 1
            runs.append(run)
            made[source] += run.dtsNanoseconds.map { .sample(dts: $0, format: formats[source]) }
        }
        let size = runs.reduce(0) { $0 + $1.sizeBytes }
        perform(
            agent.add(
                runs: runs, digest: [UInt8](repeating: 0, count: 32), payload: size, to: source,
                now: now))
    }

    // MARK: The network

    private mutating func connect() {
        peers &+= 1
        connection = Connection(peer: PeerID([peers]))
        reconnectAt = nil
        perform(agent.connected(now: now))
    }

    private mutating func breakConnection() {
        guard connection != nil else { return }
        breaks += 1
        // Messages in flight may still arrive, up to some point.
        deliver(all: false)
        connection = nil
        perform(agent.disconnected(now: now))
    }

    private mutating func deliver(all: Bool) {
        let count = all ? 50 : Int.random(in: 0...6, using: &random)
        for _ in 0..<count {
            if let message = connection?.toCollector.first {
                connection?.toCollector.removeFirst()
                perform(collector.received(message, now: now, durable: durable))
            }
            if let header = connection?.toAgent.first {
                connection?.toAgent.removeFirst()
                perform(agent.received(header, now: now))
            }
        }
    }

    private mutating func perform(_ actions: [AgentAction<Int>]) {
        for action in actions {
            switch action {
            case .send(let header, let payload):
                guard let peer = connection?.peer else { continue }
                let header = passed(header)
                connection?.toCollector.append(
                    IncomingMessage(
                        peer: peer, address: "box", header: header, payloadSizeBytes: payload))
            case .fetch: preconditionFailure("no collector has less than it said")
            case .command: continue
            case .reconnect(let pause):
                connection = nil
                reconnectAt = now + pause * 1_000_000
            case .finished: isFinished = true
            case .failed(let line): Issue.record("seed \(seed): \(line)")
            case .log: continue
            }
        }
    }

    // MARK: The collector and its disk

    private mutating func perform(_ actions: [CollectorAction]) {
        for action in actions {
            switch action {
            case .send(let peer, let bytes):
                guard connection?.peer == peer else { continue }
                let header = passed(bytes)
                connection?.toAgent.append(header)
            case .dismissed(let peer):
                if connection?.peer == peer { connection?.toCollector.removeAll() }
            case .opened(let source):
                #expect(source.missing == nil, "seed \(seed)")
                disk.taken[source.name, default: Taken()].formats = source.tracks
            case .samples(let name, let samples):
                take(
                    action, of: name, samples.firstSequence...samples.lastSequence,
                    samples.amount)
                #expect(
                    (collector.sources[name]?.outstanding.sizeBytes ?? 0)
                        <= WireLimits.creditWindowBytes, "seed \(seed)")
            case .gap(let name, let gap): take(action, of: name, gap.sequences)
            case .goodbye(let name, let goodbye):
                take(action, of: name, goodbye.sequence...goodbye.sequence)
            case .trackUpdate(let name, let update):
                take(action, of: name, update.sequence...update.sequence)
                let others =
                    disk.taken[name]?.formats.filter { $0.kind != update.format.kind } ?? []
                disk.taken[name]?.formats = others + [update.format]
            case .log(let log):
                #expect(
                    !log.text.contains("refused") || log.text.contains("not known"), "seed \(seed)")
            case .clockExchanges, .health, .closed, .turnedAway, .report, .enrol: continue
            }
        }
    }

    private mutating func take(
        _ action: CollectorAction, of name: String, _ sequences: ClosedRange<UInt64>,
        _ amount: MediaAmount = MediaAmount()
    ) {
        var taken = disk.taken[name] ?? Taken()
        taken.records.append(
            Taken.Record(
                sequences: sequences, action: action, formats: taken.formats,
                payloadBytes: amount.sizeBytes))
        if amount.samples > 0 { taken.unwritten.append(amount) }
        disk.taken[name] = taken
    }

    private mutating func useDisk() {
        for name in Self.names {
            guard var taken = disk.taken[name], collector.sources[name] != nil else { continue }
            if chance(2) {
                for amount in taken.unwritten { collector.released(amount, source: name) }
                taken.unwritten.removeAll()
                if chance(3), let newest = taken.records.last?.sequences.upperBound {
                    taken.persisted = newest
                    durable.persist(name, Fixtures.identity(1), through: newest)
                    collector.becameDurable(
                        source: name, spool: Fixtures.identity(1), through: newest)
                }
            }
            disk.taken[name] = taken
        }
    }

    private mutating func crash() {
        crashes += 1
        for name in Self.names {
            guard var taken = disk.taken[name] else { continue }
            taken.records.removeAll { $0.sequences.lowerBound > taken.persisted }
            taken.unwritten.removeAll()
            disk.taken[name] = taken
        }
        collector = Self.collector(gathers: gathers)
        connection = nil
        perform(agent.disconnected(now: now))
    }

    // MARK: What must be true in the end

    private func check() {
        #expect(isFinished, "seed \(seed)")
        for (index, name) in Self.names.enumerated() {
            var next: UInt64 = 1
            for record in disk.taken[name]?.records ?? [] {
                #expect(record.sequences.lowerBound == next, "seed \(seed): exactly once, in order")
                next = record.sequences.upperBound + 1
                check(record, against: made[index])
            }
            #expect(
                next == UInt64(made[index].count) + 1, "seed \(seed): everything is accounted for")
        }
    }

    private func check(_ record: Taken.Record, against made: [Made]) {
        let first = Int(record.sequences.lowerBound) - 1
        let stands = made[first..<Int(record.sequences.upperBound)]
        switch record.action {
        case .samples(_, let samples):
            let times = samples.runs.flatMap(\.dtsNanoseconds)
            let formats = Set(record.formats)
            for (time, original) in zip(times, stands) {
                guard case .sample(let dts, let format) = original else {
                    Issue.record("seed \(seed): samples in the place of something else")
                    return
                }
                #expect(dts == time && Set(format) == formats, "seed \(seed)")
            }
        case .gap(_, let gap):
            var samples: UInt64 = 0
            for original in stands {
                switch original {
                case .sample: samples += 1
                case .loss(let lost): samples += lost
                case .update, .goodbye: Issue.record("seed \(seed): a gap over what must stay")
                }
            }
            #expect(gap.samples == samples, "seed \(seed): a gap says how much is gone")
        case .trackUpdate: #expect(stands.first == .update, "seed \(seed)")
        case .goodbye: #expect(stands.first == .goodbye, "seed \(seed)")
        case .send, .dismissed, .opened, .clockExchanges, .health, .closed, .turnedAway, .report,
            .enrol, .log:
            Issue.record("seed \(seed): not a record")
        }
    }
}

struct `A simulated connection with faults` {
    @Test(arguments: 0..<20 as Range<UInt64>)
    func `every sample arrives once and in order, or is accounted for`(seed: UInt64) {
        var simulation = LinkSimulation(seed: seed)
        simulation.run()
        // Trouble enough to mean something.
        #expect(simulation.breaks > 10 && simulation.crashes > 1, "seed \(seed)")
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `the same with gathered records and changing subscriptions`(seed: UInt64) {
        var simulation = LinkSimulation(seed: seed, gathers: true)
        simulation.run()
        #expect(simulation.breaks > 10 && simulation.crashes > 1, "seed \(seed)")
        let most = Int64(WireLimits.gatherMilliseconds) * 1_000_000
        #expect(simulation.longestWait > 0 && simulation.longestWait <= most, "seed \(seed)")
    }
}
