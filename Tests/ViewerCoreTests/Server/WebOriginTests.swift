import Testing

@testable import ViewerCore

@Suite struct WebOriginTests {
    @Test(arguments: [
        "https://a", "http://a.example", "https://a.example:8443", "https://A-b.example:65535",
        "http://192.0.2.1:1", "https://[2001:db8::1]", "https://[2001:db8::1]:8443",
    ])
    func `a scheme, a host and a port are an origin`(text: String) {
        #expect(WebOrigin(text)?.text == text)
    }

    @Test(arguments: [
        "", "a.example", "https://", "ftp://a", "https://a/", "https://a/b", "https://a b",
        "https://a;b", "https://a'", "https://a:", "https://a:0", "https://a:65536",
        "https://a:99999", "https://a:+80", "https://a:80:80", "https://:80", "https://[::1",
        "https://[]", "https://[a]", "https://[::1]a", "https://a]", "https://*.example",
        "https://ä.example", "https://a?b", "https://a@b",
    ])
    func `other text is refused`(text: String) {
        #expect(WebOrigin(text) == nil)
    }
}
