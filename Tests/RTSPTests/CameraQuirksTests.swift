import Testing

@testable import RTSP

/// Responses of cameras that deviate from the standard.
@Suite struct CameraQuirksTests {
    @Test(arguments: [nil, CameraLogin(user: "u", password: "p")])
    func `a camera that wants a login for keep-alives only is kept`(login: CameraLogin?) throws {
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

    @Test func `a folded header is one value`() throws {
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
