import Media
import Messaging
import Spooling
import Testing
import Wire

@testable import AgentCore

/// An agent without a disk, and a collector that accepts everything once it is connected.
private struct DisklessAgent {
    static let limitBytes = 2 << 20
    static let pictureNanoseconds: Int64 = 33_333_333

    var delivery: Delivery<TestPayload>
    private(set) var logs: [LinkLog] = []
    private(set) var sent: [WireMessage] = []
    /// The tracks that the last Hello before each message of samples announced, with the changes since.
    private(set) var tracks: [[TrackFormat]] = []
    private var announced: [TrackFormat] = []
    private var now: Int64 = 1_000_000_000
    private var nextTime: Int64 = 0
    private var newestSent: UInt64 = 0
    /// The answer to a Hello.
    private var state: SourceState?
    private var owesWelcome = false

    init() {
        let settings = UplinkSettings(
            endpoint: "tcp://c:1", sourceName: "camera", agentName: "box", software: "agent",
            batch: .fixed(.milliseconds(100)), memoryLimitBytes: Self.limitBytes)
        delivery = Delivery(
            settings: settings, disk: nil, formats: BacklogSimulation.formats,
            epoch: .random(), makeIdentity: { .random() })
    }

    mutating func add(_ track: TrackKind = .video, isKeyframe: Bool = false, bytes: Int = 20_000) {
        let run = SampleRun(
            track: track, sizes: [UInt32(bytes)], dtsNanoseconds: [nextTime],
            ptsOffsetsNanoseconds: [], durationsNanoseconds: [Self.pictureNanoseconds],
            flags: [isKeyframe || track == .audio ? .keyframe : []])
        nextTime += Self.pictureNanoseconds
        let payload = [UInt8](repeating: 7, count: bytes)
        let batch = Batch(
            runs: [run], digest: [UInt8](repeating: 1, count: 32), payload: .init(payload))
        perform(delivery.add(batch, payload: TestPayload(payload), now: now))
        #expect(delivery.memoryBytes <= Self.limitBytes)
    }

    mutating func add(_ loss: Loss) {
        perform(delivery.add(loss, now: now))
        #expect(delivery.memoryBytes <= Self.limitBytes)
    }

    mutating func setFormat(_ format: TrackFormat) { perform(delivery.setFormat(format, now: now)) }

    mutating func sayGoodbye() { perform(delivery.sayGoodbye("end", now: now)) }

    mutating func connect(
        received: UInt64 = 0, persisted: UInt64 = 0, released: UInt64? = nil,
        credit: UInt64 = .max / 2
    ) {
        state = SourceState(
            source: 0, received: received, persisted: persisted, creditLimitBytes: credit,
            released: released)
        perform(delivery.connected(now: now))
    }

    mutating func disconnect() { perform(delivery.disconnected(now: now)) }

    mutating func acknowledge(_ persisted: UInt64, released: UInt64? = nil) {
        let state = SourceState(
            source: 0, received: max(persisted, newestSent), persisted: persisted,
            creditLimitBytes: .max / 2, released: released)
        receive(.acknowledgement(Acknowledgement(sources: [state], session: "")))
    }

    /// Accepts all records, and those that are sent in response.
    mutating func drain() {
        var before: UInt64 = .max
        while before != newestSent {
            before = newestSent
            acknowledge(newestSent)
        }
    }

    private mutating func receive(_ message: WireMessage) {
        perform(delivery.received(message.encoded(), now: now))
    }

    private mutating func perform(_ actions: [AgentAction<TestPayload>]) {
        now += 1_000_000
        for action in actions {
            switch action {
            case .send(let header, _):
                guard let message = try? WireMessage(decoding: header) else {
                    Issue.record("the agent sent what it would not read")
                    continue
                }
                follow(message)
            case .log(let line): logs.append(line)
            case .failed(let line): Issue.record("\(line)")
            case .reconnect, .finished, .command, .fetch: continue
            }
        }
        guard owesWelcome, let state else { return }
        owesWelcome = false
        receive(
            .welcome(
                Welcome(
                    software: "collector", session: "", heartbeatMilliseconds: 1_000,
                    sources: [state])))
    }

    private mutating func follow(_ message: WireMessage) {
        switch message {
        case .hello(let hello):
            announced = hello.sources[0].tracks
            owesWelcome = true
        case .samples(let samples):
            tracks.append(announced)
            newestSent = samples.lastSequence
            sent.append(message)
        case .gap(let gap):
            newestSent = gap.sequences.upperBound
            sent.append(message)
        case .trackUpdate(let update):
            announced = announced.replacing(update.format)
            newestSent = update.sequence
            sent.append(message)
        case .goodbye(let goodbye):
            newestSent = goodbye.sequence
            sent.append(message)
        default: return
        }
    }
}

@Suite struct MemoryLogTests {
    @Test(arguments: [85, 120, 200, 331])
    func `the oldest groups of pictures become one gap`(batches: Int) {
        var agent = DisklessAgent()
        for number in 0..<batches { agent.add(isKeyframe: number % 5 == 0) }
        agent.connect()
        agent.drain()
        guard case .gap(let gap)? = agent.sent.first else {
            Issue.record("\(agent.sent.prefix(1))")
            return
        }
        #expect(gap.cause == .spoolFull)
        let lost = gap.sequences.upperBound
        #expect(gap.sequences.lowerBound == 1 && lost % 5 == 0 && gap.samples == lost)
        #expect(gap.startNanoseconds == 0)
        #expect(gap.durationNanoseconds == Int64(lost) * DisklessAgent.pictureNanoseconds)
        // Three quarters of the memory hold 78 of them.
        #expect((batches - 78...batches - 70).contains(Int(lost)), "\(lost)")
        #expect(agent.sent.count == 1 + batches - Int(lost))
        #expect(agent.delivery.lostSamples == lost)
        #expect(agent.logs.count { $0.level == .error } == 1)
    }

    @Test(arguments: 60...90, [5, 7, 30])
    func `video after a gap begins decodably, also with audio in between`(
        batches: Int, group: Int
    ) {
        var agent = DisklessAgent()
        for number in 0..<batches {
            agent.add(
                number % 2 == 1 ? .audio : .video, isKeyframe: number % (2 * group) == 0,
                bytes: number % 2 == 1 ? 300 : 60_000)
        }
        agent.connect()
        agent.drain()
        var isDecodable = false
        for message in agent.sent {
            switch message {
            case .gap: isDecodable = false
            case .samples(let samples) where samples.runs[0].track == .video:
                isDecodable = isDecodable || samples.beginsDecodable
                #expect(isDecodable)
            default: continue
            }
        }
    }

    @Test func `records that a collector may have are not divided again`() {
        var agent = DisklessAgent()
        agent.connect()
        for number in 0..<10 { agent.add(isKeyframe: number % 5 == 0) }
        agent.disconnect()
        for number in 10..<200 { agent.add(isKeyframe: number % 5 == 0) }
        let before = agent.sent.count
        // It got eight of them, wrote five, and grants nothing yet: the rest must not be divided again.
        agent.connect(received: 8, persisted: 5, credit: 0)
        for number in 200..<400 { agent.add(isKeyframe: number % 5 == 0) }
        agent.acknowledge(5)
        let numbers = agent.sent[before...].prefix(3).map { message -> UInt64? in
            if case .samples(let samples) = message { samples.firstSequence } else { nil }
        }
        #expect(numbers == [6, 7, 8])
    }

    /// Formats are said at the beginning of each file, and a gap of dropped files says none.
    @Test func `records after a gap have the formats of their time`() {
        let before = BacklogSimulation.formats
        let sound = TrackFormat.audio(
            .aac(configuration: [0x12, 0x10], sampleRate: 44_100, channels: 2))
        var agent = DisklessAgent()
        for number in 0..<150 { agent.add(isKeyframe: number % 5 == 0) }
        agent.setFormat(sound)
        for number in 150..<170 { agent.add(isKeyframe: number % 5 == 0) }
        agent.connect()
        agent.drain()
        let after = before.replacing(sound)
        #expect(agent.tracks.count > 60)
        #expect(agent.tracks.dropLast(20).allSatisfy { $0 == before })
        #expect(agent.tracks.suffix(20).allSatisfy { $0 == after })
    }

    @Test func `the goodbye stays, and losses are counted in the gap`() {
        var agent = DisklessAgent()
        agent.add(isKeyframe: true)
        agent.add(
            Loss(
                track: .video, cause: .encoderOverload, startNanoseconds: 0,
                durationNanoseconds: 1, samples: 3, text: ""))
        for number in 1..<150 { agent.add(isKeyframe: number % 5 == 0) }
        agent.sayGoodbye()
        agent.connect()
        agent.drain()
        guard case .gap(let gap)? = agent.sent.first, case .goodbye? = agent.sent.last else {
            Issue.record("\(agent.sent.count) messages")
            return
        }
        // One sequence number is that of the loss, which counts three samples.
        #expect(gap.samples == gap.sequences.upperBound - 1 + 3)
        #expect(agent.delivery.lostSamples == gap.samples)
    }

    @Test func `small records are counted with their overhead`() {
        var agent = DisklessAgent()
        for _ in 0..<20_000 { agent.add(.audio, bytes: 10) }
        #expect(agent.delivery.lostSamples > 0)
        for number in 0..<20_000 {
            agent.add(
                Loss(
                    track: number % 2 == 0 ? .audio : nil, cause: .overrun, startNanoseconds: 0,
                    durationNanoseconds: 1, samples: 1, text: "late"))
        }
        agent.connect()
        agent.drain()
        #expect(agent.sent.count < 16_000)
    }

    @Test func `persisted records are dropped before any become a gap`() {
        var agent = DisklessAgent()
        agent.connect(released: 0)
        for number in 1...300 as ClosedRange<UInt64> {
            agent.add(isKeyframe: number % 5 == 1)
            agent.acknowledge(number, released: 0)
        }
        #expect(agent.delivery.lostSamples == 0)
        #expect(agent.sent.count == 300)
        #expect(agent.logs.count { $0.text.contains("too small") } == 1)
        #expect(agent.delivery.unreleasedRecords > 50)
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `through outages without a disk, dropped samples are counted`(seed: UInt64) throws {
        var simulation = try BacklogSimulation(seed: seed, trouble: [.outages, .noDisk])
        try simulation.run()
        #expect(simulation.arrived.values.allSatisfy { $0 == 1 }, "seed \(seed): once")
        let dropped = simulation.gaps.reduce(0) { $0 + $1.samples }
        #expect(simulation.arrived.count + Int(dropped) == simulation.made.count, "seed \(seed)")
        #expect(simulation.largestBytes < BacklogSimulation.limitBytes + 100_000, "seed \(seed)")
    }
}
