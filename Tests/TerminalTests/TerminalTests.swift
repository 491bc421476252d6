import Logging
import Testing

@testable import Terminal

@Suite struct QuantityTests {
    @Test(
        arguments: [
            ("500ms", 500_000_000), ("10s", 10_000_000_000), ("1.5s", 1_500_000_000),
            ("10m", 600_000_000_000), ("2h", 7_200_000_000_000), ("0", 0), ("100us", 100_000),
        ] as [(String, Int64)])
    func `times read as people write them`(text: String, nanoseconds: Int64) {
        #expect(TimeSpan(argument: text)?.nanoseconds == nanoseconds)
    }

    @Test(arguments: ["", "10", "s", "-1s", "1 s", "1e3s", "99999999999999d", "1.2.3s", "1.s"])
    func `what is no time is refused`(text: String) {
        #expect(TimeSpan(argument: text) == nil)
    }

    @Test(arguments: [("4M", 4_000_000), ("96k", 96_000), ("2.5M", 2_500_000), ("800", 800)])
    func `bitrates read as people write them`(text: String, bits: Int64) {
        #expect(Bitrate(argument: text)?.bitsPerSecond == bits)
    }

    @Test func `quantities are shown short`() {
        #expect("\(TimeSpan(nanoseconds: 600_000_000_000))" == "10m")
        #expect("\(TimeSpan(nanoseconds: 500_000_000))" == "500ms")
        #expect("\(Bitrate(bitsPerSecond: 4_100_000))" == "4.1 Mbit/s")
        #expect("\(ByteCount(1_500_000))" == "1.5 MB")
        #expect(ByteCount(argument: "2GB")?.bytes == 2_000_000_000)
        #expect(ByteCount(argument: "16MiB")?.bytes == 16 << 20)
        #expect(ByteCount(argument: "2XB") == nil)
    }
}

@Suite struct EndpointTests {
    @Test(arguments: [
        ("tcp://127.0.0.1:5550", true), ("tcp://localhost:1", true), ("tcp://[::1]:5550", true),
        ("ipc:///run/x", true), ("tcp://0.0.0.0:5550", false), ("tcp://*:5550", false),
        ("tcp://127.evil.example:5550", false), ("tcp://10.0.0.1:5550", false),
        ("tcp://127.0.0.1.example:5550", false),
    ])
    func `only what nobody else can reach is local`(endpoint: String, isLocal: Bool) {
        #expect(Endpoint.isLocal(endpoint) == isLocal)
    }

    @Test(arguments: [
        ("tcp://127.0.0.1:5550", true), ("tcp://[::]:5550", true), ("ipc://x", true),
        ("tcp://127.0.0.1", false), ("tcp://:5550", false), ("http://x:1", false), ("", false),
        ("tcp://x:0", false), ("tcp://x:65536", false), ("ipc://", false), ("tcp://x:*", true),
    ])
    func `what cannot be an endpoint is told`(endpoint: String, isFine: Bool) {
        #expect((Endpoint.flaw(endpoint) == nil) == isFine)
    }
}

@Suite struct LineTests {
    @Test func `nothing that a peer says breaks a line`() {
        #expect(oneLine("a\nb\u{1B}[2J") == "a\\u{a}b\\u{1b}[2J")
        #expect(oneLine("käse 漢字") == "käse 漢字")
    }

    @Test func `tables align`() {
        var table = Table(["A", "N"], rightAligned: [1])
        table.add(["long", "1"])
        table.add(["x", "10"])
        #expect(table.lines() == ["A      N", "long   1", "x     10"])
    }
}
