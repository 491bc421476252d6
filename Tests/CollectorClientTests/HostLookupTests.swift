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

    @Test func `a name that means nothing is said`() {
        // RFC 6761 §6.4: no name below "invalid" is ever there.
        let trouble = HostLookup.trouble(of: "tcp://nosuch.invalid:5550")
        #expect(trouble?.hasPrefix("the host name 'nosuch.invalid' cannot be resolved (") == true)
        #expect(HostLookup.trouble(of: "tcp://127.0.0.1:5550") == nil)
    }
}
