import Testing

@testable import RTSP

/// Cameras that refuse to set up a track.
@Suite struct RefusedTrackTests {
    @Test(arguments: ["404 Not Found", "461 Unsupported Transport", "500 Internal Server Error"])
    func `a session with a refused audio track plays the video`(status: String) throws {
        var camera = try ScriptedCamera()
        camera.answer()
        camera.answer(
            "200 OK", ["Content-Base: rtsp://camera/live/"], body: ScriptedCamera.description)
        camera.session.setUp([.init(track: 0), .init(track: 1)], now: 0)
        camera.collect()
        camera.answer("200 OK", ["Session: 1", "Transport: RTP/AVP/TCP;interleaved=0-1"])
        camera.answer(status)
        #expect(
            camera.outputs.suffix(2) == [
                .refused(track: 1, "its audio is refused: it answers SETUP with \(status)"), .ready,
            ])
        camera.session.play(now: 0)
        camera.collect()
        camera.answer()
        for sequence in 0..<5 as Range<UInt16> { camera.packet(sequence) }
        #expect(camera.end == nil && camera.unitCount == 4)
    }

    @Test func `a session whose first track, audio, is refused plays the video`() throws {
        var camera = try ScriptedCamera()
        camera.answer()
        camera.answer(body: ScriptedCamera.description)
        camera.session.setUp([.init(track: 1), .init(track: 0)], now: 0)
        camera.collect()
        camera.answer("453 Not Enough Bandwidth")
        #expect(camera.request[0] == "SETUP rtsp://camera/live/track1 RTSP/1.0")
        #expect(camera.header("Transport") == "RTP/AVP/TCP;unicast;interleaved=0-1")
        camera.answer("200 OK", ["Session: 1", "Transport: RTP/AVP/TCP;interleaved=0-1"])
        #expect(camera.outputs.last == .ready && camera.end == nil)
    }

    @Test func `a refused video track, or audio alone, ends the session`() throws {
        var camera = try ScriptedCamera()
        camera.answer()
        camera.answer(body: ScriptedCamera.description)
        var sound = camera
        var redirected = camera
        camera.session.setUp([.init(track: 1), .init(track: 0)], now: 0)
        camera.collect()
        camera.answer("200 OK", ["Session: 1", "Transport: RTP/AVP/TCP;interleaved=0-1"])
        camera.answer("461 Unsupported Transport")
        #expect(
            "\(try #require(camera.end))"
                == "it answers SETUP of its video with 461 Unsupported Transport")
        sound.session.setUp([.init(track: 1)], now: 0)
        sound.collect()
        sound.answer("404 Not Found")
        #expect(
            "\(try #require(sound.end))" == "it answers SETUP of its audio with 404 Not Found")
        redirected.session.setUp([.init(track: 1), .init(track: 0)], now: 0)
        redirected.collect()
        redirected.answer("302 Moved", ["Location: rtsp://other:8554/x"])
        #expect(redirected.end == .redirected(try RTSPURL(parsing: "rtsp://other:8554/x")))
    }
}
