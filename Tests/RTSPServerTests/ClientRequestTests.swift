import Testing

@testable import RTSPServer

@Suite struct ClientRequestTests {
    @Test func `addresses name a live source, or a recording`() throws {
        let live = try #require(ServedAddress(parsing: "rtsp://host:8554/live/stage"))
        #expect(live.resource == .live(source: "stage"))
        #expect(live.base == "rtsp://host:8554/live/stage/")
        let recording = try #require(
            ServedAddress(
                parsing:
                    "rtsps://u:p@[::1]/latest/stage/?from=2026-11-20T22%3A40:00Z&token=abc/trackID=1"
            ))
        #expect(
            recording.resource
                == .recording(
                    session: "latest", source: "stage", from: "2026-11-20T22:40:00Z"))
        #expect(recording.token == "abc")
        #expect(recording.track == 1)
        #expect(recording.base == "rtsps://[::1]/latest/stage/")
        #expect(ServedAddress(parsing: "RTSP://h/live/a/trackID=0")?.track == 0)
    }

    @Test(
        arguments: [
            "", "*", "http://h/live/a", "rtsp://h/live", "rtsp://h/live/a/b", "rtsp:///live/a",
            "rtsp://h/live/..", "rtsp://h/../a", "rtsp://h/live/a?from=1", "rtsp://h/s/a?x=1",
            "rtsp://h/s/a?from=1&from=2", "rtsp://h/s/a?from=%0D", "rtsp://h/s/a?from=%+1",
            "rtsp://h/live/a/trackID=9", "rtsp://h/live/a/trackID=-1", "rtsp://h/live/%61",
        ])
    func `an address without a resource is rejected`(text: String) {
        #expect(ServedAddress(parsing: text) == nil)
        #expect(
            ServedAddress(parsing: "rtsp://h/live/" + String(repeating: "a", count: 9_000)) == nil)
    }

    @Test func `transports of players are parsed`() {
        func read(_ text: String, _ track: Int = 0, datagrams: Bool = true) -> ClientTransport? {
            ClientTransport(parsing: text, track: track, allowsDatagrams: datagrams)
        }
        #expect(
            read("RTP/AVP/TCP;unicast;interleaved=4-5") == .interleaved(rtp: 4, rtcp: 5))
        #expect(read("RTP/AVP/TCP;unicast", 1) == .interleaved(rtp: 2, rtcp: 3))
        #expect(
            read("RTP/AVP/UDP;unicast;client_port=5000-5001")
                == .datagrams(rtp: 5_000, rtcp: 5_001))
        let either = "RTP/AVP;unicast;client_port=5000-5001, RTP/AVP/TCP;interleaved=0-1"
        #expect(read(either, datagrams: false) == .interleaved(rtp: 0, rtcp: 1))
        for other in [
            "", "RTP/AVP;multicast", "RTP/SAVP;unicast;client_port=5000-5001",
            "RTP/AVP;client_port=22-23", "RTP/AVP;client_port=5000-70000", "RTP/AVP",
            "RTP/AVP/TCP;interleaved=255", "RTP/AVP/TCP;interleaved=300-301",
            "RTP/AVP/TCP;interleaved=1-1", "RTP/AVP/TCP;mode=record",
        ] {
            #expect(read(other) == nil, "\(other)")
        }
    }

    @Test func `ranges have a start, and may have an end`() {
        #expect(PlayRange(nil) == .unspecified)
        #expect(PlayRange("npt=now-") == .now)
        #expect(PlayRange("npt=0.000-") == .from(0, until: nil))
        #expect(
            PlayRange("npt=83.5-90;time=x") == .from(83_500_000_000, until: 90_000_000_000))
        #expect(PlayRange("npt=0:01:23.000000001-") == .from(83_000_000_001, until: nil))
        for other in [
            "clock=20261120T224000Z-", "npt=-5", "npt=1:2-", "npt=x-", "npt=1.x-", "npt=+1-",
            "npt=99999999999-", "smpte=0:0:0-", "npt=5", "npt=5-4", "npt=5-5", "npt=5-x",
            "npt=now-9", "npt=1-2-3",
        ] {
            #expect(PlayRange(other) == nil, "\(other)")
        }
        #expect(PlayRange.text(83_050_000_000) == "83.050")
        #expect(PlayRange.text(-1) == "0.000")
    }

    @Test func `a reader separates requests and packets, cut anywhere`() throws {
        let text = "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n"
        let body =
            "GET_PARAMETER rtsp://h/live/a RTSP/1.0\r\nCSeq: 2\r\nContent-Length: 3\r\n\r\nabc"
        let bytes =
            Array(text.utf8) + [0x24, 1, 0, 5, 0x4F, 0x0D, 0x0A, 0x24, 9] + Array(body.utf8)
        for size in 1...bytes.count {
            var reader = ClientReader()
            var items: [String] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                try reader.add(bytes[start..<min(start + size, bytes.count)])
                while let item = try reader.next() {
                    switch item {
                    case .packet: items.append("packet")
                    case .request(let request):
                        items.append("\(request.method?.rawValue ?? "") \(request.sequence)")
                    }
                }
            }
            #expect(items == ["OPTIONS 1", "packet", "GET_PARAMETER 2"], "\(size)")
            #expect(reader.waitingBytes == 0)
        }
    }

    @Test(
        arguments: [
            "\0", "options * RTSP/1.0\r\n\r\n", "OPTIONS * HTTP/1.1\r\nCSeq: 1\r\n\r\n",
            "OPTIONS * RTSP/1.0\r\n\r\n", "OPTIONS * RTSP/1.0\r\nCSeq: 1\u{7F}\r\n\r\n",
            "OPTIONS * RTSP/1.0\r\nCSeq: 99999999999\r\n\r\n",
            "OPTIONS  * RTSP/1.0\r\nCSeq: 1\r\n\r\n",
            "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: -1\r\n\r\n",
            "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 99999999\r\n\r\n",
            "OPTIONS \u{E9} RTSP/1.0\r\nCSeq: 1\r\n\r\n",
            "RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n",
        ])
    func `a malformed request is an error`(text: String) throws {
        var reader = ClientReader()
        try reader.add(Array(text.utf8))
        #expect(throws: RTSPServerError.self) { while try reader.next() != nil {} }
    }

    @Test func `an endless header is rejected at its limit`() throws {
        var reader = ClientReader()
        try reader.add(Array("OPTIONS * RTSP/1.0\r\n".utf8))
        #expect(throws: RTSPServerError.self) {
            for _ in 0..<1_000 {
                try reader.add([UInt8](repeating: UInt8(ascii: "a"), count: 100))
                while try reader.next() != nil {}
            }
        }
        #expect(reader.waitingBytes <= ClientReader.maximumHeadBytes + 200)
    }
}
