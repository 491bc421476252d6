import Hashing
import Media
import Testing

@testable import RTSPServer

@Suite struct ServerSessionTests {
    /// A client, and the server's session of it.
    private final class Client {
        static let second: Int64 = 1_000_000_000
        var session: ServerSession
        var sequence = 0
        var now: Int64 = 0
        /// Actions that the session requires and that are pending.
        var requests: [ServerSession.Action] = []

        init(ports: ServerPorts? = ServerPorts(rtp: 6_000, rtcp: 6_001)) {
            session = ServerSession(identifier: "abcdefgh12345678", ports: ports, now: 0)
        }

        /// The text of what is sent.
        func ask(_ line: String, _ headers: String...) -> String {
            sequence += 1
            let text =
                "\(line) RTSP/1.0\r\nCSeq: \(sequence)\r\n"
                + headers.map { "\($0)\r\n" }.joined() + "\r\n"
            return take(session.receive(Array(text.utf8), now: now))
        }

        func take(_ actions: [ServerSession.Action]) -> String {
            var text = ""
            for action in actions {
                if case .send(let bytes) = action {
                    text += String(decoding: bytes, as: UTF8.self)
                } else {
                    requests.append(action)
                }
            }
            return text
        }

        func grant(_ formats: [TrackFormat] = [ServedMedia.h264, ServedMedia.audio])
            -> String
        {
            requests = []
            let presentation = ServedPresentation(name: "stage", formats: formats, extent: .live)
            return take(
                session.resolved(
                    .granted(presentation, sources: Array([0xA, 0xB].prefix(formats.count))),
                    now: now))
        }

        func refuse(_ status: ServerStatus) -> String {
            take(session.resolved(.refused(status), now: now))
        }

        func tick(takesPackets: Bool = false, at seconds: Int64) -> String {
            take(session.tick(takesPackets: takesPackets, now: seconds * Self.second))
        }

        func receive(_ bytes: [UInt8]) -> String { take(session.receive(bytes, now: now)) }

        func setUp() -> String {
            _ = ask("DESCRIBE rtsp://h/live/stage")
            _ = grant()
            _ = ask(
                "SETUP rtsp://h/live/stage/trackID=0",
                "Transport: RTP/AVP/TCP;unicast;interleaved=0-1")
            return ask(
                "SETUP rtsp://h/live/stage/trackID=1", "Session: abcdefgh12345678",
                "Transport: RTP/AVP/TCP;unicast;interleaved=2-3")
        }
    }

    @Test func `a player describes, sets up, plays, pauses and ends`() {
        let client = Client()
        #expect(client.ask("OPTIONS *").hasPrefix("RTSP/1.0 200 OK\r\nCSeq: 1\r\nPublic: OPTIONS"))
        #expect(client.ask("DESCRIBE rtsp://u:p@h/live/stage").isEmpty)
        #expect(client.session.isWaiting)
        #expect(
            client.requests == [
                .resolve(.init(resource: .live(source: "stage"), credentials: nil))
            ])
        let description = client.grant()
        #expect(description.contains("Content-Base: rtsp://h/live/stage/\r\n"))
        #expect(description.contains("m=video 0 RTP/AVP 96\r\n"))
        let setUp = client.setUp()
        #expect(
            setUp.contains(
                "Transport: RTP/AVP/TCP;unicast;interleaved=2-3;ssrc=0000000B\r\n"), "\(setUp)")
        #expect(setUp.contains("Session: abcdefgh12345678;timeout=60\r\n"))
        client.requests = []
        #expect(
            client.ask(
                "PLAY rtsp://h/live/stage/", "Session: abcdefgh12345678", "Range: npt=0.000-"
            ).isEmpty)
        #expect(
            client.requests == [
                .play(
                    .from(0, until: nil),
                    tracks: [
                        0: .interleaved(rtp: 0, rtcp: 1), 1: .interleaved(rtp: 2, rtcp: 3),
                    ])
            ])
        let beginning = ServerSession.Beginning(
            startNanoseconds: nil, tracks: [0: .init(sequence: 7, timestamp: 8)])
        let playing = client.take(client.session.began(beginning, now: 0))
        #expect(playing.contains("Range: npt=now-\r\n"))
        #expect(
            playing.contains("RTP-Info: url=rtsp://h/live/stage/trackID=0;seq=7;rtptime=8\r\n"))
        #expect(client.session.isPlaying)
        client.requests = []
        #expect(
            client.ask("PAUSE rtsp://h/live/stage/", "Session: abcdefgh12345678")
                .contains("200 OK"))
        #expect(!client.session.isPlaying)
        #expect(
            client.ask("TEARDOWN rtsp://h/live/stage/", "Session: abcdefgh12345678;timeout=60")
                .contains("200 OK"))
        #expect(client.requests == [.pause, .tearDown])
        #expect(
            client.ask("PLAY rtsp://h/live/stage/", "Session: abcdefgh12345678")
                .contains("454 "))
    }

    @Test func `datagrams are sent to the requested ports of the client's address only`() {
        let client = Client()
        _ = client.ask("DESCRIBE rtsp://h/live/stage")
        _ = client.grant()
        let answer = client.ask(
            "SETUP rtsp://h/live/stage/trackID=0",
            "Transport: RTP/AVP;unicast;destination=192.0.2.1;client_port=5000-5001")
        #expect(
            answer.contains(
                "Transport: RTP/AVP;unicast;client_port=5000-5001;server_port=6000-6001;ssrc=0000000A\r\n"
            ), "\(answer)")
        let plain = Client(ports: nil)
        _ = plain.ask("DESCRIBE rtsp://h/live/stage")
        _ = plain.grant()
        #expect(
            plain.ask(
                "SETUP rtsp://h/live/stage/trackID=0", "Transport: RTP/AVP;client_port=5000-5001"
            ).contains("461 "))
    }

    /// FFmpeg, without packets by UDP, pauses and sets the tracks up again one after the other.
    @Test func `a client may change from UDP to TCP, with all tracks`() {
        let client = Client()
        _ = client.ask("DESCRIBE rtsp://h/live/stage")
        _ = client.grant()
        let named = "Session: abcdefgh12345678"
        func setUp(_ track: Int, _ transport: String) -> String {
            client.ask(
                "SETUP rtsp://h/live/stage/trackID=\(track)", named, "Transport: \(transport)")
        }
        func play() -> [ServerSession.Action] {
            client.requests = []
            _ = client.ask("PLAY rtsp://h/live/stage/", named)
            return client.requests
        }
        for track in 0...1 {
            #expect(
                setUp(track, "RTP/AVP;unicast;client_port=\(5000 + 2 * track)").contains("200 OK"))
        }
        #expect(play().count == 1)
        let beginning = ServerSession.Beginning(startNanoseconds: nil, tracks: [:])
        _ = client.take(client.session.began(beginning, now: 0))
        #expect(setUp(0, "RTP/AVP/TCP;unicast;interleaved=0-1").contains("455 "))
        _ = client.ask("PAUSE rtsp://h/live/stage/", named)
        for track in 0...1 {
            #expect(setUp(track, "RTP/AVP/TCP;unicast").contains("200 OK"))
        }
        #expect(
            play() == [
                .play(
                    .unspecified,
                    tracks: [0: .interleaved(rtp: 0, rtcp: 1), 1: .interleaved(rtp: 2, rtcp: 3)])
            ])
    }

    @Test func `a track that is not set up again for the other transport is not played`() {
        let client = Client()
        _ = client.setUp()
        #expect(
            client.ask(
                "SETUP rtsp://h/live/stage/trackID=1", "Session: abcdefgh12345678",
                "Transport: RTP/AVP;unicast;client_port=5000-5001"
            ).contains("200 OK"))
        client.requests = []
        _ = client.ask("PLAY rtsp://h/live/stage/", "Session: abcdefgh12345678")
        #expect(
            client.requests == [
                .play(.unspecified, tracks: [1: .datagrams(rtp: 5_000, rtcp: 5_001)])
            ])
    }

    @Test func `two tracks cannot share a channel`() {
        let client = Client()
        _ = client.setUp()
        #expect(
            client.ask(
                "SETUP rtsp://h/live/stage/trackID=1",
                "Transport: RTP/AVP/TCP;unicast;interleaved=1-5"
            ).contains("461 "))
    }

    @Test func `refusals have HTTP's status, and a fifth refused log-in closes the connection`() {
        let client = Client()
        for attempt in 1...5 {
            _ = client.ask("DESCRIBE rtsp://h/live/stage", "Authorization: Basic YTpi")
            #expect(
                client.requests.last
                    == .resolve(
                        .init(
                            resource: .live(source: "stage"),
                            credentials: .basic(name: "a", password: "b"))))
            client.requests = []
            let answer = client.refuse(.unauthorized)
            #expect(
                answer.contains("401 Unauthorized")
                    && answer.contains("WWW-Authenticate: Basic realm="), "\(attempt)")
        }
        #expect(client.requests == [.close(reason: "5 log-ins were refused")])
        #expect(client.ask("OPTIONS *").isEmpty)
        let other = Client()
        _ = other.ask("DESCRIBE rtsp://h/live/stage?token=abc")
        #expect(
            other.requests
                == [.resolve(.init(resource: .live(source: "stage"), credentials: .token("abc")))])
        #expect(
            other.refuse(.notFound).contains("404 "))
    }

    @Test func `a session has one presentation; tracks of another one are refused`() {
        let client = Client()
        _ = client.setUp()
        #expect(
            client.ask("SETUP rtsp://h/live/other/trackID=0", "Transport: RTP/AVP/TCP")
                .contains("459 "))
        #expect(client.ask("PLAY rtsp://h/live/stage/").contains("454 "))
        #expect(
            client.ask("PLAY rtsp://h/live/stage/", "Session: ABCDEFGH12345678")
                .contains("454 "))
        #expect(
            client.ask("PAUSE rtsp://h/live/stage/", "Session: abcdefgh12345678")
                .contains("455 "))
        #expect(
            client.ask("PLAY rtsp://h/live/stage/trackID=0", "Session: abcdefgh12345678")
                .contains("460 "))
        #expect(
            client.ask(
                "PLAY rtsp://h/live/stage/", "Session: abcdefgh12345678", "Range: clock=x-"
            ).contains("457 "))
        #expect(client.requests.isEmpty)
    }

    @Test func `SETUP without the query of DESCRIBE has its start and credentials`() {
        let client = Client()
        _ = client.ask("DESCRIBE rtsp://h/latest/stage?from=83.5&token=abc")
        let description = client.grant()
        // Logs of players and proxies have no token.
        #expect(description.contains("Content-Base: rtsp://h/latest/stage/\r\n"))
        #expect(!description.contains("abc"))
        let first = client.ask("SETUP rtsp://h/latest/stage/trackID=0", "Transport: RTP/AVP/TCP")
        #expect(first.contains("200 OK"))
        // Of a player that appends the track to the URL.
        let second = client.ask(
            "SETUP rtsp://h/latest/stage?from=83.5&token=abc/trackID=1",
            "Session: abcdefgh12345678", "Transport: RTP/AVP/TCP")
        #expect(second.contains("200 OK"))
        #expect(client.requests.isEmpty)
    }

    @Test func `SETUP of another path, or with another start, is looked up`() {
        for path in ["latest/door", "other/stage", "live/stage", "latest/stage?from=2"] {
            let client = Client()
            _ = client.ask("DESCRIBE rtsp://h/latest/stage?from=83.5&token=abc")
            _ = client.grant()
            #expect(client.ask("SETUP rtsp://h/\(path)/trackID=0").isEmpty, "\(path)")
            guard case .resolve(let lookup)? = client.requests.last else {
                Issue.record("\(client.requests)")
                continue
            }
            #expect(lookup.credentials == nil, "\(path)")
        }
    }

    @Test func `after TEARDOWN, SETUP looks the resource up again`() {
        let client = Client()
        _ = client.ask("DESCRIBE rtsp://h/latest/stage?from=83.5&token=abc")
        _ = client.grant()
        _ = client.ask("SETUP rtsp://h/latest/stage/trackID=0", "Transport: RTP/AVP/TCP")
        #expect(
            client.ask("TEARDOWN rtsp://h/latest/stage/", "Session: abcdefgh12345678")
                .contains("200 OK"))
        client.requests = []
        #expect(client.tick(at: 20).isEmpty && client.requests.isEmpty)
        #expect(
            client.ask("SETUP rtsp://h/latest/stage/trackID=0", "Transport: RTP/AVP/TCP").isEmpty)
        #expect(
            client.requests == [
                .resolve(
                    .init(
                        resource: .recording(session: "latest", source: "stage", from: "83.5"),
                        credentials: .token("abc")))
            ])
        #expect(client.grant().contains("200 OK"))
        #expect(client.ask("PLAY rtsp://h/latest/stage/", "Session: abcdefgh12345678").isEmpty)
        #expect(
            client.requests == [
                .play(.unspecified, tracks: [0: .interleaved(rtp: 0, rtcp: 1)])
            ])
    }

    @Test func `the response states the range that is played`() {
        let client = Client()
        _ = client.setUp()
        client.requests = []
        _ = client.ask("PLAY rtsp://h/live/stage/", "Session: abcdefgh12345678", "Range: npt=4-5")
        guard case .play(.from(4_000_000_000, until: 5_000_000_000), _)? = client.requests.last
        else {
            Issue.record("\(client.requests)")
            return
        }
        let beginning = ServerSession.Beginning(
            startNanoseconds: 2_000_000_000, endNanoseconds: 5_000_000_000, tracks: [:])
        #expect(
            client.take(client.session.began(beginning, now: 0))
                .contains("Range: npt=2.000-5.000\r\n"))
    }

    @Test func `after a seek that failed, playback continues`() {
        let client = Client()
        let play = ["PLAY rtsp://h/live/stage/", "Session: abcdefgh12345678"]
        _ = client.setUp()
        _ = client.ask(play[0], play[1])
        let beginning = ServerSession.Beginning(startNanoseconds: 0, tracks: [:])
        _ = client.take(client.session.began(beginning, now: 0))
        client.requests = []
        _ = client.ask(play[0], play[1], "Range: npt=999999-")
        #expect(client.requests.count == 1)
        #expect(
            client.take(client.session.failed(.invalidRange, now: 0)).contains("457 Invalid Range"))
        #expect(client.session.isPlaying)
        client.requests = []
        #expect(client.ask("PAUSE rtsp://h/live/stage/", play[1]).contains("200 OK"))
        #expect(client.requests == [.pause])
    }

    @Test func `PLAY without a range is ignored while playing, and continues after the end`() {
        let client = Client()
        let play = ["PLAY rtsp://h/live/stage/", "Session: abcdefgh12345678"]
        _ = client.setUp()
        _ = client.ask(play[0], play[1])
        let beginning = ServerSession.Beginning(startNanoseconds: 0, tracks: [:])
        _ = client.take(client.session.began(beginning, now: 0))
        client.requests = []
        #expect(client.ask(play[0], play[1]).contains("200 OK"))
        #expect(client.requests.isEmpty && client.session.isPlaying)
        client.session.finished()
        #expect(!client.session.isPlaying)
        #expect(client.ask(play[0], play[1]).isEmpty)
        #expect(client.requests.count == 1)
    }

    @Test func `methods that would change the server are refused`() {
        let client = Client()
        for method in ["SET_PARAMETER", "ANNOUNCE", "RECORD", "REDIRECT"] {
            #expect(client.ask("\(method) rtsp://h/live/stage").contains("405 "))
        }
        #expect(client.ask("BREW rtsp://h/live/stage").contains("501 "))
        #expect(client.ask("DESCRIBE rtsp://h/nothing").contains("404 "))
        #expect(client.ask("OPTIONS *", "Require: x\u{E9}y").contains("551 "))
        #expect(client.ask("OPTIONS *", "Require: x\ty").contains("Unsupported: xy\r\n"))
        #expect(client.requests.isEmpty)
    }

    @Test func `requests after a pending one are answered in order`() {
        let client = Client()
        let text =
            "DESCRIBE rtsp://h/live/stage RTSP/1.0\r\nCSeq: 1\r\n\r\nOPTIONS * RTSP/1.0\r\nCSeq: 2\r\n\r\n"
        #expect(client.receive(Array(text.utf8)).isEmpty)
        let answers = client.grant()
        let numbers = answers.split(separator: "\r\n").filter { $0.hasPrefix("CSeq: ") }
        #expect(numbers == ["CSeq: 1", "CSeq: 2"])
    }

    @Test func `ten thousand SETUP requests close the connection`() {
        let client = Client()
        _ = client.setUp()
        client.requests = []
        var asked = 0
        while client.requests.isEmpty, asked < 10_000 {
            _ = client.ask(
                "SETUP rtsp://h/live/stage/trackID=0",
                "Transport: RTP/AVP/TCP;unicast;interleaved=0-1")
            asked += 1
        }
        #expect(asked < 100)
        #expect(client.requests == [.close(reason: "too many requests a second")])
    }

    @Test func `a flood of reports closes the connection, reports of a player do not`() {
        let client = Client()
        _ = client.setUp()
        client.requests = []
        let report: [UInt8] = [0x24, 1, 0, 52] + [UInt8](repeating: 0, count: 52)
        for second in 0..<600 {
            client.now = Int64(second) * Client.second
            _ = client.take(client.session.receive(report + report, now: client.now))
        }
        #expect(client.requests.isEmpty)
        var sent = 0
        while client.requests.isEmpty, sent < 1_000_000 {
            _ = client.take(client.session.receive(report, now: client.now))
            sent += 1
        }
        #expect(client.requests == [.close(reason: "too many bytes a second")])
        #expect(sent < 20_000)
    }

    @Test func `idle and silent clients are disconnected`() {
        let idle = Client()
        #expect(idle.tick(at: 15).isEmpty)
        _ = idle.tick(at: 16)
        #expect(idle.requests == [.close(reason: "nothing granted within 15 s")])
        let reader = Client()
        _ = reader.setUp()
        reader.requests = []
        #expect(reader.tick(takesPackets: true, at: 60).isEmpty)
        #expect(reader.tick(at: 120).isEmpty)
        reader.session.heard(now: 121 * Client.second)
        #expect(reader.tick(at: 181).isEmpty)
        _ = reader.tick(at: 182)
        #expect(reader.requests == [.close(reason: "nothing heard for 60 s")])
    }
}
