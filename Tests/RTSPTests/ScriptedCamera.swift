import Testing

@testable import RTSP

/// A camera with scripted answers, without sockets.
struct ScriptedCamera {
    var session: CameraSession
    var now: Int64 = 0
    var outputs: [CameraSession.Output] = []
    /// Requests as they were sent.
    var requests: [[String]] = []

    static let description = """
        v=0
        s=x
        a=control:*
        m=video 0 RTP/AVP 96
        a=rtpmap:96 H264/90000
        a=control:track1
        m=audio 0 RTP/AVP 97
        a=rtpmap:97 mpeg4-generic/48000/2
        a=fmtp:97 mode=AAC-hbr;config=1190;sizelength=13;indexlength=3;indexdeltalength=3
        a=control:track2
        """

    init(
        _ url: String = "rtsp://camera/live", login: CameraLogin? = nil,
        transport: CameraSession.Transport = .tcp
    ) throws {
        session = CameraSession(
            url: try RTSPURL(parsing: url), login: login, transport: transport, agent: "test",
            random: 1)
        session.start(now: 0)
        collect()
    }

    mutating func collect() {
        for output in session.takeOutputs() {
            if case .send(let bytes) = output, bytes.first != UInt8(ascii: "$") {
                requests.append(
                    String(decoding: bytes, as: UTF8.self).split(separator: "\r\n").map(String.init)
                )
            } else {
                outputs.append(output)
            }
        }
    }

    var request: [String] { requests.last ?? [] }
    var method: String { request.first?.split(separator: " ").first.map(String.init) ?? "" }

    func header(_ name: String) -> String? {
        request.first { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
    }

    mutating func answer(
        _ status: String = "200 OK", _ headers: [String] = [], body: String = "",
        sequence: String? = nil
    ) {
        var text = "RTSP/1.0 \(status)\r\n"
        if let sequence = sequence ?? header("CSeq") { text += "CSeq: \(sequence)\r\n" }
        for header in headers { text += "\(header)\r\n" }
        text += "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        session.received(text.utf8, arrivalNanoseconds: now)
        collect()
    }

    /// Everything until packets come.
    mutating func open(session id: String = "Session: 12345678;timeout=60") {
        answer("200 OK", ["Public: OPTIONS, DESCRIBE, SETUP, PLAY, GET_PARAMETER, TEARDOWN"])
        answer("200 OK", ["Content-Base: rtsp://camera/live/"], body: Self.description)
        session.setUp([.init(track: 0), .init(track: 1)], now: now)
        collect()
        answer("200 OK", [id, "Transport: RTP/AVP/TCP;unicast;interleaved=0-1"])
        answer("200 OK", [id, "Transport: RTP/AVP/TCP;unicast;interleaved=2-3"])
        session.play(now: now)
        collect()
        answer()
    }

    mutating func packet(
        _ sequence: UInt16, channel: UInt8 = 0, payloadType: UInt8 = 96, source: UInt32 = 1,
        payload: [UInt8] = [0x65, 0x88, 1]
    ) {
        let bytes = RTPPacket(
            payloadType: payloadType, marker: true, sequence: sequence,
            timestamp: UInt32(sequence) * 3_000, source: source, payload: payload
        ).bytes
        session.received(
            [0x24, channel, 0, UInt8(bytes.count)] + bytes, arrivalNanoseconds: now)
        collect()
    }

    /// An RTCP packet.
    mutating func control(_ bytes: [UInt8], channel: UInt8) {
        session.received([0x24, channel, 0, UInt8(bytes.count)] + bytes, arrivalNanoseconds: now)
        collect()
    }

    mutating func wait(seconds: Double) {
        let end = now + Int64(seconds * 1e9)
        while session.deadlineNanoseconds <= end {
            let next = max(now, session.deadlineNanoseconds)
            let before = requests.count + outputs.count
            now = next
            session.tick(now: now)
            collect()
            // A session whose deadline stays where it is would be asked for ever.
            if requests.count + outputs.count == before, session.deadlineNanoseconds <= now {
                Issue.record("the deadline does not move")
                return
            }
        }
        now = end
        session.tick(now: now)
        collect()
    }

    var end: SessionEnd? {
        outputs.compactMap { if case .ended(let end) = $0 { end } else { nil } }.first
    }

    /// Units and holes of a track.
    func items(of track: Int) -> [DepacketizedItem] {
        outputs.flatMap { output in
            if case .items(track, let items) = output { items } else { [DepacketizedItem]() }
        }
    }

    var unitCount: Int {
        outputs.reduce(0) { sum, output in
            guard case .items(_, let items) = output else { return sum }
            return sum + items.count { if case .unit = $0 { true } else { false } }
        }
    }
}
