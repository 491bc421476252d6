import Testing

@testable import RTSP

@Suite struct RTSPReaderTests {
    private static let stream: [UInt8] =
        Array("RTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Length: 4\r\n\r\nv=0\n".utf8)
        + [0x24, 1, 0, 3, 7, 8, 9]
        + Array("\r\nRTSP/1.0 404 Stream Not Found\nCSeq:3\n\n".utf8)
        + Array("ANNOUNCE rtsp://c RTSP/1.0\r\nCSeq: 9\r\n\r\n".utf8)

    private func items(_ pieces: [[UInt8]]) throws -> [RTSPReader.Item] {
        var reader = RTSPReader()
        var items: [RTSPReader.Item] = []
        for piece in pieces {
            reader.add(piece)
            while let item = try reader.next() { items.append(item) }
        }
        #expect(reader.waitingBytes == 0)
        return items
    }

    @Test func `messages and packets are parsed from bytes in any pieces`() throws {
        let whole = try items([Self.stream])
        #expect(whole.count == 4)
        guard case .response(let first) = whole[0], case .response(let second) = whole[2] else {
            Issue.record("no responses")
            return
        }
        #expect(first.status == 200 && first.sequence == 2 && first.body == Array("v=0\n".utf8))
        #expect(whole[1] == .packet(channel: 1, bytes: [7, 8, 9]))
        #expect(second.status == 404 && second.summary == "404 Stream Not Found")
        guard case .request(let request) = whole[3] else {
            Issue.record("no request")
            return
        }
        #expect(request.firstLine == "ANNOUNCE rtsp://c RTSP/1.0" && request.value("cseq") == "9")
        #expect(try items(Self.stream.map { [$0] }) == whole)
        for cut in 1..<Self.stream.count {
            #expect(try items([Array(Self.stream[..<cut]), Array(Self.stream[cut...])]) == whole)
        }
    }

    @Test func `a header without end is refused at its limit`() throws {
        var reader = RTSPReader()
        reader.add(Array("RTSP/1.0 200 OK\r\n".utf8))
        let line = Array("X: \(String(repeating: "x", count: 1_000))\r\n".utf8)
        var error: RTSPError?
        for _ in 0..<100 where error == nil {
            reader.add(line)
            do throws(RTSPError) { _ = try reader.next() } catch let found { error = found }
        }
        #expect(error == .tooLarge(part: "message's header", limitBytes: 65_536))
    }

    @Test func `a body above the limit is refused by its stated length`() {
        var reader = RTSPReader()
        reader.add(Array("RTSP/1.0 200 OK\r\nContent-Length: 300000\r\n\r\n".utf8))
        #expect(throws: RTSPError.tooLarge(part: "message's body", limitBytes: 262_144)) {
            try reader.next()
        }
    }

    @Test(
        arguments: [
            "Content-Length: -1", "Content-Length: x", "A\0B: c", "A: 7\u{1}", "A: 7\u{7F}",
            "Content-Length: 1\r\nContent-Length: 2",
        ])
    func `nonsense in a header is refused`(line: String) {
        var reader = RTSPReader()
        reader.add(Array("RTSP/1.0 200 OK\r\n\(line)\r\n\r\n".utf8))
        #expect(throws: RTSPError.self) { try reader.next() }
    }

    @Test func `the longest interleaved packet is read, with one after it`() throws {
        var reader = RTSPReader()
        let long = [UInt8](repeating: 7, count: 65_535)
        reader.add([0x24, 0, 0xFF, 0xFF] + long[..<40_000])
        #expect(try reader.next() == nil)
        reader.add(long[40_000...] + [0x24, 1, 0, 1, 9])
        #expect(try reader.next() == .packet(channel: 0, bytes: long))
        #expect(try reader.next() == .packet(channel: 1, bytes: [9]))
    }

    @Test func `a bare CR in a value becomes a space`() throws {
        var reader = RTSPReader()
        reader.add(Array("RTSP/1.0 200 OK\r\nSession: 7\rEvil: 1\r\r\n\r\n".utf8))
        guard case .response(let response) = try reader.next() else {
            Issue.record("no response")
            return
        }
        #expect(response.head.value("session") == "7 Evil: 1")
    }

    @Test func `a Transport header with blanks in ssrc and other numbers is parsed`() {
        let header = TransportHeader(
            parsing: "RTP/AVP/TCP;unicast;interleaved=4-5;ssrc= 1A 2B ;mode=\"PLAY\"")
        #expect(header.interleaved?.rtp == 4 && header.interleaved?.rtcp == 5)
        #expect(TransportHeader(parsing: "RTP/AVP;server_port=6970").serverPorts?.rtcp == 6_971)
        #expect(TransportHeader(parsing: "RTP/AVP;server_port=99999-1").serverPorts == nil)
        #expect(TransportHeader(parsing: "RTP/AVP/TCP;interleaved=255").interleaved == nil)
    }
}
