import Archive
import Glibc
import MP4
import Media
import Messaging
import TestRecordings

@testable import Trust
@testable import Wire

/// Valid inputs from which a fuzzer starts.
enum Seeds {
    static let identity = SpoolID([UInt8](repeating: 1, count: 16)) ?? .random()
    static let epoch = EpochID([UInt8](repeating: 1, count: 16)) ?? .random()

    /// 1280×720 H.264, and AAC-LC at 48 kHz.
    static let formats: [TrackFormat] = [
        .video(
            .h264(
                sequenceParameterSets: [
                    [
                        0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10,
                        0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83,
                        0x19, 0x60,
                    ]
                ],
                pictureParameterSets: [[0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0]], width: 1280,
                height: 720)),
        .audio(.aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2)),
    ]

    static func run(isKeyframe: Bool, bytes: UInt32, at time: Int64) -> SampleRun {
        SampleRun(
            track: .video, sizes: [bytes], dtsNanoseconds: [time], ptsOffsetsNanoseconds: [],
            durationsNanoseconds: [33_333_333], flags: [isKeyframe ? .keyframe : []])
    }

    static var feed: FeedMessage {
        .samples(
            FeedSamples(
                session: "2026-11-20T22-40-00.000Z", zeroUTCNanoseconds: 1, source: "camera",
                number: 1, formats: formats, boundNanoseconds: 250_000, arrivedNanoseconds: 7,
                runs: [
                    FeedSamples.Run(
                        track: .video, firstSequence: 1,
                        samples: [
                            .init(
                                sizeBytes: 9, dts: 0, pts: 3_000, duration: 3_000, flags: .keyframe)
                        ])
                ]))
    }

    /// A directory with a file, a link that leads outside and a pipe, and paths through them.
    private static let pathsScript: [UInt8] = [
        2, 0, 0,  // mkdir a
        4, 1, 0, 1,  // create a/b
        0, 0, 2, 0,  // link c, to the directory outside
        1, 0, 1, 0,  // pipe b
        3, 1, 2, 0,  // open c/a
        3, 0, 1,  // open b
        9, 0, 2,  // list c
        8, 1, 0, 1, 1, 2, 0,  // rename a/b, to c/a
        10, 0, 2,  // remove c
        10, 0, 0,  // remove a
    ]

    /// Writes a corpus: a directory for each target.
    static func write(below directory: String) {
        save(feed.encoded(), "\(directory)/wire/feed-samples")
        for (name, message) in messages { save(message, "\(directory)/wire/\(name)") }
        save(collectorScript, "\(directory)/collector/session")
        save(rightsScript, "\(directory)/collector/rights")
        save(agentScript, "\(directory)/agent/session")
        save(ledger, "\(directory)/ledger/lines")
        save(agentFile, "\(directory)/keys/agent")
        save(pathsScript, "\(directory)/paths/links")
        save(H264Seeds.sets, "\(directory)/sets/known")
        save(H264Seeds.pictures, "\(directory)/pictures/packets")
        save(H265Seeds.sets, "\(directory)/sets-h265/known")
        save(H265Seeds.pictures, "\(directory)/pictures-h265/packets")
        save(spoolScript, "\(directory)/spool/lives")
        for (name, script) in ContainerTarget.seeds {
            save(script, "\(directory)/containers/\(name)")
        }
        save(CameraSeeds.session, "\(directory)/camera/session")
        save(CameraSeeds.packets, "\(directory)/payloads/packets")
        save(CameraSeeds.description, "\(directory)/descriptions/description")
        save(CameraSeeds.sound, "\(directory)/descriptions/sound")
        save(CameraSeeds.challenge, "\(directory)/descriptions/challenge")
        save(CameraSeeds.address, "\(directory)/descriptions/address")
        save(DeviceSeeds.session, "\(directory)/devices/session")
        save(RTSPClientSeeds.played, "\(directory)/rtsp-client/session")
        save(RTSPClientSeeds.refused, "\(directory)/rtsp-client/refused")
        save(RTSPClientSeeds.samples, "\(directory)/served-samples/samples")
        for (name, answer) in answers { save(Array(answer.utf8), "\(directory)/answers/\(name)") }
        do throws(MP4Error) {
            let growing = try recording()
            save(growing, "\(directory)/mp4/growing")
            save(try finished(growing), "\(directory)/mp4/finished")
        } catch {
            preconditionFailure("a recording of ours can be written: \(error)")
        }
        do {
            save(try session(isFinished: true), "\(directory)/archive/finished")
            save(try session(isFinished: false), "\(directory)/archive/growing")
        } catch {
            preconditionFailure("a session can be written: \(error)")
        }
    }

    // MARK: An object store

    private static let answers = [
        (
            "listing",
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                + "<IsTruncated>true</IsTruncated><Contents><Key>s/c/a&amp;b.mp4</Key><Size>12</Size>"
                + "<ETag>&quot;t&quot;</ETag><LastModified>2026-11-20T22:40:00.000Z</LastModified></Contents>"
                + "<CommonPrefixes><Prefix>s/d/</Prefix></CommonPrefixes></ListBucketResult>"
        ),
        (
            "parts",
            "<ListPartsResult><!-- --><IsTruncated>false</IsTruncated><Part><PartNumber>1</PartNumber>"
                + "<Size>5</Size><ETag><![CDATA[t]]></ETag></Part></ListPartsResult>"
        ),
        ("error", "<Error><Code>SlowDown</Code><Message>&#60;later&#x3E;</Message></Error>"),
        (
            "credentials",
            "[default]\naws_access_key_id = a\naws_secret_access_key = b\naws_session_token = c\n"
        ),
        ("date", "Fri, 24 May 2013 00:00:00 GMT"),
    ]

    private static func save(_ bytes: [UInt8], _ path: String) {
        guard let file = fopen(path, "w") else { preconditionFailure("cannot write \(path)") }
        precondition(fwrite(bytes, 1, bytes.count, file) == bytes.count)
        fclose(file)
    }

    // MARK: The protocol

    private static let second: Int64 = 1_000_000_000

    private static var hello: Hello {
        Hello(
            software: "tributary-agent 1", agent: "box", spool: identity,
            epochs: [Epoch(number: 1, identity: epoch)],
            sources: [SourceOffer(name: "stage", tracks: formats, firstSequence: 1)],
            clockExchanges: [ReportedExchange(t1: 1, t2: 2, t3: 3, t4: 4, epoch: 1)])
    }

    private static func samples(from first: UInt64) -> Samples {
        let count = 3
        let pictures = SampleRun(
            track: .video, sizes: [500, 70, 80],
            dtsNanoseconds: (0..<count).map { second + Int64($0) * 33_333_333 },
            ptsOffsetsNanoseconds: [0, 33_333_333, 0], durationsNanoseconds: [33_333_333],
            flags: [.keyframe, [], []])
        let sound = SampleRun(
            track: .audio, sizes: [371, 402], dtsNanoseconds: [second, second + 21_333_333],
            ptsOffsetsNanoseconds: [], durationsNanoseconds: [21_333_333], flags: [.keyframe])
        return Samples(
            source: 0, firstSequence: first, epoch: 1,
            payloadDigest: [UInt8](repeating: 0xAB, count: 32), runs: [pictures, sound])
    }

    private static var states: [SourceState] {
        [SourceState(source: 0, received: 5, persisted: 3, creditLimitBytes: 8 << 20)]
    }

    private static var messages: [(String, [UInt8])] {
        let gap = GapRecord(
            source: 0, sequences: 6...8, track: .video, cause: .driverDrop, epoch: 1,
            startNanoseconds: second, durationNanoseconds: 1, samples: 3, text: "lost")
        let health = SourceHealth(source: 0, keptBytes: 5, newestSequence: 9, lostSamples: 3)
        let all: [(String, WireMessage)] = [
            ("hello", .hello(hello)),
            ("samples", .samples(samples(from: 1))),
            ("gap", .gap(gap)),
            ("update", .trackUpdate(TrackUpdate(source: 0, sequence: 9, format: formats[1]))),
            ("goodbye", .goodbye(Goodbye(source: 0, sequence: 10, text: "end"))),
            ("heartbeat", .heartbeat(Heartbeat(health: [health]))),
            ("probe", .clockProbe(ClockProbe(t1: second))),
            ("reply", .clockReply(ClockReply(t1: 1, t2: 2, t3: 3))),
            (
                "welcome",
                .welcome(
                    Welcome(
                        software: "c", session: "s", heartbeatMilliseconds: 1_000, sources: states))
            ),
            ("ack", .acknowledgement(Acknowledgement(sources: states, session: "s"))),
            ("refusal", .refusal(Refusal(reason: .unauthorized, text: "no"))),
            ("ping", .ping),
            (
                "enrol",
                .enrol(
                    Enrol(
                        software: "a", agent: "box",
                        publicKey: [UInt8](repeating: 7, count: WireLimits.publicKeyBytes)))
            ),
            (
                "enrolled",
                .enrolled(
                    Enrolled(
                        name: "box", sources: ["stage", "door-*"].compactMap(SourcePattern.init))
                )
            ),
        ]
        return all.map { ($0.0, $0.1.encoded()) }
    }

    private static func message(_ name: String) -> [UInt8] {
        messages.first { $0.0 == name }?.1 ?? []
    }

    /// A camera greets, sends, is acknowledged and says goodbye; another peer claims its source meanwhile.
    private static var collectorScript: [UInt8] {
        var script = InputWriter()
        func step(_ step: CollectorTarget.Step, peer: UInt8 = 0) {
            script.byte(step.rawValue | peer << 3)
        }
        step(.message)
        script.block(message("hello"))
        step(.messageWithPayload)
        script.block(WireMessage.samples(samples(from: 1)).encoded())
        script.byte(0)
        step(.sessionBegan)
        step(.release)
        step(.persist)
        step(.tick)
        script.byte(4)
        step(.message, peer: 1)
        script.block(message("hello"))
        step(.message)
        script.block(message("heartbeat"))
        step(.message)
        script.block(message("gap"))
        step(.message)
        script.block(message("update"))
        step(.message)
        script.block(message("goodbye"))
        step(.persist)
        step(.tick)
        script.byte(100)
        step(.peerGone)
        return script.bytes
    }

    /// A key's holder greets, and loses its right.
    private static var rightsScript: [UInt8] {
        var script = InputWriter()
        script.byte(CollectorTarget.Step.message.rawValue | 3 << 3)
        script.block(message("hello"))
        script.byte(CollectorTarget.Step.rights.rawValue | 3 << 3)
        script.byte(0)
        script.byte(CollectorTarget.Step.message.rawValue | 3 << 3)
        script.block(message("goodbye"))
        return script.bytes
    }

    private static var agentScript: [UInt8] {
        var script = InputWriter()
        script.byte(AgentTarget.Step.keyframe.rawValue)
        script.byte(AgentTarget.Step.connect.rawValue)
        script.byte(AgentTarget.Step.message.rawValue)
        script.block(message("welcome"))
        for _ in 0..<10 { script.byte(AgentTarget.Step.sample.rawValue) }
        script.byte(AgentTarget.Step.loss.rawValue)
        script.byte(AgentTarget.Step.message.rawValue)
        script.block(message("ack"))
        script.byte(AgentTarget.Step.message.rawValue)
        script.block(message("ping"))
        script.byte(AgentTarget.Step.disconnect.rawValue)
        script.byte(AgentTarget.Step.tick.rawValue)
        script.byte(20)
        script.byte(AgentTarget.Step.goodbye.rawValue)
        script.byte(AgentTarget.Step.connect.rawValue)
        script.byte(AgentTarget.Step.message.rawValue)
        script.block(message("refusal"))
        return script.bytes
    }

    // MARK: Files

    /// Two fragments of pictures and sound, growing.
    private static func recording() throws(MP4Error) -> [UInt8] {
        let header = try FragmentedHeader(
            tracks: formats.map { RecordingTrack(format: $0) }, createdUnixSeconds: 1_790_000_000)
        var bytes = header.bytes
        for fragment in 0..<2 as Range<Int64> {
            var builder = FragmentBuilder()
            var media: [UInt8] = []
            builder.beginRun(track: .video, firstDTS: fragment * 6_000)
            for index in 0..<2 {
                builder.append(
                    FragmentSample(
                        sizeBytes: 8, duration: 3_000, compositionOffset: 0, isSync: index == 0))
                media += [0, 0, 0, 4, index == 0 ? 0x65 : 0x41, 1, 2, 3]
            }
            builder.beginRun(track: .audio, firstDTS: fragment * 3_072)
            for _ in 0..<3 {
                builder.append(
                    FragmentSample(
                        sizeBytes: 4, duration: 1_024, compositionOffset: 0, isSync: true))
                media += [0x21, 1, 2, 3]
            }
            let box = UserBox(userType: Array(0..<16), payload: Array("fragment".utf8))
            bytes += try builder.finish(
                sequenceNumber: UInt32(fragment + 1), trailingBox: box.bytes)
            bytes += media
        }
        return bytes
    }

    private static func finished(_ growing: [UInt8]) throws(MP4Error) -> [UInt8] {
        var scanner = try FragmentScanner(MemorySource(growing))
        var builder = try FinalMovieBuilder(initialMovie: scanner.layout.initialMovie)
        while let fragment = try scanner.next() { try builder.append(fragment) }
        let finish = InPlaceFinish(
            layout: scanner.layout, validEnd: scanner.validEnd, movie: try builder.movie())
        var file = Array(growing[..<Int(finish.movieOffset)]) + finish.movie
        let start = Int(finish.headerOffset)
        file.replaceSubrange(start..<start + finish.header.count, with: finish.header)
        return file
    }

    /// A session of two short files, finished or as after a crash.
    private static func session(isFinished: Bool) throws -> [UInt8] {
        let written = try WrittenSession(
            segments: 2, secondsEach: 2, state: isFinished ? .finished : .recording,
            finished: isFinished, reordered: true, primed: true, error: { _ in 0 })
        var content = ArchiveTarget.Content()
        var manifest = try SessionManifest.read(written.layout.manifest(WrittenSession.name))
        var camera = SessionManifest.Source(
            name: ArchiveTarget.source, agent: "box", address: "tcp://a:1", tracks: ["video"],
            isComplete: isFinished)
        if isFinished {
            camera.spools = [
                SessionManifest.SpoolEnd(
                    spool: SpoolID(high: 1, low: 1).description,
                    sequences: SequenceSet(upTo: 280))
            ]
            manifest.end = SessionManifest.End(reason: .complete, at: UTCTime(nanoseconds: second))
        }
        manifest.sources = [camera]
        content.manifest = manifest.encoded()
        content.notes = Array(#"{"name":"Premiere","tags":["stage"],"note":"x"}"#.utf8)
        content.ledger = ledgerBodies
        content.files = try written.bytes().enumerated().map { (UInt8($0.offset), $0.element) }
        return content.bytes
    }

    /// A line of every kind without its checksum.
    private static var ledgerBodies: [UInt8] {
        let spool = String(repeating: "01", count: 16)
        let lines = [
            #"{"after":0,"at":"2026-11-20T22:40:00.000Z","kind":"opened","spool":"\#(spool)""#,
            #"{"at":"x","cause":"driver-drop","durationNanoseconds":5,"firstSequence":281,"kind":"gap","#
                + #""lastSequence":283,"samples":3,"spool":"\#(spool)","startNanoseconds":7,"track":"video""#,
            #"{"agentNanoseconds":5,"at":"x","boundNanoseconds":9,"epoch":"\#(spool)","kind":"clock","#
                + #""offsetNanoseconds":7,"skewPartsPerBillion":5,"startNanoseconds":0"#,
            #"{"at":"x","collectorZeroNanoseconds":5,"epoch":"\#(spool)","exchanges":[[1,2,3,4]],"kind":"exchanges""#,
            #"{"at":"x","cause":"old","firstSequence":1,"kind":"removed","lastSequence":9,"segment":"#
                + #""2026-11-20T22-40-10.000Z.mp4","spool":"\#(spool)""#,
            #"{"at":"x","cause":"notAfterPrevious","kind":"time","samples":9,"track":"video""#,
            #"{"at":"x","firstSequence":284,"kind":"goodbye","lastSequence":284,"spool":"\#(spool)""#,
        ]
        return Array(lines.joined(separator: "\n").utf8)
    }

    private static var ledger: [UInt8] {
        var gap = LedgerEntry(kind: .gap, at: UTCTime(nanoseconds: 1_790_000_000 * second))
        gap.firstSequence = 4
        gap.lastSequence = 6
        gap.cause = "driver-drop"
        gap.samples = 3
        gap.exchanges = [[1, 2, 3, 4]]
        var goodbye = LedgerEntry(kind: .goodbye, at: UTCTime(nanoseconds: 0))
        goodbye.text = "end of file"
        return Ledger.line(gap) + Ledger.line(goodbye) + Ledger.line(gap).dropLast(9)
    }

    private static var agentFile: [UInt8] {
        guard let key = PublicKey((0..<32).map { UInt8($0) }) else { return [] }
        return Array(
            "# a box\nkey = \(key.text)\nsources = stage, door-*\nrevoked = no\n".utf8)
    }

    /// A group, another one, a kill within a write, rot, a power cut, a full disk.
    private static var spoolScript: [UInt8] {
        var script = InputWriter()
        script.number(1)
        func step(_ kind: UInt8, _ rest: (inout InputWriter) -> Void = { _ in }) {
            script.byte(1)
            script.byte(kind)
            rest(&script)
        }
        func append(_ size: UInt16, beginsGroup: Bool) {
            step(0) {
                $0.byte(1)
                $0.byte(beginsGroup ? 0 : 1)
                $0.number(size)
            }
        }
        for group in 0..<3 as Range<UInt16> {
            for index in 0..<12 as Range<UInt16> {
                append(group * 100 + 8_000, beginsGroup: index == 0)
            }
        }
        step(11)
        step(4) { $0.byte(9) }
        step(5)
        step(10)
        step(7) { $0.byte(1) }
        append(700, beginsGroup: true)
        append(700, beginsGroup: false)
        step(8) { $0.byte(1) }
        append(50, beginsGroup: true)
        step(6) {
            $0.byte(0)
            $0.byte(1)
            $0.number(200)
            $0.byte(3)
        }
        step(11)
        step(8) { $0.byte(0) }
        step(9) { $0.byte(20) }
        for index in 0..<8 as Range<UInt16> { append(9_000, beginsGroup: index == 0) }
        step(11)
        return script.bytes
    }
}
