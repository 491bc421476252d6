/// The requests of a correct client of the RTSP server.
enum RTSPClientSeeds {
    private static let uri = "rtsp://u:p@h:8554/live/stage"
    private static let session = "Session: 0123456789abcdef"

    private static func request(
        _ method: String, _ uri: String, _ sequence: Int, _ headers: String...
    ) -> [UInt8] {
        let lines = ["\(method) \(uri) RTSP/1.0", "CSeq: \(sequence)"] + headers
        return Array(lines.map { "\($0)\r\n" }.joined().utf8) + [0x0D, 0x0A]
    }

    /// Two tracks as datagrams: set up, played, paused and ended.
    static var played: [UInt8] {
        var script = InputWriter()
        script.byte(1)
        func sent(_ bytes: [UInt8]) {
            script.byte(0)
            script.block(bytes)
        }
        sent(request("OPTIONS", "*", 1))
        sent(request("DESCRIBE", uri, 2, "Authorization: Basic YTpi"))
        script.byte(3)
        sent(
            request(
                "SETUP", "\(uri)/trackID=0", 3,
                "Transport: RTP/AVP;unicast;client_port=5000-5001"))
        sent(
            request(
                "SETUP", "\(uri)/trackID=1", 4,
                "Transport: RTP/AVP;unicast;client_port=5002-5003", session))
        sent(request("PLAY", "\(uri)/", 5, session, "Range: npt=0.000-"))
        script.byte(5)
        sent([0x24, 1, 0, 4, 0x61, 0x62, 0x63, 0x64] + request("PAUSE", "\(uri)/", 6, session))
        sent(request("TEARDOWN", "\(uri)/", 7, session))
        script.byte(2)
        script.number(61_000)
        script.byte(1)
        return script.bytes
    }

    /// A recording that is not there, and one that needs a log-in.
    static var refused: [UInt8] {
        var script = InputWriter()
        script.byte(0)
        script.byte(0)
        script.block(
            request(
                "DESCRIBE", "rtsps://h/2026-11-20T22-40-00.000Z/stage?from=83.5&token=abc", 1))
        script.byte(4)
        script.byte(0)
        script.byte(0)
        script.block(request("DESCRIBE", "rtsp://h/latest/stage", 2))
        script.byte(4)
        script.byte(1)
        return script.bytes
    }

    /// A keyframe of H.264 with a message, a picture, one of H.265 with parameter sets, and AAC.
    static var samples: [UInt8] {
        func sample(_ units: [UInt8]...) -> [UInt8] {
            units.flatMap { [0, 0, UInt8($0.count >> 8), UInt8($0.count & 255)] + $0 }
        }
        let long = [UInt8](repeating: 0x61, count: 3_000)
        var script = InputWriter()
        script.byte(0x80)
        script.block(sample([6, 5, 1, 0x80], [0x65, 0x88] + long))
        script.byte(0)
        script.block(sample([0x41, 0x9A, 0x31]))
        script.byte(1)
        script.block(
            sample(
                [0x40, 1, 0x61], [0x42, 1, 0x61],
                [0x26, 1] + [UInt8](repeating: 0x63, count: 3_000)))
        script.byte(2)
        script.block([UInt8](repeating: 0x64, count: 300))
        return script.bytes
    }
}
