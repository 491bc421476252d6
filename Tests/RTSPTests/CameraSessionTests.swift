import Testing

@testable import RTSP

@Suite struct CameraSessionTests {
    @Test func `a session is set up from OPTIONS to PLAY with the camera's controls`() throws {
        var camera = try ScriptedCamera()
        camera.open()
        #expect(
            camera.requests.map { $0[0] } == [
                "OPTIONS rtsp://camera/live RTSP/1.0", "DESCRIBE rtsp://camera/live RTSP/1.0",
                "SETUP rtsp://camera/live/track1 RTSP/1.0",
                "SETUP rtsp://camera/live/track2 RTSP/1.0", "PLAY rtsp://camera/live/ RTSP/1.0",
            ])
        #expect(camera.header("Session") == "12345678")
        #expect(camera.outputs.contains(.playing) && camera.end == nil)
        for sequence in 0..<5 as Range<UInt16> { camera.packet(sequence) }
        #expect(camera.unitCount == 4)
    }

    @Test func `packets before the response to PLAY are used`() throws {
        var camera = try ScriptedCamera()
        camera.answer()
        camera.answer(body: ScriptedCamera.description)
        camera.session.setUp([.init(track: 0)], now: 0)
        camera.collect()
        camera.answer("200 OK", ["Session: 1", "Transport: RTP/AVP/TCP;interleaved=0-1"])
        camera.session.play(now: 0)
        camera.collect()
        camera.packet(0)
        camera.packet(1)
        camera.answer()
        #expect(camera.unitCount == 1)
    }

    @Test(arguments: ["Session: 7\rX: y", "Session: 7\tx", "Session: ;timeout=4", "Session: é"])
    func `a session identifier that cannot be sent back ends the session`(_ header: String) throws {
        var camera = try ScriptedCamera()
        camera.answer()
        camera.answer(body: ScriptedCamera.description)
        camera.session.setUp([.init(track: 0)], now: 0)
        camera.collect()
        camera.answer("200 OK", [header, "Transport: RTP/AVP/TCP;interleaved=0-1"])
        #expect(camera.end == .broken("the camera's session has no name that can be repeated"))
    }

    @Test func `a camera that sends datagrams although TCP was asked for is refused`() throws {
        var camera = try ScriptedCamera()
        camera.answer()
        camera.answer(body: ScriptedCamera.description)
        camera.session.setUp([.init(track: 0)], now: 0)
        camera.collect()
        camera.answer(
            "200 OK", ["Session: 1", "Transport: RTP/AVP;unicast;server_port=5000-5001"])
        #expect(
            camera.end
                == .broken(
                    "the camera sends over UDP although TCP was asked for: use --camera-transport udp"
                ))
    }

    @Test func `only packets on the channels that the camera states are used`() throws {
        var camera = try ScriptedCamera()
        camera.answer()
        camera.answer(body: ScriptedCamera.description)
        camera.session.setUp([.init(track: 0)], now: 0)
        camera.collect()
        camera.answer("200 OK", ["Session: 1", "Transport: RTP/AVP/TCP;interleaved=6-7"])
        camera.session.play(now: 0)
        camera.collect()
        camera.answer()
        for channel in 0...255 as ClosedRange<UInt8> where channel != 6 {
            camera.packet(UInt16(channel), channel: channel)
        }
        #expect(camera.unitCount == 0)
        for sequence in 0..<3 as Range<UInt16> { camera.packet(sequence, channel: 6) }
        #expect(camera.unitCount == 2)
    }

    @Test func `the login is used after a 401, and again after a 401 in the session`() throws {
        var camera = try ScriptedCamera(login: CameraLogin(user: "u", password: "p"))
        camera.answer(
            "401 Unauthorized",
            [
                "WWW-Authenticate: Digest realm=\"r\", nonce=\"one\"",
                "WWW-Authenticate: Digest realm=\"r\", nonce=\"two\", algorithm=SHA-256",
            ])
        #expect(camera.method == "OPTIONS")
        #expect(camera.header("Authorization")?.contains("nonce=\"two\"") == true)
        camera.open()
        #expect(camera.outputs.contains(.playing))
        camera.wait(seconds: 2)
        camera.packet(0)
        for _ in 0..<29 {
            camera.wait(seconds: 1)
            camera.packet(UInt16(camera.now / 1_000_000_000))
        }
        #expect(camera.method == "GET_PARAMETER")
        camera.answer("401 Unauthorized", ["WWW-Authenticate: Digest realm=\"r\", nonce=\"new\""])
        #expect(camera.method == "GET_PARAMETER")
        #expect(camera.header("Authorization")?.contains("nonce=\"new\"") == true)
        camera.answer()
        #expect(camera.end == nil)
    }

    @Test func `a wrong login is tried once, so that no account is locked`() throws {
        var camera = try ScriptedCamera(login: CameraLogin(user: "u", password: "p"))
        let offer = ["WWW-Authenticate: Digest realm=\"r\", nonce=\"one\""]
        camera.answer("401 Unauthorized", offer)
        camera.answer("401 Unauthorized", offer)
        #expect(camera.requests.count == 2)
        #expect(camera.end == .unauthorised("it does not accept the login of --camera-login"))
    }

    @Test func `a nonce that is stale is exchanged`() throws {
        var camera = try ScriptedCamera(login: CameraLogin(user: "u", password: "p"))
        camera.answer("401 Unauthorized", ["WWW-Authenticate: Digest realm=\"r\", nonce=\"one\""])
        camera.answer(
            "401 Unauthorized", ["WWW-Authenticate: Digest realm=\"r\", nonce=\"two\", stale=TRUE"])
        #expect(camera.header("Authorization")?.contains("two") == true)
        camera.answer()
        #expect(camera.method == "DESCRIBE" && camera.end == nil)
    }

    @Test func `a camera that requires a login is refused with the option to set`() throws {
        var camera = try ScriptedCamera()
        camera.answer("401 Unauthorized", ["WWW-Authenticate: Digest realm=\"r\", nonce=\"one\""])
        #expect("\(try #require(camera.end))".contains("--camera-login FILE"))
    }

    @Test func `a password is never sent readable`() throws {
        var camera = try ScriptedCamera(login: CameraLogin(user: "u", password: "p"))
        camera.answer("401 Unauthorized", ["WWW-Authenticate: Basic realm=\"r\""])
        #expect("\(try #require(camera.end))".contains("enable digest"))
        #expect(camera.requests.count == 1)
    }

    @Test(arguments: ["453 Not Enough Bandwidth", "503 Service Unavailable"])
    func `a camera that allows no more connections ends the session with its status`(status: String)
        throws
    {
        var camera = try ScriptedCamera()
        camera.answer()
        camera.answer(body: ScriptedCamera.description)
        camera.session.setUp([.init(track: 0)], now: 0)
        camera.collect()
        camera.answer(status)
        #expect(
            "\(try #require(camera.end))" == "it answers SETUP of its video with \(status)")
    }

    @Test(arguments: [
        (CameraSession.Transport.tcp, "use --camera-transport udp"),
        (.udp, "use --camera-transport tcp"),
    ])
    func `a camera that refuses the transport, or the path, is refused with the remedy`(
        transport: CameraSession.Transport, remedy: String
    ) throws {
        var camera = try ScriptedCamera(transport: transport)
        camera.answer()
        var other = camera
        camera.answer(body: ScriptedCamera.description)
        camera.session.setUp([.init(track: 0, port: 6_000)], now: 0)
        camera.collect()
        camera.answer("461 Unsupported Transport")
        #expect(
            "\(try #require(camera.end))"
                == "it answers SETUP of its video with 461 Unsupported Transport: \(remedy)")
        other.answer("404 Not Found")
        #expect("\(try #require(other.end))".contains("404 Not Found: check the path"))
    }

    @Test func `a UDP session without any packet ends with the remedy`() throws {
        var camera = try ScriptedCamera(transport: .udp)
        camera.answer()
        camera.answer(body: ScriptedCamera.description)
        camera.session.setUp([.init(track: 0, port: 6_000)], now: 0)
        camera.collect()
        camera.answer("200 OK", ["Session: 1", "Transport: RTP/AVP;server_port=7000-7001"])
        camera.session.play(now: 0)
        camera.collect()
        camera.answer()
        camera.wait(seconds: 3)
        camera.answer()
        camera.wait(seconds: 8)
        #expect("\(try #require(camera.end))".contains("use --camera-transport tcp"))
    }

    @Test func `a redirection ends the session with the new URL`() throws {
        var camera = try ScriptedCamera()
        camera.answer()
        camera.answer("302 Moved", ["Location: rtsp://other:8554/x"])
        #expect(camera.end == .redirected(try RTSPURL(parsing: "rtsp://other:8554/x")))
        var odd = try ScriptedCamera()
        odd.answer()
        odd.answer("302 Moved", ["Location: file:///etc/passwd"])
        guard case .broken = odd.end else {
            Issue.record("\(String(describing: odd.end))")
            return
        }
    }

    @Test func `a camera that plays one track at a time gets a PLAY for each`() throws {
        var camera = try ScriptedCamera()
        camera.answer()
        camera.answer(
            "200 OK", ["Content-Base: rtsp://camera/live/"], body: ScriptedCamera.description)
        camera.session.setUp([.init(track: 0), .init(track: 1)], now: 0)
        camera.collect()
        camera.answer("200 OK", ["Session: 1"])
        camera.answer("200 OK", ["Session: 1"])
        camera.session.play(now: 0)
        camera.collect()
        camera.answer("459 Aggregate Operation Not Allowed")
        #expect(camera.request[0] == "PLAY rtsp://camera/live/track1 RTSP/1.0")
        camera.answer()
        #expect(camera.request[0] == "PLAY rtsp://camera/live/track2 RTSP/1.0")
        camera.answer()
        #expect(camera.outputs.contains(.playing) && camera.end == nil)
    }

    @Test func `a camera that does not implement OPTIONS is sent DESCRIBE`() throws {
        var camera = try ScriptedCamera()
        camera.answer("501 Not Implemented")
        #expect(camera.method == "DESCRIBE")
    }

    @Test func `a response without CSeq answers the last request, others must match`() throws {
        var camera = try ScriptedCamera()
        camera.answer(sequence: "77")
        #expect(camera.method == "OPTIONS")
        camera.session.received("RTSP/1.0 200 OK\r\n\r\n".utf8, arrivalNanoseconds: 0)
        camera.collect()
        #expect(camera.method == "DESCRIBE")
    }

    @Test func `a camera that does not answer is given up after five seconds`() throws {
        var camera = try ScriptedCamera()
        camera.wait(seconds: 4.9)
        #expect(camera.end == nil)
        camera.wait(seconds: 0.2)
        #expect(camera.end == .silent("it does not answer OPTIONS within 5 s"))
    }

    @Test func `the session is kept alive at half its timeout`() throws {
        var camera = try ScriptedCamera()
        camera.open(session: "Session: 7; timeout = 4")
        let before = camera.requests.count
        for sequence in 0..<10 as Range<UInt16> {
            camera.wait(seconds: 1)
            camera.packet(sequence)
            if camera.method == "GET_PARAMETER", camera.requests.count > before { camera.answer() }
        }
        #expect(camera.requests.count - before == 5)
        #expect(camera.header("Session") == "7")
    }

    @Test
    func
        `a camera that falls silent with the connection open is asked, and left after ten seconds`()
        throws
    {
        var camera = try ScriptedCamera()
        camera.open()
        camera.packet(0)
        let before = camera.requests.count
        camera.wait(seconds: 3)
        #expect(camera.requests.count == before + 1)
        camera.answer()
        camera.wait(seconds: 6.5)
        #expect(camera.end == nil && camera.requests.count == before + 1)
        camera.wait(seconds: 1)
        #expect(camera.end == .silent("it has sent nothing for 10 s"))
    }

    @Test func `a silent camera that does not answer is closed after six seconds`() throws {
        var camera = try ScriptedCamera()
        camera.open()
        camera.packet(0)
        camera.wait(seconds: 5.9)
        #expect(camera.end == nil)
        camera.wait(seconds: 0.2)
        #expect(camera.end == .silent("it sends nothing, and does not answer"))
    }

    @Test func `a camera that pauses and continues is not closed`() throws {
        var camera = try ScriptedCamera()
        camera.open()
        camera.packet(0)
        camera.wait(seconds: 3)
        camera.answer()
        camera.wait(seconds: 6)
        camera.packet(1)
        camera.wait(seconds: 5)
        camera.packet(2)
        #expect(camera.end == nil && camera.unitCount == 2)
    }

    @Test
    func `a payload type other than described ends the session with both types`() throws {
        var own = try ScriptedCamera()
        own.open()
        for number in 0..<30 as Range<UInt16> where own.end == nil {
            own.packet(number, payloadType: 99)
            if own.method == "GET_PARAMETER" { own.answer() }
            own.wait(seconds: 0.5)
        }
        #expect(own.unitCount == 0)
        guard case .silent(let reason) = own.end else {
            Issue.record("\(String(describing: own.end))")
            return
        }
        #expect(reason.contains("99") && reason.contains("96") && reason.contains("no pictures"))
        #expect(own.now <= 11_000_000_000)
    }

    @Test func `audio of another payload type is reported once while pictures arrive`() throws {
        var own = try ScriptedCamera()
        own.open()
        for number in 0..<40 as Range<UInt16> {
            own.packet(number)
            own.packet(number, channel: 2, payloadType: 99, source: 8)
            own.wait(seconds: 0.5)
            if own.method == "GET_PARAMETER" { own.answer() }
        }
        let reasons = own.outputs.compactMap { output in
            if case .foreign(1, let reason) = output { reason } else { nil }
        }
        #expect(own.end == nil)
        #expect(
            reasons == [
                "sent no sound: its packets have payload type 99, and its description says 97"
            ])
    }

    @Test func `some packets of another payload type are ignored`() throws {
        var own = try ScriptedCamera()
        own.open()
        for number in 0..<40 as Range<UInt16> {
            own.packet(number, payloadType: number % 2 == 0 ? 96 : 99)
            own.wait(seconds: 0.5)
            if own.method == "GET_PARAMETER" { own.answer() }
        }
        #expect(own.end == nil && own.unitCount > 15)
    }

    @Test func `unanswered keep-alives do not end a session while pictures arrive`() throws {
        var camera = try ScriptedCamera()
        camera.open()
        for sequence in 0..<120 as Range<UInt16> {
            camera.wait(seconds: 1)
            camera.packet(sequence)
        }
        #expect(camera.end == nil)
        #expect(camera.method == "GET_PARAMETER")
    }

    @Test func `a session that has expired at the camera ends`() throws {
        var camera = try ScriptedCamera()
        camera.open()
        camera.packet(0)
        camera.wait(seconds: 3)
        camera.answer("454 Session Not Found")
        #expect(camera.end == .closed("its session has expired"))
    }

    /// BYE of a source; nil: of none that is named.
    private func goodbye(_ source: UInt8?) -> [UInt8] {
        source.map { [0x81, 203, 0, 1, 0, 0, 0, $0] } ?? [0x80, 203, 0, 0]
    }

    @Test(arguments: [nil, 1])
    func `a BYE for the video ends the session a second after the last picture`(
        source: UInt8?
    ) throws {
        var camera = try ScriptedCamera()
        camera.open()
        camera.packet(0)
        camera.control(goodbye(source), channel: 3)
        camera.wait(seconds: 2)
        #expect(camera.end == nil)
        camera.control(goodbye(source), channel: 1)
        camera.wait(seconds: 0.9)
        #expect(camera.end == nil)
        camera.wait(seconds: 0.2)
        #expect(camera.end == .closed("it has ended its stream"))
        #expect(camera.unitCount == 1)
    }

    @Test(arguments: [true, false])
    func `a BYE of a source that is replaced does not end the session`(isBefore: Bool) throws {
        var camera = try ScriptedCamera()
        camera.open()
        for number in 0..<10 as Range<UInt16> { camera.packet(number) }
        if isBefore { camera.control(goodbye(1), channel: 1) }
        for number in 500..<510 as Range<UInt16> {
            camera.wait(seconds: 0.04)
            camera.packet(number, source: 2)
        }
        if !isBefore { camera.control(goodbye(1), channel: 1) }
        camera.wait(seconds: 2)
        #expect(camera.end == nil)
        camera.control(goodbye(2), channel: 1)
        camera.wait(seconds: 1.1)
        #expect(camera.end == .closed("it has ended its stream"))
    }

    @Test func `a TEARDOWN of the camera is accepted, and ends the session at once`() throws {
        var camera = try ScriptedCamera()
        camera.open()
        camera.packet(0)
        camera.session.received(
            "TEARDOWN rtsp://camera/ RTSP/1.0\r\nCSeq: 5\r\nSession: 12345678\r\n\r\n".utf8,
            arrivalNanoseconds: 0)
        camera.collect()
        #expect(camera.request == ["RTSP/1.0 200 OK", "CSeq: 5"])
        #expect(camera.end == .closed("it has torn the session down"))
        #expect(camera.unitCount == 1)
    }

    @Test func `requests of a camera are answered and not followed`() throws {
        var camera = try ScriptedCamera()
        camera.open()
        camera.session.received(
            "REDIRECT rtsp://camera/ RTSP/1.0\r\nCSeq: 5\r\n\r\n".utf8, arrivalNanoseconds: 0)
        camera.collect()
        #expect(camera.request == ["RTSP/1.0 501 Not Implemented", "CSeq: 5"])
    }

    @Test func `stopping sends TEARDOWN and waits for a limited time`() throws {
        var camera = try ScriptedCamera()
        camera.open()
        camera.session.stop(now: 0)
        camera.collect()
        #expect(camera.method == "TEARDOWN")
        var other = camera
        camera.answer()
        #expect(camera.end == .stopped)
        other.wait(seconds: 6)
        #expect(other.end == .stopped)
    }

    @Test func `a stop outputs the last picture before the response, and nothing after it`() throws
    {
        var camera = try ScriptedCamera()
        camera.open()
        for number in 0..<3 as Range<UInt16> { camera.packet(number) }
        camera.session.stop(now: 0)
        camera.collect()
        #expect(camera.unitCount == 3)
        camera.packet(3)
        camera.answer()
        #expect(camera.end == .stopped)
        #expect(camera.unitCount == 3)
    }

    @Test func `a camera that sends over TCP although UDP was asked for is refused`() throws {
        var camera = try ScriptedCamera(transport: .udp)
        camera.answer()
        camera.answer(body: ScriptedCamera.description)
        camera.session.setUp([.init(track: 0, port: 6_000)], now: 0)
        camera.collect()
        camera.answer("200 OK", ["Session: 1", "Transport: RTP/AVP/TCP;interleaved=0-1"])
        #expect(
            camera.end
                == .broken(
                    "the camera sends over TCP although UDP was asked for: use --camera-transport tcp"
                ))
    }

    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "<html>\r\n", "HTTP/1.0 404 x\r\n\r\n"])
    func `an HTTP server ends the session with a question for the port`(answer: String) throws {
        var camera = try ScriptedCamera()
        camera.session.received(answer.utf8, arrivalNanoseconds: 0)
        camera.collect()
        #expect(
            camera.end
                == .broken(
                    "malformed RTSP message: it is HTTP: is this the RTSP port (554)?"))
    }

    @Test func `over UDP ports are stated, and reports go to the camera's ports`() throws {
        var camera = try ScriptedCamera(transport: .udp)
        camera.answer()
        camera.answer(body: ScriptedCamera.description)
        camera.session.setUp([.init(track: 0, port: 6_000)], now: 0)
        camera.collect()
        #expect(camera.header("Transport") == "RTP/AVP;unicast;client_port=6000-6001")
        camera.answer(
            "200 OK",
            [
                "Session: 1",
                "Transport: RTP/AVP;unicast;client_port=6000-6001;server_port=7000-7001",
            ])
        camera.session.play(now: 0)
        camera.collect()
        let opensFirewall = camera.outputs.contains {
            if case .sendDatagram(0, 7_000, false, _) = $0 { true } else { false }
        }
        #expect(opensFirewall)
        camera.answer()
        let isTold = camera.outputs.contains {
            if case .sendDatagram(0, 7_001, true, _) = $0 { true } else { false }
        }
        #expect(isTold)
        for sequence in [0, 2, 1, 3] as [UInt16] {
            camera.session.receivedDatagram(
                RTPPacket(
                    payloadType: 96, marker: true, sequence: sequence,
                    timestamp: UInt32(sequence), source: 1, payload: [0x65, 0x88, 1]
                ).bytes, track: 0, isControl: false, arrivalNanoseconds: 0)
        }
        camera.collect()
        #expect(camera.unitCount == 3)
        let hasHole = camera.outputs.contains { output in
            guard case .items(_, let items) = output else { return false }
            return items.contains { if case .hole = $0 { true } else { false } }
        }
        #expect(!hasHole)
    }

    @Test func `bytes that are not RTSP end the session`() throws {
        var camera = try ScriptedCamera()
        camera.session.received([0xFF, 1, 2], arrivalNanoseconds: 0)
        camera.collect()
        guard case .broken = camera.end else {
            Issue.record("\(String(describing: camera.end))")
            return
        }
    }
}
