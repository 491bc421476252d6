import Dispatch
import Messaging
import Synchronization
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

    @Test func `an unresolvable host name is reported`() async throws {
        // RFC 6761 §6.4: no name below "invalid" is ever there.
        let unknown = HostLookup(of: "tcp://nosuch.invalid:5550")
        for _ in 0..<1_000 where unknown.trouble(now: 0) == nil {
            #expect(unknown.address(now: 0) == nil)
            try await Task.sleep(for: .milliseconds(10))
        }
        let trouble = unknown.trouble(now: 0)
        #expect(trouble?.hasPrefix("the host name 'nosuch.invalid' cannot be resolved (") == true)
    }

    @Test(
        arguments: [
            ("tcp://10.0.0.1:5550", true), ("tcp://[::1]:5550", true),
            ("tcp://[fe80::1%eth0]:5550", true), ("ipc:///run/x", true), ("inproc://x", true),
            ("tcp://server:5550", false), ("tcp://eth0:0;server:5550", false),
            ("tcp://10.0.0:5550", false),
        ])
    func `an endpoint without a name needs no lookup`(endpoint: String, isKnown: Bool) {
        let lookup = HostLookup(of: endpoint, resolver: HungResolver().resolver)
        #expect(lookup.address(now: 0) == (isKnown ? endpoint : nil))
    }

    @Test func `the address takes the place of the name`() async throws {
        let resolver = HostResolver { $0 == "six" ? .init(ip: "::1") : .init(ip: "127.0.0.1") }
        for (endpoint, expected) in [
            ("tcp://four:1", "tcp://127.0.0.1:1"), ("tcp://six:1", "tcp://[::1]:1"),
            ("tcp://eth0:0;four:1", "tcp://eth0:0;127.0.0.1:1"),
        ] {
            let lookup = HostLookup(of: endpoint, resolver: resolver)
            for _ in 0..<1_000 where lookup.address(now: 0) == nil {
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(lookup.address(now: 0) == expected)
        }
    }

    @Test func `a name server that does not answer is reported, and occupies one thread`() {
        let hung = HungResolver()
        for _ in 0..<50 {
            let lookup = HostLookup(of: "tcp://nosuch.example:1", resolver: hung.resolver)
            for round in 0..<5 {
                lookup.begin()
                #expect(lookup.address(now: Int64(round) * 10_000_000_000) == nil)
            }
            #expect(lookup.trouble(now: 1_000_000_000) == nil)
            #expect(
                lookup.trouble(now: 1_000_000_001)
                    == "the name server does not answer for 'nosuch.example'")
        }
        hung.end()
        #expect(hung.lookups <= 1)
    }
}

/// A resolver whose name server does not answer for some names; the others are this machine.
final class HungResolver: Sendable {
    private final class State: Sendable {
        let lookups = Mutex(0)
        let isEnding = DispatchSemaphore(value: 0)
    }

    private let state = State()
    let resolver: HostResolver

    init() {
        resolver = HostResolver { [state] host in
            guard host.hasPrefix("nosuch") else { return .init(ip: "127.0.0.1") }
            state.lookups.withLock { $0 += 1 }
            state.isEnding.wait()
            return .failure(HostFailure(host: host, text: "no answer"))
        }
    }

    var lookups: Int { state.lookups.withLock { $0 } }

    func end() { state.isEnding.signal() }
}

extension HostResolver.Answer {
    init(ip: String) { self = HostResolver.lookUp(ip) }
}

@Suite struct ConnectionAddressTests {
    /// Runs `connection` until it is ready.
    private func isReady(_ connection: inout LinkConnection, seconds: Double) throws -> Bool {
        let clock = ContinuousClock()
        let deadline = clock.now + .seconds(seconds)
        while clock.now < deadline {
            try connection.wait(milliseconds: 20)
            while let event = try connection.nextEvent() {
                if case .ready = event { return true }
            }
        }
        return false
    }

    /// Cause: libzmq resolves names on the thread that serves all connections of the context.
    @Test func `a hung lookup delays neither other connections nor the end of their context`()
        throws
    {
        let hung = HungResolver()
        let resolver = hung.resolver
        do {
            let context = try Context()
            let router = try Socket(.router, in: context)
            try router.bind("tcp://127.0.0.1:*")
            let wakeUp = try WakeUp()
            let waiting = try LinkConnection(
                to: HostLookup(of: "tcp://nosuch.example:1", resolver: resolver, wakeUp: wakeUp),
                security: .plain, asksForTime: true, in: context, wakeUp: wakeUp)
            #expect(try waiting.nextEvent() == nil)
            var other = try LinkConnection(
                to: router.lastEndpoint(), security: .plain, asksForTime: true, in: context,
                wakeUp: wakeUp)
            #expect(try isReady(&other, seconds: 60))
            let port = try router.lastEndpoint().split(separator: ":").last ?? ""
            var named = try LinkConnection(
                to: HostLookup(of: "tcp://server:\(port)", resolver: resolver, wakeUp: wakeUp),
                security: .plain, asksForTime: true, in: context, wakeUp: wakeUp)
            #expect(try isReady(&named, seconds: 60))
        }
        hung.end()
    }

    @Test func `a connection follows a name to its new address`() throws {
        let lookups = Mutex(0)
        let resolver = HostResolver { _ in
            let number = lookups.withLock { count in
                count += 1
                return count
            }
            return .init(ip: number == 1 ? "127.0.0.2" : "127.0.0.1")
        }
        let context = try Context()
        let router = try Socket(.router, in: context)
        try router.bind("tcp://127.0.0.1:*")
        let port = try router.lastEndpoint().split(separator: ":").last ?? ""
        let wakeUp = try WakeUp()
        var connection = try LinkConnection(
            to: HostLookup(of: "tcp://server:\(port)", resolver: resolver, wakeUp: wakeUp),
            security: .plain, asksForTime: true, in: context, wakeUp: wakeUp)
        #expect(try isReady(&connection, seconds: 20))
        #expect(lookups.withLock { $0 } >= 2)
    }
}
