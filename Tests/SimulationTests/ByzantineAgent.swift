import Archive
import Media
import TestSpools
import Wire

/// A hostile agent with a valid key. From a seed it sends messages in any order: values at the limits of their types,
/// formats that change with each record, the widest gaps, invalid names, times from 1600 to 2400, other agents' spools
/// and clocks, answers to commands never sent, and silence. It mostly keeps to its credit, because a collector closes
/// the connection otherwise.
struct ByzantineAgent {
    struct Message {
        var peer: PeerID
        var header: [UInt8]
        var payload: SimulatedPayload?
    }

    /// Its data about an honest agent.
    struct Victim {
        var spool: SpoolID
        var epoch: EpochID
    }

    private struct Source {
        var name = ""
        var next: UInt64 = 1
        var consumedBytes: UInt64 = 0
        var creditBytes: UInt64 = 0
        var timescale: Int64 = 0
    }

    private struct Connection {
        var sources: [Source] = []
        var epochs: UInt32 = 1
        var isWelcome = false
    }

    /// Its behaviour: most of the time, one of these.
    private enum Habit: CaseIterable {
        case anything, gaps, formats, jumps, crumbs, clocks, greetings, numbers
    }

    static let right = WritingRight(
        name: "evil", sources: SourcePattern("evil*").map { [$0] } ?? [])

    private var random: SeededGenerator
    private let habit: Habit
    private var connections: [PeerID: Connection] = [:]
    private var count: UInt16 = 0
    private var spools: [SpoolID] = []
    private var stamp: Int64 = 0
    /// Number of accepted greetings, by source.
    private(set) var visits: [String: Int64] = [:]

    init(seed: UInt64) {
        var random = SeededGenerator(seed: seed &* 0x5DEE_CE66 &+ 11)
        habit = Habit.allCases[Int(seed % UInt64(Habit.allCases.count))]
        spools = (0..<3).map { _ in SpoolID.random(using: &random) }
        self.random = random
    }

    func owns(_ peer: PeerID) -> Bool { peer.bytes.first == 0xEE }

    mutating func lostCollector() { connections = [:] }
    mutating func dismissed(_ peer: PeerID) { connections[peer] = nil }

    /// Learns credit and accepted sources from the collector's messages.
    mutating func received(_ header: [UInt8], over peer: PeerID) {
        guard let message = try? WireMessage(decoding: header) else { return }
        let states: [SourceState]
        switch message {
        case .welcome(let welcome):
            connections[peer]?.isWelcome = true
            for source in connections[peer]?.sources ?? [] { visits[source.name, default: 0] += 1 }
            states = welcome.sources
        case .acknowledgement(let acknowledgement): states = acknowledgement.sources
        default: return
        }
        for state in states where connections[peer]?.sources.indices.contains(state.source) == true
        {
            connections[peer]?.sources[state.source].creditBytes = state.creditLimitBytes
            guard case .welcome = message else { continue }
            connections[peer]?.sources[state.source].next = state.received + 1
            connections[peer]?.sources[state.source].consumedBytes = 0
        }
    }

    private mutating func chance(_ oneIn: Int) -> Bool {
        Int.random(in: 0..<oneIn, using: &random) == 0
    }

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: values.indices, using: &random)]
    }

    /// The messages of one step.
    /// - Parameter now: the collector's clock.
    mutating func messages(now: Int64, victims: [Victim]) -> [Message] {
        if chance(6) { return [] }
        var messages: [Message] = []
        for _ in 0..<Int.random(in: 1...(habit == .anything ? 12 : 40), using: &random) {
            messages += message(now: now, victims)
        }
        return messages
    }

    private mutating func message(now: Int64, _ victims: [Victim]) -> [Message] {
        let welcome = connections.filter(\.value.isWelcome).keys.sorted()
        guard let peer = welcome.isEmpty ? nil : pick(welcome),
            habit != .greetings || chance(60), !chance(60)
        else { return [hello(victims, now: now)] }
        switch habit {
        case .gaps where !chance(5): return gap(over: peer, now: now)
        case .formats where !chance(5):
            return chance(4) ? samples(over: peer, now: now, count: 1) : file(over: peer, now: now)
        case .jumps where !chance(5):
            stamp += pick([2_000_000_000, 4_000_000_000, -2_100_000_000, 86_400_000_000_000])
            return samples(over: peer, now: now, count: 1, stamp: stamp)
        case .crumbs where !chance(8):
            return samples(over: peer, now: now, count: Int.random(in: 100...2_000, using: &random))
        case .clocks where !chance(4): return [heartbeat(over: peer, now: now, victims)]
        case .numbers where !chance(4):
            return chance(2) ? gap(over: peer, now: now, wide: true) : [hello(victims, now: now)]
        default: break
        }
        switch Int.random(in: 0..<12, using: &random) {
        case 0...3: return samples(over: peer, now: now, count: pick([1, 1, 2, 9, 300]))
        case 4, 5: return gap(over: peer, now: now, wide: chance(3))
        case 6: return format(over: peer)
        case 7: return [heartbeat(over: peer, now: now, victims)]
        case 8: return chance(8) ? goodbye(over: peer) : []
        case 9: return [nonsense(over: peer)]
        case 10: return chance(20) ? [garbage(over: peer)] : []
        default: return [hello(victims, now: now)]
        }
    }

    // MARK: Greetings

    private mutating func hello(_ victims: [Victim], now: Int64) -> Message {
        let peer: PeerID
        // As an agent that keeps losing its connection.
        let isComingBack = habit == .greetings && !chance(60)
        if chance(4), !isComingBack,
            let known = connections.keys.min()
        {
            peer = known
        } else {
            count &+= 1
            peer = PeerID([0xEE, UInt8(count >> 8), UInt8(count & 255)])
        }
        var names = ["evil", "evil-1", "evil.2", "evil_3"]
        if chance(10) {
            names = [pick(["camera1", "session.json", "evil.json", "notes.json", "evil/../x", ""])]
        }
        if isComingBack {
            names = ["evil"]
        } else {
            names = Array(
                names.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)))
        }
        var epochs = [epoch(1, victims)]
        if chance(3) { epochs.append(epoch(2, victims)) }
        if epochs.count == 2, epochs[0].identity == epochs[1].identity { epochs.removeLast() }
        let victim = victims.isEmpty ? nil : pick(victims)
        let spool =
            habit == .greetings
            ? spools[0]
            : chance(3)
                ? victim?.spool ?? pick(spools) : chance(4) ? .random(using: &random) : pick(spools)
        let first: UInt64 = chance(6) ? pick([2, 1_000, WireLimits.sequence, 1 << 40]) : 1
        let offers = names.map {
            SourceOffer(name: $0, tracks: formats(), firstSequence: first)
        }
        connections[peer] = Connection(
            sources: names.map { Source(name: $0) }, epochs: UInt32(epochs.count))
        let exchanges = chance(2) ? [exchange(now: now, epoch: 1)] : []
        return Message(
            peer: peer,
            header: WireMessage.hello(
                Hello(
                    software: "evil", agent: pick(["evil", "camera1", "\u{202E}live"]),
                    spool: spool,
                    epochs: epochs, sources: offers, clockExchanges: exchanges)
            ).encoded())
    }

    private mutating func epoch(_ number: UInt32, _ victims: [Victim]) -> Epoch {
        let victim = victims.isEmpty ? nil : pick(victims)
        let identity =
            chance(2) ? victim?.epoch ?? .random(using: &random) : EpochID.random(using: &random)
        // From 1600 to 2400.
        let zero =
            chance(4)
            ? Int64.random(
                in: -WireLimits.timeNanoseconds...WireLimits.timeNanoseconds, using: &random) : nil
        return Epoch(number: number, identity: identity, zeroUTCNanoseconds: zero)
    }

    private mutating func formats() -> [TrackFormat] {
        var formats = SimulatedCamera.formats
        if chance(3) { formats.removeLast() }
        if chance(3), case .audio(var sound) = formats[formats.count - 1] {
            sound.sampleRate = pick([8_000, 44_100, 48_000, 1, WireLimits.sampleRate])
            // Rarely a configuration that its decoder would refuse.
            if !chance(20),
                let configuration = try? AudioSpecificConfig(
                    lowComplexityAt: sound.sampleRate, channels: 2)
            {
                sound.configuration = configuration.bytes()
            }
            formats[formats.count - 1] = .audio(sound)
        }
        return formats
    }

    // MARK: Records

    /// Numbers a record and spends credit for it; nil when it keeps to its credit and has none.
    private mutating func number(
        _ count: UInt64, costing bytes: Int, of source: Int, over peer: PeerID
    ) -> UInt64? {
        guard var own = connections[peer]?.sources[source] else { return nil }
        let cost = UInt64(bytes) + WireLimits.recordCostBytes
        guard own.consumedBytes + cost <= own.creditBytes || chance(300) else { return nil }
        let first = chance(200) ? pick([1, own.next + 5, WireLimits.sequence - 1]) : own.next
        own.next = min(WireLimits.sequence, first.clampedAdding(count))
        own.consumedBytes += cost
        connections[peer]?.sources[source] = own
        return first
    }

    private mutating func source(over peer: PeerID) -> Int {
        Int.random(in: 0..<(connections[peer]?.sources.count ?? 1), using: &random)
    }

    private mutating func time(_ now: Int64) -> Int64 {
        let limit = WireLimits.timeNanoseconds
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return limit
        case 1: return -limit
        case 2: return .random(in: -limit...limit, using: &random)
        case 3: return now - 86_400_000_000_000 * .random(in: 0...500, using: &random)
        default: return now + .random(in: -3_000_000_000...1_000_000_000, using: &random)
        }
    }

    private mutating func samples(
        over peer: PeerID, now: Int64, count: Int, stamp: Int64? = nil
    ) -> [Message] {
        let source = source(over: peer)
        var bytes: [UInt8] = []
        var runs: [SampleRun] = []
        for track in chance(3) ? [TrackKind.audio] : chance(3) ? [.video, .audio] : [.video] {
            let size = track == .video ? 5 : Int.random(in: 1...4, using: &random)
            let own = min(count, WireLimits.samplesPerBatch / 2)
            let start = stamp ?? time(now)
            let step: Int64 = pick([0, 1, 33_333_333, -1, 1_000_000_000, -2_000_000_000])
            let times = (0..<own).map { index in
                let (step, _) = step.multipliedReportingOverflow(by: Int64(index))
                return max(
                    -WireLimits.timeNanoseconds,
                    min(WireLimits.timeNanoseconds, start.clampedAdding(step)))
            }
            for _ in 0..<own {
                bytes += track == .video ? [0, 0, 0, 1, 0x41] : [UInt8](repeating: 7, count: size)
            }
            let first: SampleFlags = chance(3) ? [] : .keyframe
            var flags = [SampleFlags](repeating: track == .video ? [] : .keyframe, count: own)
            flags[0] = chance(9) ? [first, .priming] : first
            let longest = WireLimits.intervalNanoseconds
            let duration: Int64 = pick([0, 1, 33_333_333, 3_600_000_000_000, longest])
            let offset: Int64 = pick([0, 33_333_333, longest])
            runs.append(
                SampleRun(
                    track: track, sizes: [UInt32](repeating: UInt32(size), count: own),
                    dtsNanoseconds: times,
                    ptsOffsetsNanoseconds: chance(2)
                        ? [] : [Int64](repeating: offset, count: own),
                    durationsNanoseconds: [duration], flags: flags))
        }
        let total = runs.reduce(0) { $0 + $1.count }
        guard let first = number(UInt64(total), costing: bytes.count, of: source, over: peer) else {
            return []
        }
        let samples = Samples(
            source: source, firstSequence: first,
            epoch: UInt32.random(in: 1...(connections[peer]?.epochs ?? 1), using: &random),
            payloadDigest: Digest(of: bytes).bytes, runs: runs)
        return [
            Message(
                peer: peer, header: WireMessage.samples(samples).encoded(),
                payload: bytes.withUnsafeBytes { SimulatedPayload(copying: $0) })
        ]
    }

    private mutating func gap(over peer: PeerID, now: Int64, wide: Bool = false) -> [Message] {
        let source = source(over: peer)
        let count: UInt64 = wide ? pick([1 << 20, 1 << 60, 1 << 61]) : 1
        guard let first = number(count, costing: 0, of: source, over: peer) else { return [] }
        let last = min(WireLimits.sequence, first.clampedAdding(count - 1))
        guard first <= last else { return [] }
        let gap = GapRecord(
            source: source, sequences: first...last, track: chance(2) ? nil : .video,
            cause: pick(GapCause.allCases), epoch: 1, startNanoseconds: time(now),
            durationNanoseconds: pick([0, 1, WireLimits.gapNanoseconds]),
            samples: pick([0, 1, WireLimits.gapSamples]),
            text: String(repeating: "x", count: Int.random(in: 0...512, using: &random)))
        return [Message(peer: peer, header: WireMessage.gap(gap).encoded())]
    }

    private mutating func format(over peer: PeerID) -> [Message] {
        let source = source(over: peer)
        guard let first = number(1, costing: 0, of: source, over: peer) else { return [] }
        let update = TrackUpdate(source: source, sequence: first, format: pick(formats()))
        return [Message(peer: peer, header: WireMessage.trackUpdate(update).encoded())]
    }

    /// Sound at another rate and a keyframe: together they begin a file.
    private mutating func file(over peer: PeerID, now: Int64) -> [Message] {
        let source = source(over: peer)
        let rate: UInt32 = pick([8_000, 44_100, 48_000])
        guard let configuration = try? AudioSpecificConfig(lowComplexityAt: rate, channels: 2),
            let update = number(1, costing: 0, of: source, over: peer)
        else { return [] }
        let sound = AudioFormat.aac(
            configuration: configuration.bytes(), sampleRate: rate, channels: 2)
        let header = WireMessage.trackUpdate(
            TrackUpdate(source: source, sequence: update, format: .audio(sound)))
        let bytes: [UInt8] = [7, 7, 7, 7, 0, 0, 0, 1, 0x41]
        guard let first = number(2, costing: bytes.count, of: source, over: peer) else {
            return [Message(peer: peer, header: header.encoded())]
        }
        func run(_ track: TrackKind, sizeBytes: UInt32) -> SampleRun {
            SampleRun(
                track: track, sizes: [sizeBytes], dtsNanoseconds: [now], ptsOffsetsNanoseconds: [],
                durationsNanoseconds: [20_000_000], flags: [.keyframe])
        }
        let samples = Samples(
            source: source, firstSequence: first, epoch: 1,
            payloadDigest: Digest(of: bytes).bytes,
            runs: [run(.audio, sizeBytes: 4), run(.video, sizeBytes: 5)])
        return [
            Message(peer: peer, header: header.encoded()),
            Message(
                peer: peer, header: WireMessage.samples(samples).encoded(),
                payload: bytes.withUnsafeBytes { SimulatedPayload(copying: $0) }),
        ]
    }

    private mutating func goodbye(over peer: PeerID) -> [Message] {
        let source = source(over: peer)
        guard let first = number(1, costing: 0, of: source, over: peer) else { return [] }
        let goodbye = Goodbye(source: source, sequence: first, text: "no more of this")
        return [Message(peer: peer, header: WireMessage.goodbye(goodbye).encoded())]
    }

    // MARK: The rest

    private mutating func exchange(now: Int64, epoch: UInt32) -> ReportedExchange {
        let limit = WireLimits.timeNanoseconds
        if chance(3) {
            return ReportedExchange(
                t1: .random(in: -limit...limit, using: &random),
                t2: .random(in: -limit...limit, using: &random),
                t3: .random(in: -limit...limit, using: &random),
                t4: .random(in: -limit...limit, using: &random), epoch: epoch)
        }
        // A plausible exchange of a clock that is an hour off.
        let sent = now - .random(in: 0...50_000_000, using: &random)
        let away: Int64 = pick([0, 3_600_000_000_000, -86_400_000_000_000])
        return ReportedExchange(
            t1: sent + away, t2: sent + 100_000, t3: sent + 110_000, t4: sent + away + 210_000,
            epoch: epoch)
    }

    private mutating func heartbeat(
        over peer: PeerID, now: Int64, _ victims: [Victim]
    ) -> Message {
        let exchanges = (0..<Int.random(in: 0...64, using: &random)).map { _ in
            exchange(now: now, epoch: 1)
        }
        let health = SourceHealth(
            source: 0, keptBytes: pick([0, WireLimits.reportedCount]),
            newestSequence: pick([
                0, connections[peer]?.sources.first?.next ?? 0, WireLimits.sequence,
            ]),
            lostSamples: pick([0, WireLimits.reportedCount]))
        return Message(
            peer: peer,
            header: WireMessage.heartbeat(
                Heartbeat(clockExchanges: exchanges, health: chance(3) ? [health] : [])
            ).encoded())
    }

    private mutating func nonsense(over peer: PeerID) -> Message {
        let report = Report(
            id: .random(in: 0...9, using: &random), source: 0, reply: .keyframeRequested)
        let message: WireMessage = pick([
            .clockProbe(ClockProbe(t1: .min)), .ping, .unknown, .report(report),
            .acknowledgement(Acknowledgement(sources: [], session: "")),
        ])
        return Message(peer: peer, header: message.encoded())
    }

    private mutating func garbage(over peer: PeerID) -> Message {
        Message(
            peer: peer,
            header: (0..<Int.random(in: 0...200, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            })
    }
}
