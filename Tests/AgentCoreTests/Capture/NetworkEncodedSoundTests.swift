import Encoding
import Media
import Testing
import Wire

@testable import AgentCore
@testable import RTSP

/// Transcoding of a network camera's audio that is not AAC.
@Suite struct NetworkEncodedSoundTests {
    private static let interval: Int64 = 20_000_000
    private static let packetFrames = 160
    /// µ-law: zero.
    private static let quiet = [UInt8](repeating: 0xFF, count: packetFrames)
    /// 1 kHz.
    private static let loud = (0..<packetFrames).map { UInt8($0 / 4 % 2 == 0 ? 0x90 : 0x10) }

    /// A camera that sends G.711 in packets of 20 ms, and a capture that records it.
    private struct Stand {
        let track: NetworkEncodedSound
        let sink = CollectingSink()
        let hub: CaptureHub
        let output: CaptureOutput
        let start = JumpingClock.start

        init(delayNanoseconds: Int64 = 0) throws {
            track = try NetworkEncodedSound(
                Stand.sound("m=audio 0 RTP/AVP 0"),
                AudioEncoderSettings(sampleRate: 8_000, channels: 1), durationNanoseconds: nil,
                delayNanoseconds: delayNanoseconds)
            hub = CaptureHub(sink: sink, clock: JumpingClock())
            output = CaptureOutput(hub)
            _ = hub.adopt([track.format])
            hub.pipelineBegan(1)
            track.begin(startNanoseconds: start)
        }

        static func description(_ lines: String) throws -> CameraTrackDescription {
            try CameraTrackDescription(
                try SessionDescription(parsing: Array(lines.utf8)).media[0])
        }

        static func sound(_ lines: String) throws -> ForeignSound {
            guard case .foreign(let sound) = try description(lines).coding else {
                throw RTSPError.unusableDescription(lines)
            }
            return sound
        }

        func arrival(_ index: Int) -> Int64 {
            start + Int64(index) * NetworkEncodedSoundTests.interval + 5_000_000
        }

        /// Nothing arrives.
        func pause(_ range: Range<Int>) throws {
            for index in range {
                _ = output.wait(untilNanoseconds: arrival(index))
                try track.tick(output)
            }
        }

        /// Packets arrive with the capture of their first sample, and not before a packet's arrival.
        func send(
            _ range: Range<Int>, loud: Range<Int> = 0..<0, bytes: [UInt8]? = nil,
            early: Int64 = 0, notBefore first: Int = 0
        ) throws {
            for index in range {
                let arrival = arrival(max(index, first)) - early
                _ = output.wait(untilNanoseconds: arrival)
                let data =
                    bytes
                    ?? (loud.contains(index)
                        ? NetworkEncodedSoundTests.loud : NetworkEncodedSoundTests.quiet)
                try track.take(
                    [
                        .unit(
                            AccessUnit(
                                timestamp: UInt32(index * 160), firstNumber: 0, lastNumber: 0,
                                firstArrivalNanoseconds: arrival, lastArrivalNanoseconds: arrival,
                                data: data))
                    ], output)
                try track.tick(output)
            }
        }

        /// A packet is read after its arrival.
        func take(_ index: Int, loud: Range<Int> = 0..<0) throws {
            try track.take(
                [
                    .unit(
                        AccessUnit(
                            timestamp: UInt32(index * 160), firstNumber: 0, lastNumber: 0,
                            firstArrivalNanoseconds: arrival(index),
                            lastArrivalNanoseconds: arrival(index),
                            data: loud.contains(index)
                                ? NetworkEncodedSoundTests.loud : NetworkEncodedSoundTests.quiet))
                ], output)
        }

        func finish(at index: Int) throws -> CollectingSink.Result {
            try track.finish(atNanoseconds: arrival(index), output)
            hub.pipelineEnded(1, .stopped, isRetired: false)
            return sink.wait()
        }
    }

    /// When sound begins and ends that can be heard.
    private func beeps(_ result: CollectingSink.Result) throws -> [ClosedRange<Int64>] {
        guard case .audio(let format)? = result.formats.first else { return [] }
        var decoder = try AudioDecoder(
            CodedTrack(
                codec: "aac", codecTag: 0, configuration: format.configuration,
                content: .sound(
                    CodedTrack.Audio(
                        sampleRate: 8_000, channels: 1, blockBytes: 0, bitsPerSample: 0,
                        bitRate: 0))))
        var beeps: [ClosedRange<Int64>] = []
        for sample in result.audio {
            let bytes = sample.data.withUnsafeBytes { PaddedBytes($0) }
            let packet = CodedPacket(
                track: .audio, ptsNanoseconds: sample.ptsNanoseconds,
                dtsNanoseconds: sample.ptsNanoseconds, durationNanoseconds: 0, isKeyframe: true,
                isDiscarded: false, skippedAtStart: 0, skippedAtEnd: 0, newConfiguration: nil,
                bytes: bytes.bytes, owner: bytes)
            try decoder.decode(packet) { sound in
                #expect(sound.layout.sampleType == .float)
                for frame in 0..<sound.frameCount {
                    let value = sound.planes[0].load(fromByteOffset: 4 * frame, as: Float.self)
                    let time = sound.captureNanoseconds + Int64(frame) * 125_000
                    guard value.magnitude > 0.3 else { continue }
                    if let last = beeps.last, time - last.upperBound < 10_000_000 {
                        beeps[beeps.count - 1] = last.lowerBound...time
                    } else {
                        beeps.append(time...time)
                    }
                }
            }
        }
        return beeps
    }

    private func expectContiguous(_ samples: [EncodedSample]) {
        for (sample, next) in zip(samples, samples.dropFirst()) {
            let end = sample.ptsNanoseconds + sample.durationNanoseconds
            #expect((next.ptsNanoseconds - end).magnitude <= 1)
        }
    }

    private func expect(_ beep: ClosedRange<Int64>, from start: Int64, until end: Int64) {
        #expect((beep.lowerBound - start).magnitude < 2_000_000)
        #expect((beep.upperBound - end).magnitude < 2_000_000)
    }

    @Test func `G.711 is recorded as AAC, at the times of its arrival`() throws {
        let stand = try Stand()
        try stand.send(0..<200, loud: 100..<105)
        let result = try stand.finish(at: 200)
        #expect(result.losses.isEmpty)
        expectContiguous(result.audio)
        let beeps = try beeps(result)
        #expect(beeps.count == 1)
        expect(try #require(beeps.first), from: stand.arrival(100), until: stand.arrival(105))
        let last = try #require(result.audio.last)
        let end = last.ptsNanoseconds + last.durationNanoseconds
        #expect((end - stand.arrival(200)).magnitude < 2_000_000)
        #expect(!result.reports.isEmpty)
    }

    @Test func `a lost packet becomes silence of its length, and a loss`() throws {
        let stand = try Stand()
        try stand.send(0..<100)
        try stand.track.take(
            [
                .hole(
                    StreamHole(
                        cause: .lost(.packets(first: 7, count: 3)), arrivalNanoseconds: 0,
                        isHarmless: true))
            ], stand.output)
        try stand.send(103..<200, loud: 150..<155)
        let result = try stand.finish(at: 200)
        expectContiguous(result.audio)
        #expect(result.losses.count == 1)
        let loss = try #require(result.losses.first)
        #expect(loss.cause == .packetLoss)
        #expect(
            loss.text == "3 packets were lost between camera and agent, from sequence number 7 on")
        #expect((loss.startNanoseconds - stand.arrival(100)).magnitude < 1_000_000)
        #expect((loss.durationNanoseconds - 3 * Self.interval).magnitude < 1_000_000)
        expect(
            try #require(beeps(result).first), from: stand.arrival(150), until: stand.arrival(155))
    }

    @Test func `an absent camera is recorded as silence, with one gap`() throws {
        let stand = try Stand()
        try stand.send(0..<100)
        try stand.track.interrupt("it is gone", stand.output)
        for index in 100..<600 {
            _ = stand.output.wait(untilNanoseconds: stand.arrival(index))
            try stand.track.tick(stand.output)
        }
        try stand.track.resume(try Stand.description("m=audio 0 RTP/AVP 8"), stand.output)
        // A-law: zero, and loud.
        let quiet = [UInt8](repeating: 0xD5, count: Self.packetFrames)
        let loud = (0..<Self.packetFrames).map { UInt8($0 / 4 % 2 == 0 ? 0xBA : 0x3A) }
        try stand.send(600..<700, bytes: quiet)
        try stand.send(700..<705, bytes: loud)
        try stand.send(705..<750, bytes: quiet)
        let result = try stand.finish(at: 750)
        expectContiguous(result.audio)
        #expect(result.losses.map(\.text) == ["it is gone"])
        let loss = try #require(result.losses.first)
        #expect(loss.cause == .deviceLost)
        #expect((loss.startNanoseconds - stand.arrival(100)).magnitude < 1_000_000)
        #expect((loss.durationNanoseconds - 500 * Self.interval).magnitude < 1_000_000)
        expect(
            try #require(beeps(result).first), from: stand.arrival(700), until: stand.arrival(705))
    }

    @Test(arguments: [140, 200])
    func `a pause of the camera without a loss is silence, and a gap from a second on`(
        _ end: Int
    ) throws {
        let stand = try Stand()
        try stand.send(0..<100)
        try stand.send(end..<300, loud: 250..<255)
        let result = try stand.finish(at: 300)
        expectContiguous(result.audio)
        #expect(
            result.losses.map(\.text) == (end == 140 ? [] : ["the camera sent no sound"]))
        expect(
            try #require(beeps(result).first), from: stand.arrival(250), until: stand.arrival(255))
    }

    @Test(arguments: [400, nil])
    func `sound that stops is a gap, with silence until it returns`(_ again: Int?) throws {
        let stand = try Stand()
        try stand.send(0..<100)
        try stand.pause(100..<400)
        if let again { try stand.send(again..<450) }
        let result = try stand.finish(at: again == nil ? 400 : 450)
        expectContiguous(result.audio)
        #expect(result.losses.map(\.text) == ["the camera sent no sound"])
        let loss = try #require(result.losses.first)
        #expect((loss.durationNanoseconds - 300 * Self.interval).magnitude < 100_000_000)
    }

    @Test func `audio that arrives after its time was recorded as silence is reported lost`() throws
    {
        let stand = try Stand()
        try stand.send(0..<100)
        try stand.pause(100..<300)
        // The network delivers all of it at 6 s; silence is recorded up to 4 s.
        try stand.send(100..<300, loud: 120..<130, notBefore: 300)
        try stand.send(300..<400, loud: 350..<352)
        let result = try stand.finish(at: 400)
        expectContiguous(result.audio)
        let loss = try #require(result.losses.first)
        #expect(result.losses.count == 1)
        #expect(loss.text == "the camera's sound arrived after silence was recorded for its time")
        #expect((loss.durationNanoseconds - 2_000_000_000).magnitude < 100_000_000)
        #expect(try beeps(result).count == 1)
    }

    @Test func `sound that waited for a stalled agent is recorded`() throws {
        let stand = try Stand()
        try stand.send(0..<100)
        // The agent stands still for 6 s. Its first read gets a second of what arrived.
        _ = stand.output.wait(untilNanoseconds: stand.arrival(400))
        for part in stride(from: 100, to: 400, by: 50) {
            for index in part..<part + 50 { try stand.take(index, loud: 120..<130) }
            try stand.track.tick(stand.output, nowNanoseconds: stand.arrival(part + 49))
        }
        try stand.send(400..<500)
        let result = try stand.finish(at: 500)
        expectContiguous(result.audio)
        #expect(result.losses.isEmpty)
        let beeps = try beeps(result)
        #expect(beeps.count == 1)
        expect(try #require(beeps.first), from: stand.arrival(120), until: stand.arrival(130))
    }

    @Test func `a pause with a delay is a gap`() throws {
        let delay: Int64 = 1_500_000_000
        let stand = try Stand(delayNanoseconds: delay)
        try stand.send(0..<200)
        try stand.pause(200..<1_200)
        try stand.send(1_200..<1_400)
        let result = try stand.finish(at: 1_400)
        expectContiguous(result.audio)
        let lost = result.losses.reduce(0) { $0 + $1.durationNanoseconds }
        #expect((lost - 20_000_000_000).magnitude < 100_000_000)
    }

    @Test func `overlapping sound is dropped and reported`() throws {
        let stand = try Stand()
        // The first seconds are on their way for 200 ms, then the network is quick.
        for index in 0..<200 {
            let delay = max(0, 200_000_000 - Int64(max(0, index - 99)) * Self.interval)
            try stand.send(
                index..<(index + 1), loud: 150..<155, early: index < 100 ? -200_000_000 : -delay)
        }
        let result = try stand.finish(at: 200)
        expectContiguous(result.audio)
        #expect(!result.losses.isEmpty)
        #expect(
            result.losses.allSatisfy {
                $0.text.hasSuffix("came for a time that had sound already: they are dropped")
            })
        // Less than 60 of the 200 ms remain to be closed by resampling.
        let beep = try #require(beeps(result).first)
        #expect(beep.lowerBound - stand.arrival(150) < 62_000_000)
        #expect(beep.lowerBound - stand.arrival(150) > -2_000_000)
    }

    @Test func `another codec after a reconnection is a loss until the end`() throws {
        let stand = try Stand()
        try stand.send(0..<100)
        try stand.track.interrupt("it is gone", stand.output)
        try stand.track.resume(
            try Stand.description(
                "m=audio 0 RTP/AVP 97\na=rtpmap:97 MP4A-LATM/48000/2\na=fmtp:97 config=400023203fc0"
            ), stand.output)
        try stand.send(120..<200)
        let result = try stand.finish(at: 200)
        expectContiguous(result.audio)
        #expect(result.losses.count == 1)
        let loss = try #require(result.losses.first)
        #expect((loss.durationNanoseconds - 100 * Self.interval).magnitude < 1_000_000)
    }

    @Test func `Opus and L16 have decoders`() throws {
        for lines in [
            "m=audio 0 RTP/AVP 97\na=rtpmap:97 opus/48000/2", "m=audio 0 RTP/AVP 10",
        ] {
            let sound = try Stand.sound(lines)
            let track = try NetworkEncodedSound(
                sound, AudioEncoderSettings(sampleRate: Int(sound.sampleRate), channels: 1),
                durationNanoseconds: nil)
            #expect(track.text.hasSuffix("from \(sound.codec)"))
        }
    }
}
