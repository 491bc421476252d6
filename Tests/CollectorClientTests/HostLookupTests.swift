import Testing

@testable import CollectorClient

@Suite struct HostCheckTests {
    @Test(
        arguments: [
            ("tcp://server:5550", "server"), ("tcp://[::1]:5550", "::1"),
            ("tcp://eth0:0;server:5550", "server"), ("tcp://*:5550", nil), ("ipc:///run/x", nil),
        ] as [(String, String?)])
    func `an endpoint's host is found`(endpoint: String, host: String?) {
        #expect(HostLookup.host(of: endpoint) == host)
    }

    @Test(
        arguments: [
            ("tcp://server:5550", true), ("tcp://server.test:5550", true),
            ("tcp://10.0.0.1:5550", false), ("tcp://[::1]:5550", false), ("ipc:///run/x", false),
            ("tcp://eth0:0;server:5550", false),
        ])
    func `a host that may have several addresses is a name`(endpoint: String, isName: Bool) {
        #expect(HostLookup.isName(endpoint) == isName)
    }

    private static func address(_ last: UInt8, first: UInt8 = 0x20) -> [UInt8] {
        [first, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [last]
    }

    @Test func `each IPv4 address is a collector, except those of one machine alone`() {
        var addresses = HostAddresses()
        #expect(addresses.endpoints(of: "tcp://name:1") == ["tcp://name:1"])
        addresses.add(ipv4: 0x7F00_0001)
        addresses.add(ipv4: 0x0A00_0002)
        #expect(addresses.endpoints(of: "tcp://name:1") == ["tcp://name:1"])
        // A machine with one address of each kind is one collector.
        addresses.add(ipv6: Self.address(1))
        addresses.add(ipv6: Self.address(2))
        #expect(addresses.endpoints(of: "tcp://name:1") == ["tcp://name:1"])
        addresses.add(ipv4: 0x0A00_0001)
        #expect(
            addresses.endpoints(of: "tcp://name:1") == ["tcp://10.0.0.1:1", "tcp://10.0.0.2:1"])
    }

    @Test func `without IPv4 addresses, each IPv6 address is a collector`() {
        var addresses = HostAddresses()
        addresses.add(ipv4: 0x7F00_0001)
        addresses.add(ipv6: [UInt8](repeating: 0, count: 15) + [1])
        addresses.add(ipv6: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 10, 0, 0, 1])
        addresses.add(ipv6: [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [1])
        addresses.add(ipv6: Self.address(2))
        #expect(addresses.endpoints(of: "tcp://name:1") == ["tcp://name:1"])
        addresses.add(ipv6: Self.address(1))
        #expect(
            addresses.endpoints(of: "tcp://name:5550") == [
                "tcp://[2001:db8::1]:5550", "tcp://[2001:db8::2]:5550",
            ])
    }

    @Test func `a name is asked for until it is resolved`() async throws {
        let second: Int64 = 1_000_000_000
        let unknown = HostLookup(of: "tcp://nosuch.invalid:5550")
        #expect(unknown.endpoints(now: second) == nil)
        for _ in 0..<1_000 where unknown.trouble(now: second) == nil {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(unknown.endpoints(now: 60 * second) == nil)
        #expect(HostLookup(of: "tcp://10.0.0.1:5550").endpoints(now: 0) == ["tcp://10.0.0.1:5550"])
        let known = HostLookup(of: "tcp://localhost:5550")
        for _ in 0..<1_000 where known.endpoints(now: second) == nil {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(known.endpoints(now: second) == ["tcp://localhost:5550"])
    }

    @Test func `an unresolvable host name is reported`() {
        // RFC 6761 §6.4: no name below "invalid" is ever there.
        let trouble = HostLookup.trouble(of: "tcp://nosuch.invalid:5550")
        #expect(trouble?.hasPrefix("the host name 'nosuch.invalid' cannot be resolved (") == true)
        #expect(HostLookup.trouble(of: "tcp://127.0.0.1:5550") == nil)
    }
}
