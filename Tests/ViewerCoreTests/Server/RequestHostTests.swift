import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import ViewerCore

/// The host of a request.
@Suite struct RequestHostTests {
    /// The `Host` fields that are left of a request of HTTP/1.1.
    private func hosts(_ target: String, _ fields: [(String, String)]) throws -> [String] {
        let channel = EmbeddedChannel(handler: HostFieldHandler())
        let head = HTTPRequestHead(
            version: .http1_1, method: .GET, uri: target, headers: HTTPHeaders(fields))
        try channel.writeInbound(HTTPServerRequestPart.head(head))
        let part = try channel.readInbound(as: HTTPServerRequestPart.self)
        _ = try channel.finish()
        guard case .head(let read)? = part else { return ["no head"] }
        #expect(read.headers["accept"] == head.headers["accept"])
        return read.headers["host"]
    }

    @Test func `one Host field of HTTP 1_1 is used, and several are removed`() throws {
        #expect(try hosts("/", [("Host", "a"), ("Accept", "x")]) == ["a"])
        #expect(try hosts("/", [("host", "a:80")]) == ["a:80"])
        #expect(try hosts("/", []).isEmpty)
        for second in ["a", "b", ""] {
            #expect(try hosts("/", [("Host", "a"), ("Accept", "x"), ("hOST", second)]).isEmpty)
        }
        #expect(try hosts("http://a/", [("Host", "a"), ("Host", "a")]).isEmpty)
        #expect(try hosts("http://a/", []).isEmpty)
    }

    @Test(arguments: [
        ("http://b/x", "b"), ("HTTPS://b:8443/", "b:8443"), ("http://b", "b"),
        ("http://b?x=1", "b"), ("http://u@b/", "u@b"), ("http:///x", ""), ("x://b#y", "b"),
        ("/http://b/", "a"), ("b:443", "a"), ("*", "a"), ("//b/x", "a"), ("x:/b", "a"), ("", "a"),
    ])
    func `an absolute target of HTTP 1_1 replaces the Host field`(target: String, host: String)
        throws
    {
        #expect(try hosts(target, [("Host", "a")]) == [host])
    }

    private func text(_ authority: String?, _ fields: String...) -> String? {
        var head = HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/")
        for field in fields {
            guard let name = HTTPField.Name("host") else { return nil }
            head.headerFields.append(HTTPField(name: name, value: field))
        }
        return RequestHost.text(of: head)
    }

    @Test func `a Host field of HTTP 2 must equal the authority`() {
        #expect(text("a") == "a")
        #expect(text("a:8443", "a:8443") == "a:8443")
        #expect(text("A.example", "a.EXAMPLE.") == "A.example")
        #expect(text("a", "a:443") == "a")
        #expect(text("[::1]", "[0:0::1]:443") == "[::1]")
        #expect(text(nil, "a") == "a")
        #expect(text("a", "b") == nil)
        #expect(text("a", "a:80") == nil)
        #expect(text("a", "") == nil)
        #expect(text("a", "a", "a") == nil)
        #expect(text(nil, "a", "a") == nil)
        #expect(text(nil) == nil)
    }

    @Test(arguments: [
        "", " ", "a b", "a, b", "a,b", "u@a", "a:", "a:0", "a:65536", "a:x", "a/b", "[::1", "::1",
        "a:80:80", "\u{e9}", "http://a", "a..b",
    ])
    func `an invalid authority is refused`(authority: String) {
        #expect(text(authority) == nil)
    }
}
