import Testing

@testable import Containers

@Suite struct StreamAddressTests {
    private static func error(_ text: String) -> StreamAddressError? {
        do throws(StreamAddressError) {
            _ = try StreamAddress(parsing: text)
            return nil
        } catch {
            return error
        }
    }

    /// libavformat found no protocol for `UDP`, and was tried forever.
    @Test(
        arguments: [
            ("UDP://127.0.0.1:5000?Pkt_Size=188", "udp://127.0.0.1:5000?Pkt_Size=188", .mpegTS),
            ("Rtmps://Host/app/KEY", "rtmps://Host/app/KEY", .flv),
            ("rtsp://user:a:b@h/x", "rtsp://user:a:b@h/x", .rtsp),
            ("srt://[::1]:9000", "srt://[::1]:9000", .mpegTS),
            ("srt://:9000?latency=1&mode=listener", "srt://:9000?latency=1&mode=listener", .mpegTS),
            ("rtmp://h:65535/live", "rtmp://h:65535/live", .flv),
        ] as [(String, String, ContainerFormat)])
    func `the scheme is in lower case, the rest as it was written`(
        text: String, url: String, format: ContainerFormat
    ) throws {
        let address = try StreamAddress(parsing: text)
        #expect(address.url == url && address.format == format)
    }

    @Test(arguments: [
        ("rtmp://h/app/KEY", "RTMP://H:1935/app/KEY"), ("rtsp://u:P@h", "rtsp://u:P@h:554/"),
        ("srt://[::A]:1?x=Y", "srt://[::a]:1/?x=Y"), ("udp://h:05000", "udp://h:5000"),
    ])
    func `spellings of one destination are recognised`(one: String, other: String) throws {
        let canonical = try StreamAddress(parsing: one).canonical
        #expect(try StreamAddress(parsing: other).canonical == canonical)
    }

    @Test(arguments: [
        ("udp://h:5000", "udp://h:5001"), ("rtmp://h/app/KEY", "rtmp://h/app/key"),
        ("rtsp://h/a", "rtsps://h/a"), ("rtsp://u@h/a", "rtsp://v@h/a"),
    ])
    func `other destinations differ`(one: String, other: String) throws {
        let canonical = try StreamAddress(parsing: one).canonical
        #expect(try StreamAddress(parsing: other).canonical != canonical)
    }

    @Test func `a file's URL is its first word, after empty lines or a byte order mark`() {
        let bytes = Array("\u{FEFF}\n \r\nudp://h:1 x\n".utf8)
        #expect(StreamAddress.text(inFile: bytes) == "udp://h:1")
        #expect(StreamAddress.text(inFile: [0xEF, 0xBB, 0xBF]) == nil)
        #expect(StreamAddress.text(inFile: []) == nil)
    }

    @Test(arguments: ["", "h:1", "http://h:1", "file:///tmp/a.ts", "://h:1", "tcp://h:1"])
    func `other schemes are refused`(text: String) {
        #expect(Self.error(text) == .noStream)
    }

    @Test(arguments: [
        "udp://", "udp://:5000", "srt://:9000", "srt://:9000?mode=caller", "rtmp:///app",
        "rtsp://user@/x", "srt://[::1:9000", "udp://::1:5000",
    ])
    func `a URL without a host is refused`(text: String) {
        let scheme = String(text.prefix { $0 != ":" })
        #expect(Self.error(text) == .noHost(scheme: scheme))
    }

    @Test(arguments: ["udp://h", "srt://h?latency=9000", "udp://[::1]", "srt://a:9@h/x"])
    func `srt and udp need a port`(text: String) {
        let scheme = String(text.prefix { $0 != ":" })
        #expect(Self.error(text) == .noPort(scheme: scheme))
    }

    @Test(arguments: [
        "udp://h:99999", "rtsp://h:99999/x", "rtmp://h:65536/app", "srt://h:0", "rtmp://h:/app",
        "rtsp://h:+5/x", "udp://h:5000x", "udp://[::1]:-1",
    ])
    func `a port is 1 to 65535`(text: String) {
        let scheme = String(text.prefix { $0 != ":" })
        let error = Self.error(text)
        #expect(error == .badPort(scheme: scheme))
        #expect(error?.description.contains("a port is 1 to 65535") == true)
    }
}
