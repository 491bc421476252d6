import Media
import Testing

@testable import Wire

struct `An agent` {
    @Test func `sends Hello first, and its kept records after the Welcome`() throws {
        var agent = AgentHarness()
        agent.add(isKeyframe: true)
        agent.connect()
        guard case .hello(let hello)? = agent.takeSent().first else {
            Issue.record("no Hello")
            return
        }
        #expect(hello.spool == Fixtures.identity(1))
        #expect(hello.sources.map(\.firstSequence) == [1])
        agent.add()
        #expect(agent.takeSent() == [])
        agent.welcome()
        #expect(agent.takeSequences() == [1...1, 2...2])
    }

    @Test func `numbers every record of a source without a hole`() {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome()
        agent.add(isKeyframe: true)
        agent.perform(
            agent.link.add(
                Loss(
                    track: nil, cause: .overrun, startNanoseconds: 0, durationNanoseconds: 5,
                    samples: 7, text: "late"), to: 0, now: agent.now))
        agent.perform(agent.link.setFormat(Fixtures.otherAudio, of: 0, now: agent.now))
        agent.add(.audio)
        agent.perform(agent.link.sayGoodbye("stopped", of: 0, now: agent.now))
        #expect(agent.takeSequences() == [1...1, 2...2, 3...3, 4...4, 5...5])
        #expect(agent.link.lostSamples == 7)
    }

    @Test func `never has more bytes in flight than its credit`() {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome(credit: 3 * 1_256)
        for _ in 0..<10 { agent.add(isKeyframe: true) }
        #expect(agent.takeSequences() == [1...1, 2...2, 3...3])
        agent.acknowledge(received: 3, persisted: 0, credit: 5 * 1_256 + 1_255)
        #expect(agent.takeSequences() == [4...4, 5...5])
        // Credit does not shrink.
        agent.acknowledge(received: 5, persisted: 0, credit: 0)
        agent.acknowledge(received: 5, persisted: 0, credit: 6 * 1_256)
        #expect(agent.takeSequences() == [6...6])
    }

    @Test func `keeps everything until it is persisted`() {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome()
        for _ in 0..<4 { agent.add(isKeyframe: true) }
        agent.acknowledge(received: 4, persisted: 0)
        #expect(agent.link.keptSamples == 4)
        agent.acknowledge(received: 4, persisted: 3)
        #expect(agent.link.keptSamples == 1)
        #expect(agent.link.keptBytes == 1_000)
    }

    @Test func `resumes after the persisted record with unchanged bytes`() {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome()
        for _ in 0..<4 { agent.add(isKeyframe: true) }
        let before = agent.takeSent()
        agent.perform(agent.link.disconnected(now: agent.now))
        #expect(agent.pauses.count == 1)
        agent.connect()
        agent.sent.removeAll()
        agent.welcome(received: 3, persisted: 2)
        #expect(agent.takeSent() == Array(before.suffix(2)))
    }

    @Test func `discards unreported exchanges when the connection ends`() {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome()
        agent.link.add(Fixtures.exchange())
        agent.perform(agent.link.disconnected(now: agent.now))
        agent.sent.removeAll()
        agent.connect()
        guard case .hello(let hello)? = agent.takeSent().first else {
            Issue.record("no Hello")
            return
        }
        #expect(hello.clockExchanges == [])
    }

    @Test func `announces the formats of the oldest record that it keeps`() {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome()
        agent.add(isKeyframe: true)
        agent.perform(agent.link.setFormat(Fixtures.otherAudio, of: 0, now: agent.now))
        agent.add(.audio)
        agent.acknowledge(received: 3, persisted: 1)
        agent.sent.removeAll()
        agent.connect()
        guard case .hello(let before)? = agent.takeSent().first else { return }
        #expect(before.sources[0].tracks.contains(Fixtures.audio))
        #expect(before.sources[0].firstSequence == 2)
        agent.welcome(received: 3, persisted: 2)
        agent.sent.removeAll()
        agent.connect()
        guard case .hello(let after)? = agent.takeSent().first else { return }
        #expect(after.sources[0].tracks == [Fixtures.video, Fixtures.otherAudio])
        #expect(after.sources[0].firstSequence == 3)
    }

    @Test func `is finished when its goodbye is persisted`() {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome()
        agent.add(isKeyframe: true)
        agent.perform(agent.link.sayGoodbye("end of file", of: 0, now: agent.now))
        agent.acknowledge(received: 2, persisted: 1)
        #expect(!agent.isFinished)
        agent.acknowledge(received: 2, persisted: 2)
        #expect(agent.isFinished)
    }

    @Test func `is finished by a Welcome if the last Ack was lost`() {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome()
        agent.perform(agent.link.sayGoodbye("", of: 0, now: agent.now))
        agent.perform(agent.link.disconnected(now: agent.now))
        agent.connect()
        agent.welcome(received: 1, persisted: 1)
        #expect(agent.isFinished)
    }

    @Test func `sends a heartbeat every interval, with its measurements`() {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome()
        agent.add(isKeyframe: true)
        agent.sent.removeAll()
        agent.link.add(Fixtures.exchange())
        agent.tick(milliseconds: 1_000)
        guard case .heartbeat(let heartbeat)? = agent.takeSent().first else {
            Issue.record("no Heartbeat")
            return
        }
        #expect(heartbeat.clockExchanges == [Fixtures.exchange()])
        #expect(heartbeat.health.map(\.newestSequence) == [1])
        #expect(heartbeat.health.map(\.keptBytes) == [1_000])
        agent.tick(milliseconds: 500)
        #expect(agent.takeSent() == [])
        agent.receive(.ping)
        #expect(agent.takeSent().count == 1)
    }

    @Test func `sends its measurements with records that are sent anyway`() {
        var agent = AgentHarness(gathers: true)
        agent.connect()
        agent.receive(
            .welcome(
                Welcome(
                    software: "tributary-collector 1", session: "2026-11-20T22-40-00.000Z",
                    heartbeatMilliseconds: 1_000,
                    sources: [
                        SourceState(
                            source: 0, received: 0, persisted: 0, creditLimitBytes: 8 << 20)
                    ])))
        func sendTogether() -> [WireMessage] {
            agent.add(isKeyframe: true)
            agent.now = agent.link.sendDueNanoseconds ?? agent.now
            agent.perform(agent.link.tick(now: agent.now))
            return agent.takeSent()
        }
        _ = sendTogether()
        // Without a measurement, records say enough.
        #expect(sendTogether().map(\.name) == ["Samples"])
        agent.link.add(Fixtures.exchange())
        #expect(sendTogether().map(\.name) == ["Samples", "Heartbeat"])
        // It was logged.
        #expect(sendTogether().map(\.name) == ["Samples"])
    }

    @Test func `reports a stopped capture at once and in every heartbeat`() {
        func stopped(_ agent: inout AgentHarness) -> [Bool] {
            agent.takeSent().flatMap { message in
                if case .heartbeat(let heartbeat) = message {
                    return heartbeat.health.map(\.isStopped)
                }
                return []
            }
        }
        var agent = AgentHarness()
        agent.connect()
        agent.welcome()
        agent.sent.removeAll()
        agent.perform(agent.link.setStopped(true, of: 0, now: agent.now))
        #expect(stopped(&agent) == [true])
        agent.perform(agent.link.setStopped(true, of: 0, now: agent.now))
        #expect(stopped(&agent) == [])
        agent.tick(milliseconds: 1_000)
        #expect(stopped(&agent) == [true])
        agent.perform(agent.link.setStopped(false, of: 0, now: agent.now))
        #expect(stopped(&agent) == [false])
    }

    @Test func `reports a capture's trouble at once and in every heartbeat until it ends`() {
        func troubles(_ agent: inout AgentHarness) -> [String] {
            agent.takeSent().flatMap { message in
                if case .heartbeat(let heartbeat) = message {
                    return heartbeat.health.map(\.trouble)
                }
                return []
            }
        }
        var agent = AgentHarness()
        // It is known before the agent is connected.
        agent.perform(agent.link.setTrouble("no video: unplugged", of: 0, now: agent.now))
        agent.connect()
        agent.welcome()
        agent.sent.removeAll()
        agent.tick(milliseconds: 1_000)
        #expect(troubles(&agent) == ["no video: unplugged"])
        agent.perform(agent.link.setTrouble("no video: unplugged", of: 0, now: agent.now))
        #expect(troubles(&agent) == [])
        // A long text is shortened to the limit of the protocol.
        let long = "no video: " + String(repeating: "ä", count: WireLimits.textBytes)
        agent.perform(agent.link.setTrouble(long, of: 0, now: agent.now))
        let sent = troubles(&agent)
        #expect(sent.count == 1 && sent[0].utf8.count <= WireLimits.textBytes)
        #expect(sent[0].hasPrefix("no video: ä"))
        agent.perform(agent.link.setTrouble(nil, of: 0, now: agent.now))
        #expect(troubles(&agent) == [""])
    }

    @Test func `does not report an absent collector if another agent has the source`() {
        var agent = AgentHarness()
        for _ in 0..<3 {
            agent.connect()
            agent.receive(
                .refusal(Refusal(reason: .sourceInUse, text: "the source camera1 is sent by box8")))
            agent.tick(milliseconds: 1_500)
        }
        #expect(agent.logs.allSatisfy { !$0.text.contains("no collector") }, "\(agent.logs)")
        #expect(agent.logs.contains { $0.text.contains("is sent by box8") })
    }

    @Test func `reports a collector that connects and does not answer as such`() {
        var agent = AgentHarness()
        agent.connect()
        agent.tick(milliseconds: 10_500)
        agent.tick(milliseconds: 2_000)
        #expect(
            agent.logs.last?.text.hasPrefix("the collector at tcp://collector:5550 does not answer")
                == true, "\(agent.logs)")
    }

    @Test func `logs the known reason of the collector's absence`() {
        var agent = AgentHarness()
        agent.perform(agent.link.disconnected(now: agent.now))
        agent.link.setAbsence("the host name 'collector' cannot be resolved (unknown)")
        agent.tick(milliseconds: 1_500)
        #expect(
            agent.logs.last?.text.hasPrefix(
                "the host name 'collector' cannot be resolved (unknown) for 1 s; keeping") == true,
            "\(agent.logs)")
        #expect(agent.logs.last?.text.contains("in memory (0 B of at most 1 MB)") == true)
    }

    /// Cause: after a failure of the disk, the link to its records reported those in memory as its own.
    @Test func `tells records on disk from those in memory`() {
        func text(_ disk: Int, _ memory: Int) -> String {
            "\(KeptAmounts(diskBytes: disk, memoryBytes: memory, memoryLimitBytes: 1_000_000))"
        }
        #expect(text(5_000, 0) == "on disk (5 kB)")
        #expect(text(0, 2_000) == "in memory (2 kB of at most 1 MB)")
        #expect(text(5_000, 2_000) == "on disk (5 kB) and in memory (2 kB of at most 1 MB)")
        var agent = AgentHarness()
        agent.perform(agent.link.disconnected(now: agent.now))
        agent.link.setKept(
            KeptAmounts(diskBytes: 5_000, memoryBytes: 2_000, memoryLimitBytes: 1_000_000))
        agent.tick(milliseconds: 1_500)
        #expect(agent.logs.last?.text.contains("samples \(text(5_000, 2_000)) and") == true)
    }

    @Test func `reports the audio levels once`() {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome()
        let sound = AudioHealth(
            levels: [.init(peakMillibels: -600, rmsMillibels: -903)], skewPPB: 312_000)
        agent.link.setAudio(sound, of: 0)
        var told: [AudioHealth?] = []
        for _ in 0..<2 {
            agent.sent.removeAll()
            agent.tick(milliseconds: 1_000)
            guard case .heartbeat(let heartbeat)? = agent.takeSent().first else { continue }
            told += heartbeat.health.map(\.sound)
        }
        #expect(told == [sound, nil])
    }

    @Test func `looks for another connection when the collector is silent`() {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome()
        for _ in 0..<5 { agent.tick(milliseconds: 1_000) }
        #expect(agent.pauses.isEmpty)
        agent.tick(milliseconds: 100)
        #expect(agent.pauses.count == 1)
        #expect(!agent.link.isFlowing)
        #expect(agent.logs.last?.text.contains("tcp://collector:5550") == true)
    }

    @Test func `mentions an absent collector at growing intervals`() {
        var agent = AgentHarness()
        for _ in 0..<36_000 { agent.tick(milliseconds: 100) }
        #expect((4...10).contains(agent.logs.count), "\(agent.logs.count) lines in an hour")
        #expect(agent.logs.allSatisfy { $0.text.contains("tcp://collector:5550") })
    }

    @Test func `a replay keeps nothing, and does not say so`() {
        var agent = AgentHarness(forgetsAtPersisted: true)
        agent.connect()
        agent.welcome()
        agent.perform(agent.link.disconnected(now: agent.now))
        for _ in 0..<600 { agent.tick(milliseconds: 100) }
        #expect(agent.logs.count > 1)
        #expect(agent.logs.allSatisfy { !$0.text.contains("keeping samples") })
        #expect(agent.logs.last?.text.hasSuffix("; trying again until it answers") == true)
    }

    @Test(arguments: RefusalReason.allCases)
    func `treats each refusal as final or temporary by its reason`(reason: RefusalReason) {
        var agent = AgentHarness()
        agent.connect()
        agent.receive(.refusal(Refusal(reason: reason, text: "box8 sends it")))
        switch reason {
        case .unknownConnection, .stopping, .sourceInUse, .term, .elsewhere:
            #expect(agent.failure == nil)
            #expect(agent.pauses.count == 1)
        case .unauthorized:
            #expect(agent.failure == nil)
            #expect(agent.pauses.count == 1)
            #expect(agent.logs.last?.text.contains("box8 sends it; keeping samples") == true)
        case .malformed, .version, .name, .limit, .sequence, .enrolment, .other:
            #expect(agent.failure?.contains("box8 sends it") == true)
        }
    }

    @Test func `gives up a source only after repeated refusals`() {
        // The holder may be an earlier life of this box, of which a last message was still on its way.
        var agent = AgentHarness()
        for _ in 0..<3 {
            agent.connect()
            agent.receive(.refusal(Refusal(reason: .sourceInUse, text: "box8 sends it")))
            #expect(agent.failure == nil)
        }
        agent.connect()
        agent.receive(.refusal(Refusal(reason: .sourceInUse, text: "box8 sends it")))
        #expect(agent.failure?.contains("box8 sends it") == true)
    }

    @Test func `that is not admitted keeps the collector's reason until it is admitted`() {
        var agent = AgentHarness()
        #expect(agent.link.shutOut == nil)
        agent.connect()
        agent.welcome()
        agent.receive(
            .refusal(Refusal(reason: .unauthorized, text: "the key stage is revoked: ask Ada")))
        let told = agent.logs.count
        #expect(agent.link.shutOut?.hasSuffix("the key stage is revoked: ask Ada") == true)
        // From then on its handshake fails, which tells less.
        for _ in 0..<3 {
            agent.now += Fixtures.second
            agent.perform(agent.link.notAdmitted("the key is unknown", now: agent.now))
        }
        #expect(agent.logs.count == told)
        #expect(agent.link.shutOut?.hasSuffix("the key stage is revoked: ask Ada") == true)
        agent.connect()
        agent.welcome()
        #expect(agent.link.shutOut == nil)
        agent.perform(agent.link.notAdmitted("the key is unknown", now: agent.now))
        #expect(agent.link.shutOut == "the key is unknown")
    }

    @Test func `logs a refused key once, then at growing intervals, and continues`() {
        var agent = AgentHarness()
        for _ in 0..<36_000 {
            agent.now += 100_000_000
            agent.perform(agent.link.notAdmitted("no entry: ask Ada", now: agent.now))
            agent.tick(milliseconds: 0)
        }
        #expect((4...10).contains(agent.logs.count), "\(agent.logs.count) lines in an hour")
        #expect(agent.logs.allSatisfy { $0.text.hasPrefix("no entry: ask Ada") })
        #expect(agent.pauses.suffix(100).allSatisfy { $0 == 3_000 })
        agent.connect()
        agent.welcome()
        #expect(agent.link.isFlowing)
        agent.perform(agent.link.disconnected(now: agent.now))
        for _ in 0..<200 { agent.tick(milliseconds: 100) }
        #expect(agent.logs.last?.text.contains("no collector at") == true)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `does not trap at any messages of a collector`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var agent = AgentHarness()
        for _ in 0..<2_000 {
            let numbers = (0..<3).map { _ in UInt64.random(in: 0...40, using: &random) }
            switch Int.random(in: 0..<8, using: &random) {
            case 0: agent.connect()
            case 1: agent.perform(agent.link.disconnected(now: agent.now))
            case 2:
                agent.welcome(
                    received: max(numbers[0], numbers[1]), persisted: min(numbers[0], numbers[1]),
                    credit: numbers[2] * 1_000)
            case 3:
                agent.acknowledge(
                    received: max(numbers[0], numbers[1]), persisted: min(numbers[0], numbers[1]),
                    credit: numbers[2] * 1_000)
            case 4: agent.tick(milliseconds: Int64(numbers[0]) * 100)
            case 5: agent.receive(.ping)
            default: agent.add(isKeyframe: numbers[0] < 4)
            }
        }
    }

    @Test func `cuts texts to the protocol's limit`() {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome()
        let text = String(repeating: "ä", count: 400)
        let loss = Loss(
            track: nil, cause: .overrun, startNanoseconds: 0, durationNanoseconds: 1, samples: 1,
            text: text)
        agent.perform(agent.link.add(loss, to: 0, now: agent.now))
        agent.perform(agent.link.sayGoodbye(text, of: 0, now: agent.now))
        // The harness reads whatever is sent with the collector's checks.
        #expect(agent.takeSequences() == [1...1, 2...2])
    }
}
