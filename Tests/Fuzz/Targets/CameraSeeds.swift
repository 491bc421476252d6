@testable import RTSP

/// The output of a correct camera.
enum CameraSeeds {
    static let description = Array(
        """
        v=0
        a=control:*
        m=video 0 RTP/AVP 96
        a=rtpmap:96 H264/90000
        a=fmtp:96 packetization-mode=1; sprop-parameter-sets=Z00AKZpmA8ARPy4C1AQEBQAAAwPoAADDUOhgBJPgAAST6u8uNDAAknwAAJJ91d5cKA==,aO48gA==
        a=control:track1
        m=audio 0 RTP/AVP 97
        a=rtpmap:97 mpeg4-generic/48000/2
        a=fmtp:97 mode=AAC-hbr;config=1190;sizelength=13;indexlength=3;indexdeltalength=3
        a=control:track2

        """.utf8)

    /// Sound of all other kinds.
    static let sound = Array(
        """
        v=0
        m=audio 0 RTP/AVP 0
        m=audio 0 RTP/AVP 97
        a=rtpmap:97 L16/16000/2
        m=audio 0 RTP/AVP 98
        a=rtpmap:98 opus/48000/2
        a=fmtp:98 sprop-stereo=1
        m=audio 0 RTP/AVP 99
        a=rtpmap:99 MP4A-LATM/48000/2
        a=fmtp:99 cpresent=0;config=400023203fc0

        """.utf8)

    static let challenge = Array(
        #"Digest realm="camera", nonce="a1", qop="auth", algorithm=SHA-256, opaque="b", Digest realm="camera", nonce="c", Basic realm="x""#
            .utf8)

    static let address = Array("rtsp://[fe80::1]:8554/live?channel=1".utf8)

    private static func answer(
        _ sequence: Int, _ headers: [String] = [], body: [UInt8] = [], status: String = "200 OK"
    ) -> [UInt8] {
        let lines = ["RTSP/1.0 \(status)", "CSeq: \(sequence)"] + headers
        return Array(
            (lines + ["Content-Length: \(body.count)", "", ""]).joined(separator: "\r\n").utf8)
            + body
    }

    private static func packet(
        _ sequence: UInt16, _ payload: [UInt8], type: UInt8 = 96, channel: UInt8? = 0
    ) -> [UInt8] {
        let bytes = RTPPacket(
            payloadType: type, marker: true, sequence: sequence,
            timestamp: UInt32(sequence) * 3_000, source: 1, payload: payload
        ).bytes
        return channel.map { [0x24, $0, 0, UInt8(bytes.count)] + bytes } ?? bytes
    }

    /// A session with a login, over TCP.
    static var session: [UInt8] {
        var script = InputWriter()
        script.byte(2)
        func received(_ bytes: [UInt8]) {
            script.byte(0)
            script.block(bytes)
        }
        received(
            answer(
                1, ["WWW-Authenticate: Digest realm=\"c\", nonce=\"n\""],
                status: "401 Unauthorized"))
        received(answer(2, ["Public: DESCRIBE, GET_PARAMETER"]))
        received(answer(3, ["Content-Base: rtsp://camera/live/"], body: description))
        script.byte(3)
        received(answer(4, ["Session: 7;timeout=60", "Transport: RTP/AVP/TCP;interleaved=0-1"]))
        received(answer(5, ["Session: 7", "Transport: RTP/AVP/TCP;interleaved=2-3"]))
        script.byte(4)
        received(answer(6))
        received(packet(0, [0x65, 0x88, 1, 2]))
        received(packet(1, [0x41, 0x9A, 1, 2]) + packet(3, [0x41, 0x9A, 3]))
        received(packet(0, [0, 16, 0, 16, 1, 2], type: 97, channel: 2))
        script.byte(1)
        script.number(3_500)
        received(answer(7))
        received([0x24, 1, 0, 8, 0x81, 203, 0, 1, 0, 0, 0, 1])
        return script.bytes
    }

    /// Single units, an aggregate, fragments, a loss.
    static var packets: [UInt8] {
        var script = InputWriter()
        script.byte(0)
        // One packet of AAC in an element of LATM.
        script.byte(0)
        func packet(_ flags: UInt8, _ timestamp: UInt8, _ payload: [UInt8]) {
            script.byte(flags)
            script.byte(timestamp)
            script.block(payload)
        }
        packet(1, 1, [24, 0, 3, 0x67, 1, 2, 0, 2, 0x68, 3])
        packet(1, 1, [0x7C, 0x85, 0x88, 4])
        packet(1, 1, [0x7C, 0x05, 5, 6])
        packet(0x81, 1, [0x7C, 0x45, 7])
        packet(0x81, 2, [0x41, 0x9A, 1])
        script.byte(0x41)
        script.number(9)
        script.byte(3)
        script.block([0x41, 0x9A, 2])
        packet(0x81, 4, [0x00, 0x00, 0x01, 0x41, 0x9A, 3])
        packet(0x81, 5, [0, 32, 0, 8, 0, 8, 1, 2])
        packet(0x01, 6, [5, 1, 2])
        packet(0x81, 6, [3, 4, 5])
        packet(0x81, 7, [2, 1, 2])
        return script.bytes
    }
}
