import Testing

@testable import RTSP

/// Cameras that assign one channel to several tracks.
@Suite struct TrackChannelsTests {
    /// An AAC packet with one access unit of four bytes.
    private static let sound: [UInt8] = [0, 16, 0, 32, 1, 2, 3, 4]

    private func report(_ source: UInt32) -> [UInt8] {
        [0x80, 200, 0, 6] + bigEndian(source) + [UInt8](repeating: 1, count: 20)
    }

    /// The camera answers each SETUP with these channels.
    private func opened(
        _ channels: [String], description: String = ScriptedCamera.description
    ) throws -> ScriptedCamera {
        var camera = try ScriptedCamera()
        camera.answer()
        camera.answer(body: description)
        camera.session.setUp([.init(track: 0), .init(track: 1)], now: 0)
        camera.collect()
        for channels in channels {
            camera.answer(
                "200 OK", ["Session: 1", "Transport: RTP/AVP/TCP;interleaved=\(channels)"])
        }
        camera.session.play(now: 0)
        camera.collect()
        if camera.method == "PLAY" { camera.answer() }
        return camera
    }

    /// Answers that assign a channel twice, and the same answer of a camera that uses the requested channels.
    @Test(
        arguments: [
            (["0-1", "0-1"], [0, 0], [1, 1]), (["0-1", "1-2"], [0, 1], [1, 2]),
            (["0-0", "2-2"], [0, 2], [0, 2]), (["0-1", "0-1"], [0, 2], [1, 3]),
            (["4-5", "4-5"], [0, 2], [1, 3]),
        ] as [([String], [UInt8], [UInt8])])
    func `tracks that share a channel are distinguished by their packets`(
        answers: [String], media: [UInt8], control: [UInt8]
    ) throws {
        var camera = try opened(answers)
        for number in 0..<20 as Range<UInt16> {
            camera.packet(number, channel: media[0], source: 7)
            camera.packet(
                number &+ 900, channel: media[1], payloadType: 97, source: 8, payload: Self.sound)
            for (place, source) in [7, 8].enumerated() as EnumeratedSequence<[UInt32]> {
                let bytes = report(source)
                camera.session.received(
                    [0x24, control[place], 0, UInt8(bytes.count)] + bytes, arrivalNanoseconds: 0)
            }
            camera.collect()
        }
        let isWhole = [0, 1].flatMap(camera.items).allSatisfy {
            if case .unit = $0 { true } else { false }
        }
        #expect(isWhole && camera.end == nil)
        #expect(camera.items(of: 0).count >= 19 && camera.items(of: 1).count == 20)
        for (track, source) in [(0, 7), (1, 8)] as [(Int, UInt32)] {
            let reports = camera.outputs.compactMap { output in
                if case .report(track, let report, _) = output { report.source } else { nil }
            }
            #expect(reports == [UInt32](repeating: source, count: 20))
        }
    }

    @Test func `tracks sharing channel and payload type end the session; the error has a remedy`()
        throws
    {
        let camera = try opened(
            ["0-1", "0-1"],
            description: ScriptedCamera.description.replacing(":97 ", with: ":96 ")
                .replacing("AVP 97", with: "AVP 96"))
        #expect("\(try #require(camera.end))".contains("--audio none"))
    }
}
