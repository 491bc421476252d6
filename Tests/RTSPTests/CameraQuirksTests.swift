import Testing

@testable import RTSP

/// Responses of cameras that deviate from the standard.
@Suite struct CameraQuirksTests {
    @Test(arguments: [nil, CameraLogin(user: "u", password: "p")])
    func `a camera that requires a login only for keep-alives is kept`(login: CameraLogin?) throws {
        var camera = try ScriptedCamera(login: login)
        camera.open()
        let offer = ["WWW-Authenticate: Digest realm=\"r\", nonce=\"one\""]
        for second in 0..<70 as Range<UInt16> {
            camera.packet(second)
            camera.wait(seconds: 1)
            // Answers to no request are ignored.
            if second % 30 == 29 {
                for _ in 0..<3 { camera.answer("401 Unauthorized", offer) }
            }
        }
        #expect(camera.end == nil && camera.method == "OPTIONS")
        // At most one request with the login for each keep-alive.
        #expect(camera.requests.count <= 5 + 2 * 2)
    }

    @Test(arguments: ["Session: 7;timeout=0", "Session: 7;timeout=", "Session: 7;timeout=-5"])
    func `a session without a plausible timeout is kept alive every half minute`(
        header: String
    ) throws {
        var camera = try ScriptedCamera()
        camera.open(session: header)
        let before = camera.requests.count
        for second in 0..<62 as Range<UInt16> {
            camera.packet(second)
            camera.wait(seconds: 1)
            if camera.method == "GET_PARAMETER" { camera.answer() }
        }
        #expect(camera.requests.count - before == 2 && camera.header("Session") == "7")
    }

    @Test(arguments: [nil, CameraLogin(user: "u", password: "p")])
    func `a camera that numbers all its responses 1 is played`(login: CameraLogin?) throws {
        var camera = try ScriptedCamera(login: login)
        let id = "Session: 7"
        camera.answer(sequence: "1")
        if login != nil {
            let offer = ["WWW-Authenticate: Digest realm=\"r\", nonce=\"one\""]
            camera.answer("401 Unauthorized", offer, sequence: "1")
            // It may be a second response to OPTIONS.
            #expect(camera.header("Authorization") == nil)
            camera.wait(seconds: 5)
            #expect(camera.header("Authorization") != nil)
        }
        camera.answer(body: ScriptedCamera.description, sequence: "1")
        camera.session.setUp([.init(track: 0)], now: camera.now)
        camera.collect()
        #expect(camera.method == "SETUP")
        camera.answer(
            "200 OK", [id, "Transport: RTP/AVP/TCP;unicast;interleaved=0-1"], sequence: "1")
        camera.session.play(now: camera.now)
        camera.collect()
        #expect(camera.method == "PLAY")
        camera.answer(sequence: "1")
        #expect(camera.outputs.contains(.playing) && camera.end == nil)
    }

    @Test func `a second response to a request is not that to the next one`() throws {
        var camera = try ScriptedCamera()
        camera.answer()
        camera.answer(sequence: "1")
        #expect(camera.method == "DESCRIBE" && camera.end == nil)
        camera.answer(body: ScriptedCamera.description)
        camera.session.setUp([.init(track: 0)], now: 0)
        camera.collect()
        camera.answer("404 Not Found", sequence: "1")
        camera.answer("200 OK", ["Session: 7", "Transport: RTP/AVP/TCP;interleaved=0-1"])
        #expect(camera.outputs.contains(.ready) && camera.end == nil)
    }

    /// Bytes between interleaved packets.
    @Test(
        arguments: [
            [0, 1, 2, 0xFF, 0xFE, 0xFD, 0xFC], [0x24], [0, 0x24, 9, 0, 1, 0x80],
            [0x41, 0xFF, 0x52, 0],
            [0xFF, 0x24, 0, 0, 0, 0x24, 1, 0],
        ] as [[UInt8]])
    func `invalid bytes between packets are skipped`(junk: [UInt8]) throws {
        var camera = try ScriptedCamera()
        camera.open()
        for sequence in 0..<10 as Range<UInt16> {
            camera.packet(sequence)
            if sequence % 4 == 3 {
                for byte in junk { camera.session.received([byte], arrivalNanoseconds: 0) }
            }
        }
        camera.session.stop(now: 0)
        camera.collect()
        camera.session.received([0xFE, 0xFF], arrivalNanoseconds: 0)
        camera.answer()
        #expect(camera.end == .stopped)
        #expect(camera.unitCount >= 8)
    }

    @Test func `a camera that sends only junk after its packets is left`() throws {
        var camera = try ScriptedCamera()
        camera.open()
        camera.packet(0)
        for _ in 0..<70 where camera.end == nil {
            camera.session.received([UInt8](repeating: 0xFF, count: 1_000), arrivalNanoseconds: 0)
            camera.collect()
        }
        guard case .broken = camera.end else {
            Issue.record("\(String(describing: camera.end))")
            return
        }
    }

    @Test func `a folded header is read as one value`() throws {
        var camera = try ScriptedCamera(login: CameraLogin(user: "u", password: "p"))
        camera.answer(
            "401 Unauthorized",
            ["WWW-Authenticate: Digest realm=\"r\",\r\n nonce=\"one\",\r\n\tqop=\"auth\""])
        #expect(camera.header("Authorization")?.contains("nonce=\"one\"") == true)
        camera.answer("200 OK", ["Public: OPTIONS,", " GET_PARAMETER"])
        camera.answer(body: ScriptedCamera.description)
        #expect(camera.end == nil)
    }

    @Test(arguments: [
        ("Content-Base: rtsp://camera/live", "track1", "rtsp://camera/live/track1"),
        ("Content-Base: rtsp://camera/live/", "track1", "rtsp://camera/live/track1"),
        (
            "Content-Base: rtsp://10.0.0.7:554/live/", "rtsp://10.0.0.7:554/live/x?a=b",
            "rtsp://10.0.0.7:554/live/x?a=b"
        ),
        ("Content-Location: rtsp://camera/other", "/track1", "rtsp://camera/other/track1"),
        ("X: y", "track1", "rtsp://camera/live/track1"),
        ("Content-Base: rtsp://u:p@camera/live/", "track1", "rtsp://camera/live/track1"),
    ])
    func `a track's control is resolved as cameras expect`(
        header: String, control: String, uri: String
    ) throws {
        var camera = try ScriptedCamera()
        camera.answer()
        camera.answer(
            "200 OK", [header],
            body: ScriptedCamera.description.replacing("control:track1", with: "control:\(control)")
        )
        camera.session.setUp([.init(track: 0)], now: 0)
        camera.collect()
        #expect(camera.request.first == "SETUP \(uri) RTSP/1.0")
    }
}
