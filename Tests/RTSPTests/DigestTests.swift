import Testing

@testable import RTSP

@Suite struct DigestTests {
    private static let login = CameraLogin(user: "Mufasa", password: "Circle of Life")

    private func response(_ header: String) -> String? {
        header.split(separator: "response=\"").last?.split(separator: "\"").first.map(String.init)
    }

    /// RFC 7616 §3.9.1.
    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
    func `responses equal the RFC's examples`(algorithm: String, expected: String) throws {
        let offers = AuthenticationChallenge.offers(in: [
            """
            Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\(algorithm), \
            nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
            """
        ])
        var own = try #require(
            DigestAuthenticator(
                offers, login: Self.login,
                clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"))
        let header = own.authorization(method: "GET", uri: "/dir/index.html")
        #expect(response(header) == expected)
        #expect(header.contains("nc=00000001") && header.contains("qop=auth"))
    }

    /// RFC 2617 without qop, as most cameras offer it: HA1 of §3.5.
    @Test func `a challenge without qop is answered as in RFC 2069`() throws {
        let offers = AuthenticationChallenge.offers(in: [
            "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\""
        ])
        var own = try #require(
            DigestAuthenticator(
                offers, login: CameraLogin(user: "Mufasa", password: "Circle Of Life"),
                clientNonce: "0"))
        let header = own.authorization(method: "GET", uri: "/dir/index.html")
        #expect(response(header) == "670fd8c2df070c60b045671b8b24ff02")
        #expect(!header.contains("algorithm") && !header.contains("qop"))
    }

    @Test(arguments: [
        ["Digest realm=\"r\", nonce=\"a\"", "Digest realm=\"r\", nonce=\"b\", algorithm=SHA-256"],
        [
            "Digest realm=\"r\", nonce=\"b\", algorithm=SHA-256",
            "Digest realm=\"r\", nonce=\"a\", algorithm=MD5",
        ],
        [
            "Basic realm=\"r\", Digest realm=\"r\", nonce=\"b\", algorithm=SHA-256, Digest realm=\"r\", nonce=\"a\""
        ],
    ])
    func `the strongest of several challenges is used, in any order`(headers: [String]) throws {
        let own = try #require(
            DigestAuthenticator(
                AuthenticationChallenge.offers(in: headers), login: Self.login, clientNonce: "0"))
        #expect(own.algorithm == .sha256 && own.nonce == "b")
    }

    @Test func `Basic alone is not answered`() {
        let offers = AuthenticationChallenge.offers(in: ["Basic realm=\"camera\""])
        #expect(offers.map(\.scheme) == ["basic"])
        #expect(DigestAuthenticator(offers, login: Self.login, clientNonce: "0") == nil)
    }

    @Test(arguments: [
        ("", "offers no way"), ("Basic realm=\"r\"", "enable digest"),
        ("Digest realm=\"r\", nonce=\"a\", qop=\"auth-int\"", "qop=auth-int"),
        ("Digest realm=\"r\", nonce=\"a\", algorithm=SHA-512-256", "SHA-512-256"),
        ("Digest realm=\"r\"", "no nonce"),
    ])
    func `a challenge that cannot be answered is refused with the reason`(
        header: String, reason: String
    ) {
        let offers = AuthenticationChallenge.offers(in: [header])
        #expect(DigestAuthenticator(offers, login: Self.login, clientNonce: "0") == nil)
        let refusal = DigestAuthenticator.refusal(offers)
        #expect(refusal.contains(reason) && !refusal.contains("\n"))
    }

    @Test func `an empty qop is answered without qop`() throws {
        let offers = AuthenticationChallenge.offers(in: [
            "Digest realm=\"r\", nonce=\"a\", qop=\"\""
        ])
        var own = try #require(
            DigestAuthenticator(offers, login: Self.login, clientNonce: "0"))
        #expect(!own.authorization(method: "OPTIONS", uri: "rtsp://c/").contains("qop"))
    }

    @Test(arguments: ["admin:ge:heim\n", "\u{FEFF}admin:ge:heim\r\n", "\u{FEFF}admin:ge:heim"])
    func `a login file may begin with a byte order mark`(text: String) {
        #expect(CameraLogin(fileText: text) == CameraLogin(user: "admin", password: "ge:heim"))
    }

    @Test func `quotes and line breaks in a challenge cannot end the header`() throws {
        let offers = AuthenticationChallenge.offers(in: [
            "Digest realm=\"a\\\"b\r\nX: y\", nonce=\"c\\\\d\", opaque=\"e\""
        ])
        var own = try #require(
            DigestAuthenticator(offers, login: Self.login, clientNonce: "0"))
        let header = own.authorization(method: "OPTIONS", uri: "rtsp://c/")
        #expect(header.contains(#"realm="a\"bX: y""#))
        #expect(!header.contains("\r") && !header.contains("\n"))
    }

    @Test func `a login is not printed`() throws {
        let login = try #require(CameraLogin(fileText: "admin:ge:heim\n"))
        #expect(login.user == "admin" && login.password == "ge:heim")
        #expect(!"\(login)".contains("heim") && !String(reflecting: login).contains("heim"))
        var text = ""
        dump(login, to: &text)
        #expect(!text.contains("heim"))
        #expect(CameraLogin(fileText: "admin") == nil)
        #expect(CameraLogin(fileText: ":x") == nil)
    }
}
