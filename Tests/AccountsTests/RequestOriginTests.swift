import Testing

@testable import Accounts

struct `The host of a request` {
    private func local(_ allowed: [String] = []) throws -> HostCheck {
        try HostCheck(listenHost: "127.0.0.1", allowed: allowed)
    }

    @Test(arguments: [
        "localhost", "localhost:8080", "LOCALHOST:1", "localhost.", "127.0.0.1", "127.0.0.1:65535",
        "[::1]", "[::1]:8080", "[0:0:0:0:0:0:0:1]:8080",
    ])
    func `is this machine's, with any port`(header: String) throws {
        #expect(try local().allows(header))
    }

    @Test(arguments: [
        "", ":", ":8080", "evil.example", "evil.example:8080", "localhost.evil.example",
        "evil.localhost", "127.0.0.1.evil.example", "127.0.0.2", "127.1", "2130706433",
        "0x7f000001", "0.0.0.0", "::1", "[::1", "::1]", "[::2]", "[127.0.0.1]", "[localhost]",
        "[::1]x", "[::1]:",
        "localhost:", "localhost:0", "localhost:65536", "localhost:+80", "localhost:080",
        "localhost:80:80", "localhost/", "localhost\0", "127.0.0.1\0.evil.example",
        "user@localhost", "localhost, evil.example", " localhost", "localhost..", ".localhost",
        "lócalhost",
        "[::ffff:127.0.0.1]", "[fe80::1%eth0]", String(repeating: "a", count: 65_536),
    ])
    func `must not be another host`(header: String) throws {
        #expect(try !local().allows(header))
    }

    @Test func `is required`() throws {
        #expect(try !local().allows(nil))
    }

    @Test func `may be an allowed name or address`() throws {
        let hosts = try local(["Viewer.example.org", "192.0.2.1", "2001:db8::1"])
        for header in [
            "viewer.example.org:8443", "VIEWER.EXAMPLE.ORG.", "192.0.2.1", "[2001:db8::1]",
        ] {
            #expect(hosts.allows(header), "\(header)")
        }
        for header in ["x.viewer.example.org", "example.org", "192.0.2.2", "[2001:db8::2]"] {
            #expect(!hosts.allows(header), "\(header)")
        }
    }

    @Test(arguments: [
        "", "a b", "viewer:8080", "http://viewer", "a\0", "*", "*.", "*.192.0.2.1", "[::1]",
    ])
    func `cannot be allowed if it is not a valid host name`(name: String) {
        #expect(throws: AccessError.notAHostName(name)) { try local([name]) }
    }

    @Test func `may be one of the certificate's`() throws {
        let hosts = try HostCheck(
            listenHost: "192.0.2.1",
            certificateNames: ["*.example.org", "viewer", "not a name", "*"])
        for header in ["a.example.org", "A.Example.Org:443", "viewer", "192.0.2.1", "localhost"] {
            #expect(hosts.allows(header), "\(header)")
        }
        for header in ["example.org", "a.b.example.org", "aexample.org", "*.example.org"] {
            #expect(!hosts.allows(header), "\(header)")
        }
    }

    @Test(arguments: ["0.0.0.0", "::"])
    func `may be any address if the viewer listens at all of them`(listenHost: String) throws {
        let hosts = try HostCheck(listenHost: listenHost)
        #expect(hosts.allows("192.0.2.7:8080"))
        #expect(hosts.allows("[2001:db8::7]"))
        #expect(hosts.allows("localhost"))
        // Any domain can resolve to this address.
        #expect(!hosts.allows("evil.example"))
    }
}

struct `The origin of a change` {
    private func flaw(
        _ identity: Identity = .user("anna"), host: String? = "viewer.example.org",
        origin: String?, site: String? = nil, isSecure: Bool = true
    ) throws -> RequestOrigin.Flaw? {
        let hosts = try HostCheck(
            listenHost: "127.0.0.1", allowed: ["viewer.example.org", "other"])
        return RequestOrigin(hosts: hosts, isSecure: isSecure).flaw(
            identity, host: host, origin: origin, fetchSite: site)
    }

    @Test func `is the viewer itself`() throws {
        #expect(try flaw(origin: "https://viewer.example.org") == nil)
        #expect(try flaw(origin: "https://viewer.example.org", site: "same-origin") == nil)
        #expect(
            try flaw(host: "viewer.example.org:443", origin: "https://viewer.example.org") == nil)
        #expect(
            try flaw(host: "viewer.example.org:8443", origin: "https://viewer.example.org:8443")
                == nil)
        #expect(
            try flaw(host: "localhost:8080", origin: "http://localhost:8080", isSecure: false)
                == nil)
        #expect(try flaw(host: "[::1]:80", origin: "http://[::1]", isSecure: false) == nil)
    }

    @Test(arguments: [
        "null", "", "https://", "https://evil.example", "http://viewer.example.org",
        "https://viewer.example.org:8443", "https://viewer.example.org/", "https://other",
        "https://viewer.example.org.evil.example", "https://viewer.example.org@evil.example",
        "https://evil.example/https://viewer.example.org", "viewer.example.org",
        "https://viewer.example.org https://evil.example", "https://viewer.example.org\0",
        "file://", "https://localhost", "https:/viewer.example.org",
        String(repeating: "https://viewer.example.org", count: 2_600),
    ])
    func `must not be another site`(origin: String) throws {
        #expect(try flaw(origin: origin) == .foreignOrigin)
        #expect(try flaw(.anonymous, origin: origin) == .foreignOrigin)
    }

    @Test func `is required from a browser`() throws {
        #expect(try flaw(origin: nil) == .missingOrigin)
        #expect(try flaw(origin: nil, site: "same-origin") == .missingOrigin)
        #expect(try flaw(.anonymous, origin: nil, site: "same-origin") == .missingOrigin)
        // A program on this machine.
        #expect(try flaw(.anonymous, host: "localhost", origin: nil) == nil)
    }

    @Test(arguments: [
        "cross-site", "same-site", "none", "", "Same-Origin", "same-origin, cross-site",
    ])
    func `must state the same site`(site: String) throws {
        #expect(try flaw(origin: "https://viewer.example.org", site: site) == .foreignOrigin)
        #expect(try flaw(.anonymous, origin: nil, site: site) == .foreignOrigin)
    }

    @Test func `needs an allowed host in any case`() throws {
        let evil = "https://evil.example"
        #expect(try flaw(host: "evil.example", origin: evil) == .foreignHost)
        #expect(try flaw(.anonymous, host: "evil.example", origin: evil) == .foreignHost)
        #expect(try flaw(.anonymous, host: "evil.example", origin: nil) == .foreignHost)
        #expect(try flaw(host: nil, origin: "https://viewer.example.org") == .foreignHost)
    }

    @Test func `is not checked for tokens and links`() throws {
        #expect(try flaw(.script("backup"), host: nil, origin: "https://evil.example") == nil)
        #expect(try flaw(.link, host: nil, origin: nil, site: "cross-site") == nil)
    }
}
