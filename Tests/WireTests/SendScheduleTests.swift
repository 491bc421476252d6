import Media
import Testing

@testable import Wire

struct `Records without subscribers` {
    private let interval = Int64(WireLimits.gatherMilliseconds) * 1_000_000
    private static let session = "2026-11-20T22-40-00.000Z"

    private func welcome(
        minor: UInt32 = WireLimits.minor, session: String = session, watch: UInt32 = 0,
        persisted: UInt64 = 0
    ) -> WireMessage {
        .welcome(
            Welcome(
                minor: minor, software: "tributary-collector 1", session: session,
                heartbeatMilliseconds: 60_000,
                sources: [
                    SourceState(
                        source: 0, received: persisted, persisted: persisted,
                        creditLimitBytes: 8 << 20, watchMilliseconds: watch)
                ]))
    }

    private func acknowledgement(watch: UInt32, session: String = session) -> WireMessage {
        .acknowledgement(
            Acknowledgement(
                sources: [
                    SourceState(
                        source: 0, received: 0, persisted: 0, creditLimitBytes: 8 << 20,
                        watchMilliseconds: watch)
                ], session: session))
    }

    /// A connected agent that gathers records.
    private func agent(_ welcome: WireMessage) -> AgentHarness {
        var agent = AgentHarness(gathers: true)
        agent.connect()
        agent.receive(welcome)
        _ = agent.takeSent()
        return agent
    }

    @Test func `are sent together, within the interval`() throws {
        var agent = agent(welcome())
        let began = agent.now
        for _ in 0..<3 { agent.add() }
        #expect(agent.takeSequences() == [])
        let due = try #require(agent.link.sendDueNanoseconds)
        #expect(due > began && due <= began + interval)
        // Later records wait for the same time.
        agent.add()
        #expect(agent.link.sendDueNanoseconds == due)
        agent.now = due - 1
        agent.perform(agent.link.tick(now: agent.now))
        #expect(agent.takeSequences() == [])
        agent.now = due
        agent.perform(agent.link.tick(now: agent.now))
        #expect(agent.takeSequences() == [1...1, 2...2, 3...3, 4...4])
        #expect(agent.link.sendDueNanoseconds == nil)
    }

    @Test func `are sent earlier when they have many bytes`() {
        var agent = agent(welcome())
        agent.add(bytes: UInt32(WireLimits.messageBytes) - 1)
        #expect(agent.takeSequences() == [])
        agent.add(bytes: 1)
        #expect(agent.takeSequences() == [1...1, 2...2])
    }

    @Test func `are sent at once before a session, or to a collector without watching`() {
        for welcome in [welcome(session: ""), welcome(minor: WireLimits.watchMinor - 1)] {
            var agent = agent(welcome)
            agent.add()
            #expect(agent.takeSequences() == [1...1])
        }
        // The session after an ended one has its zero at the earliest sample received.
        var agent = agent(welcome())
        agent.add()
        #expect(agent.takeSequences() == [])
        agent.receive(acknowledgement(watch: 0, session: ""))
        #expect(agent.takeSequences() == [1...1])
        agent.add()
        #expect(agent.takeSequences() == [2...2])
    }

    @Test func `are sent at once from the first subscription to the end of the last`() {
        var agent = agent(welcome())
        agent.add()
        agent.add()
        #expect(agent.takeSequences() == [])
        agent.receive(acknowledgement(watch: 50))
        #expect(agent.takeSequences() == [1...1, 2...2])
        #expect(agent.link.watchNanoseconds(of: 0) == 50_000_000)
        agent.add()
        #expect(agent.takeSequences() == [3...3])
        agent.receive(acknowledgement(watch: 0))
        #expect(agent.link.watchNanoseconds(of: 0) == nil)
        agent.add()
        #expect(agent.takeSequences() == [])
    }

    @Test func `are sent at once until the connection ends, and again after its Welcome`() {
        var agent = agent(welcome(watch: 50))
        agent.add()
        #expect(agent.takeSequences() == [1...1])
        agent.perform(agent.link.disconnected(now: agent.now))
        #expect(agent.link.watchNanoseconds(of: 0) == nil)
        agent.connect()
        agent.receive(welcome(watch: 33, persisted: 1))
        #expect(agent.link.watchNanoseconds(of: 0) == 33_000_000)
        agent.add()
        #expect(agent.takeSequences() == [2...2])
        agent.perform(agent.link.disconnected(now: agent.now))
        agent.connect()
        agent.receive(welcome(persisted: 2))
        agent.add()
        #expect(agent.takeSequences() == [])
    }

    @Test(arguments: [(1, 1), (33, 33), (77, 77), (100, 100), (.max, 100)] as [(UInt32, Int64)])
    func `are sent at the subscribed interval, within the limits of agents`(
        wish: UInt32, taken: Int64
    ) {
        let agent = agent(welcome(watch: wish))
        #expect(agent.link.watchNanoseconds(of: 0) == taken * 1_000_000)
    }

    @Test func `are sent with the Welcome if they were kept during an outage`() {
        var agent = AgentHarness(gathers: true)
        for _ in 0..<4 { agent.add() }
        agent.connect()
        _ = agent.takeSent()
        agent.receive(welcome())
        #expect(agent.takeSequences() == [1...1, 2...2, 3...3, 4...4])
    }

    @Test func `other records than samples are sent at once, with those before them`() {
        var agent = agent(welcome())
        agent.add()
        agent.perform(
            agent.link.add(
                Loss(
                    track: nil, cause: .overrun, startNanoseconds: 0, durationNanoseconds: 5,
                    samples: 7, text: "late"), to: 0, now: agent.now))
        #expect(agent.takeSequences() == [1...1, 2...2])
        agent.add()
        agent.perform(agent.link.sayGoodbye("end", of: 0, now: agent.now))
        #expect(agent.takeSequences() == [3...3, 4...4])
    }

    @Test func `are sent at once by an agent without gathering`() {
        var agent = AgentHarness()
        agent.connect()
        agent.receive(welcome())
        _ = agent.takeSent()
        agent.add()
        #expect(agent.takeSequences() == [1...1])
    }
}

struct `Agents that know the collector's clock` {
    private let interval: Int64 = 500_000_000

    /// An exchange of an agent whose clock is behind the collector's by `offset`.
    private func exchange(_ offset: Int64, at now: Int64, roundTrip: Int64) -> ReportedExchange {
        ReportedExchange(
            t1: now, t2: now + offset + roundTrip / 2, t3: now + offset + roundTrip / 2,
            t4: now + roundTrip, epoch: 1)
    }

    @Test func `send at the same instants if their phase is the same`() {
        let spool: SpoolID = Fixtures.identity(3)
        var instants: Set<Int64> = []
        for offset in [0, 123_456_789, -86_400_000_000_000] as [Int64] {
            var clock = CollectorClock(of: spool)
            clock.add(exchange(offset, at: 7_000_000_000 - offset, roundTrip: 300_000))
            let now = 7_100_000_000 - offset
            let next = clock.nextInstant(after: now, every: interval)
            #expect(next > now && next <= now + interval)
            instants.insert(next + offset)
        }
        #expect(instants.count == 1)
        #expect(instants.allSatisfy { $0 % (interval / Int64(WireLimits.sendInstants)) == 0 })
    }

    @Test(
        arguments: [(0, 20), (1, 1), (2, 2), (5, 5), (20, 20), (21, 20), (.max, 20)]
            as [(UInt32, Int)])
    func `use the number of instants that the collector states`(said: UInt32, count: Int) {
        var instants: Set<Int64> = []
        for number in 0..<200 as Range<UInt64> {
            var random = SeededGenerator(seed: number)
            var clock = CollectorClock(of: SpoolID(high: random.next(), low: random.next()))
            clock.setInstants(said)
            instants.insert(clock.nextInstant(after: 0, every: interval) % interval)
        }
        #expect(instants == Set((0..<count).map { Int64($0) * interval / Int64(count) }))
    }

    @Test func `keep the chosen instant if the number of instants changes`() throws {
        var random = SeededGenerator(seed: 1)
        var clock = CollectorClock(of: SpoolID(high: random.next(), low: random.next()))
        var schedule = SendSchedule(newest: 0)
        schedule.setInterval(interval, newest: 0)
        schedule.add(through: 1, bytes: 1, mayWait: true, clock: clock, now: 1)
        let due = try #require(schedule.dueNanoseconds)
        #expect(due % interval != 0, "with one instant it would be another")
        clock.setInstants(1)
        schedule.add(through: 2, bytes: 1, mayWait: true, clock: clock, now: 2)
        #expect(schedule.dueNanoseconds == due)
        let isDue = schedule.tick(newest: 2, now: due)
        #expect(isDue)
        schedule.add(through: 3, bytes: 1, mayWait: true, clock: clock, now: due)
        #expect(schedule.dueNanoseconds.map { $0 % interval } == 0)
    }

    @Test func `use the number of instants of the last Ack`() throws {
        var agent = AgentHarness(gathers: true)
        agent.connect()
        let state = SourceState(
            source: 0, received: 0, persisted: 0, creditLimitBytes: 8 << 20, watchMilliseconds: 0)
        agent.receive(
            .welcome(
                Welcome(
                    minor: WireLimits.minor, software: "tributary-collector 1", session: "s",
                    heartbeatMilliseconds: 60_000, sources: [state])))
        for (said, count) in [(1, 1), (5, 5), (0, 20)] as [(UInt32, Int)] {
            agent.receive(
                .acknowledgement(
                    Acknowledgement(sources: [state], session: "s", sendInstants: said)))
            #expect(agent.link.collectorClock.instants == count)
        }
    }

    @Test func `are distributed over the instants of the interval`() {
        var counts: [Int64: Int] = [:]
        for number in 0..<200 as Range<UInt64> {
            var random = SeededGenerator(seed: number)
            let clock = CollectorClock(of: SpoolID(high: random.next(), low: random.next()))
            counts[clock.nextInstant(after: 0, every: interval), default: 0] += 1
        }
        #expect(counts.count == WireLimits.sendInstants)
        #expect(counts.values.allSatisfy { $0 < 30 })
    }

    @Test func `use the exchange with the shortest round trip of the last minute`() {
        var clock = CollectorClock(of: Fixtures.identity(1))
        let start: Int64 = 1_000_000_000_000
        clock.add(exchange(10_000_000, at: start, roundTrip: 200_000))
        let first = clock.nextInstant(after: start, every: interval)
        clock.add(exchange(90_000_000, at: start + 1, roundTrip: 160_000_000))
        #expect(clock.nextInstant(after: start, every: interval) == first)
        clock.add(exchange(12_000_000, at: start + 61_000_000_000, roundTrip: 300_000))
        #expect(clock.nextInstant(after: start, every: interval) == first - 2_000_000)
    }

    @Test(arguments: [Int64.min, -1, 0, 1, .max], [Int64.min, -1, 0, 1, .max])
    func `send within the interval at any clock of the collector`(t2: Int64, t3: Int64) {
        var clock = CollectorClock(of: Fixtures.identity(9))
        clock.add(ReportedExchange(t1: 5, t2: t2, t3: t3, t4: 9, epoch: 1))
        for now in [0, 1, 499_999_999, 86_400_000_000_000] as [Int64] {
            let next = clock.nextInstant(after: now, every: interval)
            #expect(next > now && next <= now + interval)
        }
    }
}

struct `A collector that states send instants` {
    /// The answer after these byte counts in successive seconds.
    private func count(_ seconds: [Int]) -> Int {
        var instants = SendInstants()
        instants.tick(now: 0)
        for (second, bytes) in seconds.enumerated() {
            instants.tick(now: Int64(second) * 1_000_000_000 + 500_000_000)
            instants.add(bytes: bytes)
            instants.tick(now: Int64(second + 1) * 1_000_000_000)
        }
        return instants.count
    }

    private func seconds(_ count: Int, bytes: Int) -> [Int] {
        Array(repeating: bytes, count: count)
    }

    @Test(arguments: [(0, 1), (1, 1), (2, 2), (3, 5), (5, 5), (6, 10), (11, 20), (400, 20)])
    func `states the fewest instants with less than a burst at each`(bursts: Int, expected: Int) {
        // Bytes of half a second.
        #expect(count(seconds(6, bytes: 2 * bursts * SendInstants.burstBytes)) == expected)
    }

    @Test func `states all instants until it has measured`() {
        #expect(SendInstants().count == WireLimits.sendInstants)
        #expect(count(seconds(4, bytes: 0)) == WireLimits.sendInstants)
        #expect(count(seconds(5, bytes: 0)) == 1)
    }

    @Test func `increases the instants at once, and decreases them after a while`() {
        let burst = 2 * SendInstants.burstBytes
        let calm = seconds(5, bytes: burst)
        #expect(count(calm + [4 * burst]) == 5)
        #expect(count(calm + [4 * burst] + seconds(4, bytes: burst)) == 5)
        #expect(count(calm + [4 * burst] + seconds(5, bytes: burst)) == 1)
    }

    @Test func `divides bytes by the time in which they came, also after a stall`() {
        var instants = SendInstants()
        instants.tick(now: 0)
        // A collector that stalled for ten seconds and then found ten seconds of bursts of four instants.
        instants.add(bytes: 20 * 4 * SendInstants.burstBytes)
        instants.tick(now: 10_000_000_000)
        for second in 11...14 { instants.tick(now: Int64(second) * 1_000_000_000) }
        #expect(instants.count == 5)
    }

    @Test(arguments: [90, 92, 100, 110] as [Int64])
    func `measures per half second, at any length of ticks`(tick: Int64) {
        var instants = SendInstants()
        var now: Int64 = 0
        // Processed with the first tick after 450 ms: nine tenths of five bursts in each half second.
        var processed: Int64 = 0
        while now < 30_000_000_000 {
            now += tick * 1_000_000
            if now - processed >= 450_000_000 {
                instants.add(
                    bytes: Int((now - processed) / 1_000_000) * 45 * SendInstants.burstBytes
                        / 10 / 500)
                processed = now
            }
            instants.tick(now: now)
            if now > 10_000_000_000 { #expect(instants.count == 5, "\(now)") }
        }
    }

    @Test func `states them in every Ack`() throws {
        var collector = CollectorHarness.greeted()
        for _ in 0..<70 {
            collector.tick(milliseconds: 100)
            collector.send(.heartbeat(Heartbeat()))
        }
        let counts = collector.takeSent().compactMap { message -> UInt32? in
            guard case .acknowledgement(let ack) = message else { return nil }
            return ack.sendInstants
        }
        #expect(counts.first == UInt32(WireLimits.sendInstants))
        #expect(counts.last == 1)
    }
}

struct `Several records in one message` {
    private let samples = WireMessage.samples(Fixtures.samples()).encoded()
    private let gap = WireMessage.gap(Fixtures.gap()).encoded()

    private func groups(
        _ messages: [(header: [UInt8], payloadBytes: Int?)], takesSeveral: Bool = true
    ) -> [Range<Int>] {
        RecordGroups.of(messages, takesSeveral: takesSeveral)
    }

    @Test func `are consecutive samples, in their order`() {
        #expect(groups([(samples, 10), (samples, 20), (samples, 30)]) == [0..<3])
        #expect(
            groups([(samples, 10), (gap, nil), (samples, 30), (samples, 1)])
                == [0..<1, 1..<2, 2..<4])
        #expect(groups([]) == [])
        // A snapshot has a payload too.
        #expect(groups([([0x8A, 0x02], 10), (samples, 1)]) == [0..<1, 1..<2])
    }

    @Test func `are not sent to a collector that does not support them`() {
        #expect(
            groups([(samples, 10), (samples, 20)], takesSeveral: false) == [0..<1, 1..<2])
    }

    @Test func `have a maximum of bytes and of records`() {
        let half = WireLimits.messageBytes / 2
        #expect(
            groups([(samples, half), (samples, half), (samples, 1)]) == [0..<2, 2..<3])
        // A larger one is sent alone.
        #expect(
            groups([(samples, 1), (samples, WireLimits.payloadBytes), (samples, 1)])
                == [0..<1, 1..<2, 2..<3])
        let many = Array(repeating: (header: samples, payloadBytes: 1 as Int?), count: 70)
        #expect(groups(many).map(\.count) == [32, 32, 6])
    }
}

struct `A collector with subscribers` {
    @Test func `states it with the next tick and in every Ack, and its end too`() {
        var collector = CollectorHarness.greeted()
        collector.link.setWatch { $0 == "camera1" ? 50 : 0 }
        #expect(collector.takeState() == nil)
        collector.tick()
        #expect(collector.takeState()?.watchMilliseconds == 50)
        collector.send(.heartbeat(Heartbeat()))
        collector.tick(milliseconds: 1_000)
        #expect(collector.takeState()?.watchMilliseconds == 50)
        collector.link.setWatch { _ in 0 }
        collector.tick()
        #expect(collector.takeState()?.watchMilliseconds == 0)
    }

    @Test func `states it in the Welcome, so that a reconnect changes nothing`() {
        var collector = CollectorHarness()
        collector.link.setWatch { _ in 33 }
        collector.send(.hello(Fixtures.hello()))
        #expect(collector.takeState()?.watchMilliseconds == 33)
    }

    @Test func `states nothing to agents without watched sources`() {
        var collector = CollectorHarness.greeted()
        collector.link.setWatch { $0 == "other" ? 50 : 0 }
        collector.tick()
        #expect(collector.takeSent().isEmpty)
    }
}
