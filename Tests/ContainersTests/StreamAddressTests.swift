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
