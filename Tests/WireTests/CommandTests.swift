import Media
import SwiftProtobuf
import Testing

@testable import Wire

/// Commands and reports with valid fields.
enum CommandFixtures {
    static var change: CaptureChange {
        var change = CaptureChange()
        change.isCapturing = true
        change.video = "file:/tmp/a b.mp4"
        change.audio = "none"
        change.size = .this(PictureSize(width: 640, height: 360))
        change.frameRate = .this(FrameRate(30_000, per: 1_001))
        change.videoBitrate = 2_000_000
        change.crop = PictureCrop("320x180+10+20").map { .this($0) }
        change.rotation = .quarter
        change.isMirrored = true
        change.controls = [
            .init(name: "brightness", value: 128), .init(name: "hue", value: -128),
        ]
        return change
    }

    static var changeBack: CaptureChange {
        var change = CaptureChange()
        change.isCapturing = false
        change.size = .own
        change.frameRate = .own
        change.crop = .own
        change.rotation = PictureOrientation.Rotation.none
        change.isMirrored = false
        return change
    }

    static var status: CaptureStatus {
        var status = CaptureStatus()
        status.isCapturing = true
        status.video = "test"
        status.audio = "hw:CARD=Device"
        status.descriptions = ["video 640×360", "audio 48 kHz"]
        status.size = PictureSize(width: 640, height: 360)
        status.videoBitrate = 4_000_000
        status.crop = PictureCrop("320x180+10+20")
        status.orientation = PictureOrientation(rotation: .threeQuarters, isMirrored: true)
        status.pictures = 900
        status.soundPackets = 1_400
        status.lostSamples = 3
        status.keptBytes = 12_345
        status.isConnected = true
        status.software = "tributary-agent 1"
        status.collector = "tcp://a:5550"
        status.moved = "tcp://c:5550: nothing was heard of it for 3 s"
        status.held = ["north": 7]
        status.second = .init(endpoint: "tcp://b:5550", isConnected: false, trouble: "refused")
        status.owed = [OwedRecords(collector: "west", records: 5, bytes: 600)]
        status.lastsSeconds = 3_600
        status.trouble = "rtsp://door/1: Connection refused"
        status.retrySeconds = 4
        return status
    }

    static var control: DeviceControl {
        var control = DeviceControl(
            name: "exposure_auto", label: "Exposure, Auto", kind: .menu, range: 0...3, step: 1,
            defaultValue: 3, value: 1)
        control.choices = [.init(value: 1, label: "Manual"), .init(value: 3, label: "Aperture")]
        control.isInactive = true
        control.isReadOnly = true
        return control
    }

    static let snapshot = SnapshotDescription(
        width: 640, height: 360, captureNanoseconds: 5, sizeBytes: 1_234)
}

private func flaw(_ message: WireMessage) -> RefusalReason? {
    do throws(WireError) {
        _ = try WireMessage(decoding: message.encoded())
        return nil
    } catch {
        return error.reason
    }
}

struct `A Command` {
    @Test func `above a limit is refused`() {
        func refused(_ change: (inout CaptureChange) -> Void) -> Bool {
            var wish = CaptureChange()
            change(&wish)
            return flaw(.command(Command(id: 1, source: 0, request: .change(wish)))) != nil
        }
        #expect(refused { $0.video = String(repeating: "a", count: 4_097) })
        #expect(refused { $0.audio = "a\0b" })
        #expect(refused { $0.videoBitrate = 0 })
        #expect(refused { $0.videoBitrate = 1_000_000_001 })
        #expect(refused { $0.size = .this(PictureSize(width: 16_889, height: 2)) })
        #expect(refused { $0.size = .this(PictureSize(width: 2, height: 0)) })
        #expect(
            refused {
                $0.controls = Array(repeating: .init(name: "a", value: 1), count: 129)
            })
        #expect(!refused { _ in })
        #expect(flaw(.command(Command(id: 1, source: 16, request: .status))) == .limit)
    }

    @Test func `with an invalid rotation or rate is malformed`() {
        var turned = Tributary_V1_Envelope()
        turned.command.change.rotation = 45
        var rated = Tributary_V1_Envelope()
        rated.command.change.frameRate.numerator = 30
        for message in [turned, rated] {
            #expect(throws: WireError.self) {
                _ = try WireMessage(decoding: try message.serializedBytes())
            }
        }
    }

    @Test func `of a later version is decoded as unknown with its id`() throws {
        // Command (32) with id 7 and a field 20 inside.
        let bytes: [UInt8] = [0x82, 0x02, 5, 1 << 3, 7, 0xA2, 0x01, 0]
        #expect(
            try WireMessage(decoding: bytes)
                == .command(Command(id: 7, source: 0, request: .unknown)))
    }
}

struct `An agent that receives a command` {
    private func flowing() -> AgentHarness {
        var agent = AgentHarness()
        agent.connect()
        agent.welcome()
        agent.sent.removeAll()
        return agent
    }

    private func reports(_ agent: AgentHarness) -> [Report] {
        agent.sent.compactMap { if case .report(let report) = $0 { report } else { nil } }
    }

    @Test func `executes it and answers once`() {
        var agent = flowing()
        agent.receive(.command(Command(id: 7, source: 0, request: .keyframe)))
        #expect(agent.commands == [Command(id: 7, source: 0, request: .keyframe)])
        let report = Report(id: 7, source: 0, reply: .keyframeRequested)
        agent.perform(agent.link.report(report, payload: nil, now: agent.now))
        agent.perform(agent.link.report(report, payload: nil, now: agent.now))
        #expect(reports(agent) == [report])
    }

    @Test func `sends a snapshot's bytes beside its report`() {
        var agent = flowing()
        agent.receive(.command(Command(id: 1, source: 0, request: .snapshot)))
        let report = Report(id: 1, source: 0, reply: .snapshot(CommandFixtures.snapshot))
        agent.perform(agent.link.report(report, payload: [1, 2, 3], now: agent.now))
        #expect(reports(agent) == [report])
        #expect(agent.jpeg == [1, 2, 3])
    }

    @Test func `ignores it before a Welcome`() {
        var agent = AgentHarness()
        agent.connect()
        agent.receive(.command(Command(id: 7, source: 0, request: .keyframe)))
        #expect(agent.commands.isEmpty)
        #expect(reports(agent).isEmpty)
    }

    @Test func `answers with a failure if the command or the source is unknown`() {
        var agent = flowing()
        agent.receive(.command(Command(id: 1, source: 0, request: .unknown)))
        agent.receive(.command(Command(id: 2, source: 3, request: .status)))
        #expect(agent.commands.isEmpty)
        let failures = reports(agent).map { report -> CommandFailure? in
            if case .failure(let failure, _) = report.reply { failure } else { nil }
        }
        #expect(failures == [.unknownCommand, .malformed])
    }

    @Test func `accepts eight commands, and a ninth after an answer`() {
        var agent = flowing()
        for id in 1...9 as ClosedRange<UInt64> {
            agent.receive(.command(Command(id: id, source: 0, request: .status)))
        }
        #expect(agent.commands.count == 8)
        #expect(reports(agent).map(\.id) == [9])
        agent.perform(
            agent.link.report(
                Report(id: 4, source: 0, reply: .keyframeRequested), payload: nil, now: agent.now))
        agent.receive(.command(Command(id: 10, source: 0, request: .status)))
        #expect(agent.commands.count == 9)
    }

    @Test func `answers only on the connection of the command`() {
        var agent = flowing()
        agent.receive(.command(Command(id: 7, source: 0, request: .snapshot)))
        agent.perform(agent.link.disconnected(now: agent.now))
        agent.connect()
        agent.welcome()
        agent.perform(
            agent.link.report(
                Report(id: 7, source: 0, reply: .keyframeRequested), payload: nil, now: agent.now))
        #expect(reports(agent).isEmpty)
    }
}

struct `A collector that forwards commands` {
    private func ask(
        _ collector: inout CollectorHarness, _ request: CommandRequest = .status,
        source: String = "camera1", ticket: UInt64 = 1
    ) {
        collector.perform(
            collector.link.command(
                request, to: source, ticket: ticket, now: collector.now)
        )
    }

    private func commands(_ collector: inout CollectorHarness) -> [Command] {
        collector.takeSent().compactMap {
            if case .command(let command) = $0 { command } else { nil }
        }
    }

    private func reports(_ collector: inout CollectorHarness) -> [UInt64: CommandReply] {
        var reports: [UInt64: CommandReply] = [:]
        for case .report(let ticket, let reply) in collector.takeEvents() {
            #expect(reports[ticket] == nil)
            reports[ticket] = reply
        }
        return reports
    }

    private func failure(_ reply: CommandReply?) -> CommandFailure? {
        if case .failure(let failure, let text) = reply {
            #expect(!text.isEmpty)
            return failure
        }
        return nil
    }

    @Test func `returns each answer to its request, in any order`() {
        var collector = CollectorHarness.greeted()
        ask(&collector, .keyframe, ticket: 11)
        ask(&collector, .status, ticket: 12)
        let sent = commands(&collector)
        #expect(sent.map(\.request) == [.keyframe, .status])
        collector.send(
            .report(
                Report(id: sent[1].id, source: 0, reply: .status(CommandFixtures.status))))
        collector.send(.report(Report(id: sent[0].id, source: 0, reply: .keyframeRequested)))
        #expect(
            reports(&collector) == [
                11: .keyframeRequested, 12: .status(CommandFixtures.status),
            ])
        // A report without a pending request is ignored.
        collector.send(.report(Report(id: sent[0].id, source: 0, reply: .keyframeRequested)))
        #expect(reports(&collector).isEmpty)
        #expect(collector.takeRefusal() == nil)
    }

    @Test func `answers that a source is not connected`() {
        var collector = CollectorHarness.greeted()
        ask(&collector, source: "camera2")
        #expect(failure(reports(&collector)[1]) == .notConnected)
    }

    @Test func `answers for agents without commands in their version`() {
        var hello = Fixtures.hello()
        hello.minor = 1
        var collector = CollectorHarness.greeted(hello: hello)
        ask(&collector)
        #expect(commands(&collector).isEmpty)
        #expect(failure(reports(&collector)[1]) == .unknownCommand)
    }

    @Test func `answers for agents that do not answer within 30 seconds`() {
        var collector = CollectorHarness.greeted()
        ask(&collector)
        for _ in 0..<31 {
            collector.tick(milliseconds: 900)
            collector.send(.heartbeat(Heartbeat()))
        }
        #expect(reports(&collector).isEmpty)
        for _ in 0..<3 {
            collector.tick(milliseconds: 900)
            collector.send(.heartbeat(Heartbeat()))
        }
        #expect(failure(reports(&collector)[1]) == .noAnswer)
    }

    @Test func `answers for agents whose connection is lost`() {
        var collector = CollectorHarness.greeted()
        ask(&collector, ticket: 5)
        collector.perform(
            collector.link.peerGone(
                CollectorHarness.peer(1), now: collector.now, durable: collector.durable))
        #expect(failure(reports(&collector)[5]) == .notConnected)
    }

    @Test func `ignores an answer of another agent`() {
        var collector = CollectorHarness.greeted()
        collector.send(
            .hello(Fixtures.hello(spool: 2, agent: "box8", sources: ["camera2"])), from: 2)
        ask(&collector)
        let sent = commands(&collector)
        collector.send(
            .report(Report(id: sent[0].id, source: 0, reply: .keyframeRequested)), from: 2)
        #expect(reports(&collector).isEmpty)
    }

    @Test func `sends at most eight commands to an agent at once`() {
        var collector = CollectorHarness.greeted()
        for ticket in 1...9 as ClosedRange<UInt64> { ask(&collector, ticket: ticket) }
        #expect(commands(&collector).count == 8)
        #expect(failure(reports(&collector)[9]) == .busy)
    }

    @Test(arguments: [(1_234, 0, true), (1_233, 0, false), (nil, 0, false), (1_234, 1, false)])
    func `accepts a snapshot with exactly its bytes`(
        payload: Int?, extraParts: Int, isTaken: Bool
    ) {
        var collector = CollectorHarness.greeted()
        ask(&collector, .snapshot)
        let id = commands(&collector)[0].id
        collector.send(
            .report(Report(id: id, source: 0, reply: .snapshot(CommandFixtures.snapshot))),
            payload: payload, extraParts: extraParts)
        #expect((collector.takeRefusal() == nil) == isTaken)
    }

    @Test func `refuses agents that give commands`() {
        var collector = CollectorHarness.greeted()
        collector.send(.command(Command(id: 1, source: 0, request: .status)))
        #expect(collector.takeRefusal()?.reason == .malformed)
    }
}

struct `A control request` {
    @Test func `with a command is the same after encoding and decoding`() throws {
        for source in ["camera1", nil] {
            let request = ControlRequest(
                id: 9, request: .command(.change(CommandFixtures.change), source: source))
            #expect(try ControlRequest(decoding: request.encoded()) == request)
        }
        let reply = ControlReply(
            id: 9, reply: .report(.snapshot(CommandFixtures.snapshot), payload: [1, 2, 3]))
        #expect(try ControlReply(decoding: reply.encoded()) == reply)
    }
}
