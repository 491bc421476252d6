import Media
import TestMedia
import Testing

@testable import Wire

/// Every message with all fields set.
private let everyMessage: [WireMessage] = [
    .hello(
        Hello(
            software: "tributary-agent 1.0", agent: "box7", spool: Fixtures.identity(1),
            epochs: [
                Epoch(number: 4, identity: Fixtures.identity(2), zeroUTCNanoseconds: -7),
                Fixtures.epoch,
            ],
            sources: [
                SourceOffer(
                    name: "camera1", tracks: [Fixtures.video, Fixtures.audio], firstSequence: 7),
                SourceOffer(name: "0-b.c_d", tracks: [Fixtures.audio], firstSequence: 1),
            ], clockExchanges: [Fixtures.exchange(1), Fixtures.exchange(2)])),
    .samples(
        Fixtures.samples(
            first: 12, source: 3,
            runs: [
                SampleRun(
                    track: .video, sizes: [9, 8, 7], dtsNanoseconds: [-5, -5, 1_000],
                    ptsOffsetsNanoseconds: [66, 0, 33], durationsNanoseconds: [1, 2, 3],
                    flags: [.keyframe, [], []]),
                SampleRun(
                    track: .audio, sizes: [3, 4], dtsNanoseconds: [0, 21_333_333],
                    ptsOffsetsNanoseconds: [], durationsNanoseconds: [21_333_333],
                    flags: [[.keyframe, .priming]]),
            ])),
    .samples(Fixtures.samples(runs: [Fixtures.cameraRun])),
    .gap(Fixtures.gap()),
    .trackUpdate(TrackUpdate(source: 1, sequence: 9, format: Fixtures.video)),
    .goodbye(Goodbye(source: 15, sequence: 1 << 62, text: "end of file")),
    .clockProbe(ClockProbe(t1: -4)),
    .heartbeat(
        Heartbeat(
            clockExchanges: [Fixtures.exchange(3)],
            health: [
                SourceHealth(
                    source: 2, keptBytes: 1 << 40, newestSequence: 8, lostSamples: 9,
                    isStopped: true),
                SourceHealth(
                    source: 3, keptBytes: 0, newestSequence: 8, lostSamples: 0,
                    sound: AudioHealth(
                        levels: [
                            .init(peakMillibels: 0, rmsMillibels: -301),
                            .init(peakMillibels: -12_000, rmsMillibels: -12_000),
                        ], skewPPB: -312_000)),
            ])),
    .welcome(
        Welcome(
            software: "tributary-collector 1.0", session: "2026-11-20", heartbeatMilliseconds: 500,
            sources: [
                SourceState(source: 0, received: 9, persisted: 7, creditLimitBytes: 8 << 20)
            ])),
    .acknowledgement(
        Acknowledgement(
            sources: [
                SourceState(source: 1, received: 9, persisted: 9, creditLimitBytes: .max)
            ], session: "s")),
    .refusal(Refusal(reason: .sourceInUse, text: "box8 sends it")),
    .clockReply(ClockReply(t1: 1, t2: .min, t3: .max)),
    .ping,
    .command(Command(id: 1, source: 0, request: .status)),
    .command(Command(id: 2, source: 15, request: .controls)),
    .command(Command(id: 3, source: 0, request: .change(CommandFixtures.change))),
    .command(Command(id: 3, source: 0, request: .change(CommandFixtures.changeBack))),
    .command(Command(id: 4, source: 0, request: .keyframe)),
    .command(Command(id: .max, source: 0, request: .snapshot)),
    .command(Command(id: 5, source: 0, request: .unknown)),
    .report(Report(id: 1, source: 0, reply: .status(CommandFixtures.status))),
    .report(Report(id: 2, source: 0, reply: .controls([CommandFixtures.control]))),
    .report(Report(id: 3, source: 0, reply: .failure(.refused, "it cannot be done"))),
    .report(Report(id: 4, source: 0, reply: .keyframeRequested)),
    .report(Report(id: 5, source: 0, reply: .snapshot(CommandFixtures.snapshot))),
    .report(Report(id: 6, source: 0, reply: .unknown)),
    .enrol(Enrol(software: "tributary-agent 1", agent: "box7", publicKey: Array(1...32))),
    .enrolled(
        Enrolled(name: "box7", sources: ["camera1", "door-*", "*"].compactMap(SourcePattern.init))),
    .enrolled(Enrolled(name: "b", sources: [])),
]

private func malformed(_ message: WireMessage) -> WireError? {
    do throws(WireError) {
        _ = try WireMessage(decoding: message.encoded())
        return nil
    } catch {
        return error
    }
}

struct `A message` {
    @Test(arguments: everyMessage)
    func `is the same after encoding and decoding`(message: WireMessage) throws {
        #expect(try WireMessage(decoding: message.encoded()) == message)
    }

    @Test func `of a later version is skipped`() throws {
        // Field 31, length-delimited, two bytes.
        #expect(try WireMessage(decoding: [0xFA, 0x01, 2, 8, 1]) == .unknown)
        #expect(try WireMessage(decoding: []) == .unknown)
    }

    @Test func `has unknown fields of a later version skipped`() throws {
        // Ping (20) with a field 9 inside.
        #expect(try WireMessage(decoding: [0xA2, 0x01, 2, 9 << 3, 1]) == .ping)
    }

    @Test func `has control characters replaced in texts`() throws {
        let text = "a\nb\u{1B}[31m\u{202E}c"
        let encoded = WireMessage.goodbye(Goodbye(source: 0, sequence: 1, text: text)).encoded()
        guard case .goodbye(let goodbye) = try WireMessage(decoding: encoded) else {
            Issue.record("no goodbye")
            return
        }
        #expect(goodbye.text == "a\u{FFFD}b\u{FFFD}[31m\u{FFFD}c")
    }

    @Test func `has presentation times, durations and flags per sample`() {
        let run = SampleRun(
            track: .video, sizes: [1, 1], dtsNanoseconds: [10, 20], ptsOffsetsNanoseconds: [5, 0],
            durationsNanoseconds: [7], flags: [.keyframe, []])
        #expect(run.ptsNanoseconds(at: 0) == 15)
        #expect(run.ptsNanoseconds(at: 1) == 20)
        #expect(run.durationNanoseconds(at: 1) == 7)
        #expect(run.flags(at: 1) == [])
        #expect(run.sizeBytes == 2)
    }
}

struct `A Heartbeat` {
    @Test(arguments: [Int32(601), -12_001, .max])
    func `with an impossible level is malformed`(_ level: Int32) {
        let sound = AudioHealth(
            levels: [.init(peakMillibels: 0, rmsMillibels: level)], skewPPB: nil)
        let health = SourceHealth(
            source: 0, keptBytes: 0, newestSequence: 0, lostSamples: 0, sound: sound)
        #expect(malformed(.heartbeat(Heartbeat(health: [health])))?.reason == .malformed)
    }

    @Test func `has no more levels than there are channels`() {
        let level = AudioHealth.Level(peakMillibels: 0, rmsMillibels: 0)
        let sound = AudioHealth(levels: Array(repeating: level, count: 65), skewPPB: nil)
        let health = SourceHealth(
            source: 0, keptBytes: 0, newestSequence: 0, lostSamples: 0, sound: sound)
        #expect(malformed(.heartbeat(Heartbeat(health: [health])))?.reason == .limit)
    }
}

struct `A Hello` {
    @Test func `with another magic is refused before anything else is checked`() throws {
        var hello = Fixtures.hello().encoded()
        hello.magic = 0x4854_5450
        hello.major = 9
        #expect(throws: WireError.magic(0x4854_5450)) { try Hello(decoding: hello) }
    }

    @Test func `of another major version is refused, whatever else it contains`() throws {
        var hello = Fixtures.hello().encoded()
        hello.major = 2
        hello.sources = []
        #expect(throws: WireError.version(2)) { try Hello(decoding: hello) }
        #expect(WireError.version(2).reason == .version)
    }

    @Test(arguments: [
        "", ".hidden", "-x", "a/b", "..", "a b", "ä", "a\0", String(repeating: "a", count: 65),
    ])
    func `cannot name a source so that it leaves its directory`(name: String) {
        let error = malformed(.hello(Fixtures.hello(sources: [name])))
        #expect(error?.reason == .name)
    }

    @Test func `names a source once`() {
        #expect(malformed(.hello(Fixtures.hello(sources: ["a", "a"])))?.reason == .name)
    }

    @Test func `keeps to its counts`() {
        #expect(malformed(.hello(Fixtures.hello(sources: [])))?.reason == .malformed)
        let many = (0...16).map { "camera\($0)" }
        #expect(malformed(.hello(Fixtures.hello(sources: many)))?.reason == .limit)
        let none = Fixtures.hello(tracks: [])
        #expect(malformed(.hello(none))?.reason == .malformed)
        let twice = Fixtures.hello(tracks: [Fixtures.audio, Fixtures.otherAudio])
        #expect(malformed(.hello(twice))?.reason == .malformed)
        let zero = Fixtures.hello(firstSequence: 0)
        #expect(malformed(.hello(zero))?.reason == .malformed)
    }

    @Test func `refers to its own epochs only`() {
        var hello = Fixtures.hello()
        hello.clockExchanges = [ReportedExchange(t1: 0, t2: 0, t3: 0, t4: 0, epoch: 5)]
        #expect(malformed(.hello(hello))?.reason == .malformed)
        hello.clockExchanges = []
        hello.epochs = []
        #expect(malformed(.hello(hello))?.reason == .malformed)
        hello.epochs = [Fixtures.epoch, Fixtures.epoch]
        #expect(malformed(.hello(hello))?.reason == .malformed)
    }

    @Test func `has identities of 16 bytes`() {
        var hello = Fixtures.hello().encoded()
        hello.spool.removeLast()
        #expect(throws: WireError.malformed("Hello.spool has 15 bytes; 16 needed")) {
            try Hello(decoding: hello)
        }
    }

    @Test func `has a message for every codec`() throws {
        for format in try CodecFormats.all() {
            #expect(try TrackFormat(decoding: format.encoded()) == format)
        }
    }

    @Test func `with a format that no muxer can use is malformed`() {
        var format = VideoFormat.h264(
            sequenceParameterSets: [[0x67, 1, 2]], pictureParameterSets: [[0x68, 1]], width: 16,
            height: 16)
        #expect(malformed(.hello(Fixtures.hello(tracks: [.video(format)])))?.reason == .malformed)
        if case .video(let good) = Fixtures.video { format = good }
        format.width = 0
        #expect(malformed(.hello(Fixtures.hello(tracks: [.video(format)])))?.reason == .limit)
        let sound = AudioFormat.aac(configuration: [], sampleRate: 48_000, channels: 2)
        #expect(malformed(.hello(Fixtures.hello(tracks: [.audio(sound)])))?.reason == .malformed)
        let other = AudioFormat.aac(configuration: [0x11, 0x90], sampleRate: 44_100, channels: 2)
        #expect(
            malformed(.hello(Fixtures.hello(tracks: [.audio(other)])))
                == .malformed(
                    "Aac.sample_rate is 44100 Hz; its audio_specific_config says 48000 Hz"))
    }
}

struct `A batch is malformed` {
    private func error(_ change: (inout SampleRun) -> Void) -> WireError? {
        var run = Fixtures.run()
        change(&run)
        return malformed(.samples(Fixtures.samples(runs: [run])))
    }

    @Test func `if a column's length differs from the number of samples`() {
        #expect(error { $0.flags = [.keyframe, []] }?.reason == .malformed)
        #expect(error { $0.flags = [] }?.reason == .malformed)
        #expect(error { $0.durationsNanoseconds = [] }?.reason == .malformed)
        #expect(error { $0.durationsNanoseconds = [1, 2] }?.reason == .malformed)
        #expect(error { $0.ptsOffsetsNanoseconds = [1] }?.reason == .malformed)
        #expect(error { $0.dtsNanoseconds.removeLast() }?.reason == .malformed)
    }

    @Test func `if a camera's stamps do not match its samples`() {
        func error(_ change: (inout Tributary_V1_CameraStamps) -> Void) -> WireError? {
            var run = Fixtures.cameraRun.encoded()
            change(&run.camera)
            do throws(WireError) {
                _ = try SampleRun(decoding: run)
                return nil
            } catch {
                return error
            }
        }
        #expect(error { _ in } == nil)
        #expect(error { $0.clockRate = 0 }?.reason == .malformed)
        #expect(error { $0.timestampSteps.removeLast() }?.reason == .malformed)
        #expect(error { $0.arrivalSteps.append(1) }?.reason == .malformed)
        #expect(error { $0.arrivalSpans = [] }?.reason == .malformed)
        #expect(error { $0.packetSteps = [1] }?.reason == .malformed)
        #expect(error { $0.packetCounts = [1, 2] }?.reason == .malformed)
        #expect(error { $0.arrivalSteps[1] = .max }?.reason == .malformed)
        #expect(error { $0.arrivalSpans[1] = .max }?.reason == .limit)
        #expect(error { $0.reports[0].arrival = .min }?.reason == .malformed)
        #expect(
            error { $0.reports += [Tributary_V1_CameraReport](repeating: .init(), count: 15) }?
                .reason == .limit)
    }

    @Test func `but not if decoding times decrease, which the timeline corrects`() {
        #expect(error { $0.dtsNanoseconds[2] = 0 } == nil)
    }

    @Test func `if a time is out of range`() {
        #expect(error { $0.dtsNanoseconds = [0, 1, .max] }?.reason == .malformed)
        #expect(error { $0.dtsNanoseconds = [1 << 62, 1 << 62, 1 << 62] }?.reason == .malformed)
        #expect(error { $0.durationsNanoseconds = [.max] }?.reason == .limit)
        #expect(error { $0.ptsOffsetsNanoseconds = [.max, 0, 0] }?.reason == .limit)
    }

    @Test func `if decoding times overflow`() {
        var run = Fixtures.run().encoded()
        run.firstDts = 1 << 60
        run.dtsSteps = [.max, .max]
        #expect(throws: WireError.self) { try SampleRun(decoding: run) }
    }

    @Test func `if a sample has no bytes`() {
        #expect(error { $0.sizes[1] = 0 }?.reason == .malformed)
    }

    @Test func `if a keyframe follows another picture`() {
        #expect(error { $0.flags = [.keyframe, .keyframe, []] }?.reason == .malformed)
        #expect(error { $0.flags = [.keyframe] }?.reason == .malformed)
        #expect(error { $0 = Fixtures.run(.audio) } == nil)
    }

    @Test func `if a track has two runs, or there is none`() {
        let twice = Fixtures.samples(runs: [Fixtures.run(), Fixtures.run()])
        #expect(malformed(.samples(twice))?.reason == .malformed)
        #expect(malformed(.samples(Fixtures.samples(runs: [])))?.reason == .malformed)
    }

    @Test func `if the digest has another length`() {
        var samples = Fixtures.samples()
        samples.payloadDigest.removeLast()
        #expect(malformed(.samples(samples))?.reason == .malformed)
    }

    @Test func `if it has too many samples or bytes`() {
        let sound = Fixtures.run(.audio, sizes: [UInt32](repeating: 1, count: 4_097))
        #expect(malformed(.samples(Fixtures.samples(runs: [sound])))?.reason == .limit)
        let big = Fixtures.run(sizes: [3 << 20, 2 << 20])
        #expect(malformed(.samples(Fixtures.samples(runs: [big])))?.reason == .limit)
        let huge = Fixtures.run(sizes: [UInt32](repeating: .max, count: 4_096))
        #expect(malformed(.samples(Fixtures.samples(runs: [huge])))?.reason == .limit)
    }

    @Test func `if its sequence numbers are out of range`() {
        #expect(malformed(.samples(Fixtures.samples(first: 0)))?.reason == .malformed)
        #expect(malformed(.samples(Fixtures.samples(first: .max)))?.reason == .malformed)
        var encoded = Fixtures.samples().encoded()
        encoded.source = 16
        #expect(throws: WireError.self) { try Samples(decoding: encoded) }
    }
}

struct `Other messages` {
    @Test func `with a reversed range of numbers are malformed`() {
        var gap = Fixtures.gap().encoded()
        (gap.firstSequence, gap.lastSequence) = (6, 4)
        #expect(throws: WireError.malformed("Gap goes from 6 back to 4")) {
            try GapRecord(decoding: gap)
        }
        let state = SourceState(source: 0, received: 3, persisted: 4, creditLimitBytes: 0)
        let ack = Acknowledgement(sources: [state], session: "")
        #expect(malformed(.acknowledgement(ack))?.reason == .malformed)
    }

    @Test func `with enumeration values of a later version get a default`() throws {
        var gap = Fixtures.gap().encoded()
        gap.cause = .UNRECOGNIZED(99)
        #expect(try GapRecord(decoding: gap).cause == .unspecified)
        var refusal = Refusal(reason: .limit, text: "").encoded()
        refusal.reason = .UNRECOGNIZED(99)
        #expect(try Refusal(decoding: refusal).reason == .other)
    }

    @Test func `that are too long exceed a limit`() {
        let text = String(repeating: "x", count: 513)
        #expect(
            malformed(.goodbye(Goodbye(source: 0, sequence: 1, text: text)))?.reason == .limit)
        let exchanges = (0...64).map { Fixtures.exchange($0) }
        #expect(malformed(.heartbeat(Heartbeat(clockExchanges: exchanges)))?.reason == .limit)
        let header = [UInt8](repeating: 0, count: WireLimits.headerBytes + 1)
        #expect(throws: WireError.self) { try WireMessage(decoding: header) }
    }

    @Test func `with a heartbeat interval out of range are refused`() {
        for pace: UInt32 in [0, 99, 60_001] {
            let welcome = Welcome(
                software: "", session: "", heartbeatMilliseconds: pace, sources: [])
            #expect(malformed(.welcome(welcome))?.reason == .limit)
        }
    }
}

struct `Hostile headers` {
    @Test(arguments: 0..<40 as Range<UInt64>)
    func `never trap and never pass a limit`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let originals = everyMessage.map { $0.encoded() }
        for _ in 0..<500 {
            var bytes = originals[Int.random(in: 0..<originals.count, using: &random)]
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                bytes = (0..<Int.random(in: 0..<200, using: &random)).map { _ in
                    .random(in: 0...255, using: &random)
                }
            case 1:
                bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
            default:
                for _ in 0..<Int.random(in: 1...8, using: &random) where !bytes.isEmpty {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                }
            }
            let decoded = Result { () throws(WireError) in try WireMessage(decoding: bytes) }
            // The fast decoder agrees with the general one or declines.
            #expect(
                decoded == Result { () throws(WireError) in try WireMessage(decodingAny: bytes) },
                "seed \(seed)")
            guard let message = try? decoded.get() else { continue }
            if case .samples(let samples) = message {
                #expect(samples.payloadSizeBytes <= WireLimits.payloadBytes, "seed \(seed)")
                #expect(samples.lastSequence >= samples.firstSequence, "seed \(seed)")
                for run in samples.runs {
                    for index in 0..<run.count {
                        _ = run.ptsNanoseconds(at: index) + run.durationNanoseconds(at: index)
                    }
                }
            }
            // A decoded message survives a round trip.
            #expect((try? WireMessage(decoding: message.encoded())) == message, "seed \(seed)")
        }
    }
}

struct `A clock probe` {
    @Test func `is answered from its bytes`() throws {
        let probe = WireMessage.clockProbe(ClockProbe(t1: 42)).encoded()
        let reply = try #require(
            probe.withUnsafeBytes {
                ClockReply.bytes(answering: $0, receivedAt: 100) { 101 }
            })
        #expect(
            try WireMessage(decoding: reply) == .clockReply(ClockReply(t1: 42, t2: 100, t3: 101)))
    }

    @Test(arguments: [0, 1, -1, 127, -64, 1 << 40, .max, .min] as [Int64])
    func `may have any time`(time: Int64) throws {
        let probe = WireMessage.clockProbe(ClockProbe(t1: time)).encoded()
        let reply = probe.withUnsafeBytes {
            ClockReply.bytes(answering: $0, receivedAt: 1 &- time) { time / 3 }
        }
        let expected = ClockReply(t1: time, t2: 1 &- time, t3: time / 3)
        #expect(try WireMessage(decoding: #require(reply)) == .clockReply(expected))
    }

    @Test func `with unknown fields is answered`() throws {
        // Field 9, a varint, unknown to this version.
        let probe = WireMessage.clockProbe(ClockProbe(t1: 42)).encoded()
        let longer = [probe[0], probe[1] + 2] + probe[2...] + [9 << 3, 5]
        let reply = longer.withUnsafeBytes {
            ClockReply.bytes(answering: $0, receivedAt: 7) { 8 }
        }
        #expect(
            try WireMessage(decoding: #require(reply))
                == .clockReply(ClockReply(t1: 42, t2: 7, t3: 8)))
    }

    @Test(arguments: everyMessage)
    func `is the only message that is answered without decoding`(message: WireMessage) {
        if case .clockProbe = message { return }
        let answer = message.encoded().withUnsafeBytes {
            ClockReply.bytes(answering: $0, receivedAt: 1) { 2 }
        }
        #expect(answer == nil)
    }
}
