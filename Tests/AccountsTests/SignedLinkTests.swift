import Hashing
import TestAccounts
import Testing

@testable import Accounts

struct `A signed link` {
    private let key = AccessSample.key
    private let now = AccessSample.now
    private let path = "/api/v1/sessions/2026-11-20/sources/door/media.mp4"
    private let query = "from=83.5&until=2026-11-20T22:40:00.000Z"

    private func maker() throws -> LinkMaker { LinkMaker(try AccessSample.account(), key: key) }

    private func link(
        _ path: String? = nil, _ query: String? = nil, lifeSeconds: Int64 = 3_600
    ) throws -> SignedLink {
        SignedLink(
            target: try SignedLink.Target(path: path ?? self.path, query: query ?? self.query),
            maker: try maker(), expires: now + lifeSeconds)
    }

    private func verdict(_ address: String, at seconds: Int64 = 0) -> SignedLink.Verdict {
        let parts = address.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        return SignedLink.verify(
            path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "", key: key,
            now: now + seconds)
    }

    @Test func `opens one source until it expires`() throws {
        let link = try link()
        let text = link.text(key: key)
        let account = try maker().text
        #expect(
            text.hasPrefix(
                "\(path)?\(query)&account=\(account)&expires=\(now + 3_600)&signature="))
        #expect(verdict(text) == .valid(link))
        #expect(verdict(text, at: 3_599) == .valid(link))
        #expect(verdict(text, at: 3_600) == .expired)
        #expect(verdict(text, at: 1_000_000_000) == .expired)
        #expect(link.rights == Rights(role: .viewer, sources: .named(["door"])))
        #expect(link.target.session == "2026-11-20" && link.target.source == "door")
        #expect(SignedLink.isLink(String(text.drop { $0 != "?" }.dropFirst())))
    }

    @Test func `can be of a picture, and of a whole recording`() throws {
        let picture = try link(path.replacing("media.mp4", with: "picture.jpg"), "at=3&width=640")
        #expect(verdict(picture.text(key: key)) == .valid(picture))
        let whole = try link(path, "")
        #expect(whole.text(key: key).hasPrefix("\(path)?account="))
        #expect(verdict(whole.text(key: key)) == .valid(whole))
        // An empty item in front is another address.
        #expect(verdict(whole.text(key: key).replacing("?", with: "?&")) == .invalid)
    }

    @Test(arguments: ["/live/door/picture.jpg", "/api/v1/live/door/picture.jpg"])
    func `can be of the newest picture of a source`(path: String) throws {
        let link = try link(path, "width=640")
        let text = link.text(key: key)
        #expect(verdict(text) == .valid(link))
        #expect(link.target.session == nil && link.target.source == "door")
        for (old, new) in [
            ("door", "hall"), ("640", "641"), ("/live", "//live"), ("/live", "/live/live"),
            ("/live", "/api/v1/live"), ("picture.jpg", "media.mp4"), ("/picture.jpg", ""),
        ] {
            #expect(verdict(text.replacing(old, with: new, maxReplacements: 1)) == .invalid)
        }
    }

    @Test func `to a frame is recognised where it is used for a picture`() throws {
        let text = try link("/embed/door", "").text(key: key)
        let query = String(text.drop { $0 != "?" }.dropFirst())
        func frame(_ path: String, _ query: String, at seconds: Int64 = 0) -> String? {
            SignedLink.misusedEmbedding(path: path, query: query, key: key, now: now + seconds)
        }
        #expect(frame("/live/door/picture.jpg", query) == "/embed/door")
        #expect(frame("/api/v1/live/door/picture.jpg", "width=640&\(query)") == "/embed/door")
        #expect(frame("/live/door/picture.jpg", query, at: 3_600) == "/embed/door")
        #expect(frame(path, query) == "/embed/door")
        #expect(frame("/live/hall/picture.jpg", query) == nil)
        #expect(frame("/live/door/picture.jpg", query + "A") == nil)
        #expect(frame("/live/door/picture.jpg", "") == nil)
        #expect(frame("/embed/door", query) == nil)
    }

    @Test func `cannot be made for the latest session`() {
        #expect(throws: AccessError.self) {
            try link("/api/v1/sessions/latest/sources/door/media.mp4")
        }
    }

    @Test func `is invalid for any other address`() throws {
        let text = try link().text(key: key)
        let changes: [(String, String)] = [
            ("door", "hall"), ("door", "Door"), ("door", "door/"), ("door", "%64oor"),
            ("2026-11-20/", "2026-11-21/"), ("media", "picture"), ("/api", "//api"),
            ("/api", "/x/../api"), ("media.mp4", "media.mp4/"), ("83.5", "83.4"),
            ("83.5", "83.50"), ("83.5", "%383.5"), ("from", "From"), ("from", "at"),
            ("from=83.5&", ""), ("&until=2026-11-20T22:40:00.000Z", ""), ("22:40", "22%3A40"),
            (query, "until=2026-11-20T22:40:00.000Z&from=83.5"), ("?", "?&"), ("&until", "&&until"),
            ("?", "?download=1&"), ("&expires", "&download=1&expires"),
            ("&signature", "&download=1&signature"), ("&account=", "&account=A"),
            ("&account=", "&Account="), ("&account=", "&account=A&account="),
            ("?", "?from=0&"), ("&expires", "&from=83.5&expires"),
            ("&expires=", "&expires=1&expires="), ("&signature=", "&signature=A&signature="),
            ("expires=1800003600", "expires=1800003601"), ("expires=1", "expires=01"),
            ("expires=1", "expires=%31"), ("expires=1", "expires=+1"), ("expires=", "Expires="),
            ("expires=1800003600", "expires="), ("&expires=1800003600", ""),
            ("expires=1800003600", "expires=99999999999999999999999"),
            ("expires=1800003600", "expires=-1"), ("signature=", "signature=A"),
            ("signature=", "signatur="), ("signature=", "signature=="), ("door", "door\0"),
        ]
        for (old, new) in changes {
            let changed = text.replacing(old, with: new, maxReplacements: 1)
            #expect(changed != text, "\(old)")
            #expect(verdict(changed) == .invalid, "\(changed)")
        }
        for added in ["&", "&x=1", "=", "A", "#", " ", "\0", "&expires=1800003600", "?"] {
            #expect(verdict(text + added) == .invalid, "\(added)")
        }
    }

    @Test func `that was changed anywhere in its signature is refused`() throws {
        let text = try link().text(key: key)
        let signature = try #require(text.split(separator: "=").last)
        for index in signature.indices {
            for replacement in ["A", "_", "", "."] where replacement != String(signature[index]) {
                let (before, after) = (signature[..<index], signature[index...].dropFirst())
                let rest = text.dropLast(signature.count)
                #expect(verdict("\(rest)\(before)\(replacement)\(after)") == .invalid)
            }
        }
    }

    @Test func `can have the maximum length`() throws {
        let longest = "from=" + String(repeating: "1", count: 1_024 - path.utf8.count - 5)
        let link = try link(path, longest, lifeSeconds: SignedLink.maximumLifeSeconds)
        let text = link.text(key: key)
        #expect(verdict(text) == .valid(link))
        #expect(SignedLink.isLink(String(text.drop { $0 != "?" }.dropFirst())))
        #expect(throws: AccessError.self) { try self.link(path, longest + "1") }
    }

    @Test func `needs a signature for this purpose, by this key`() throws {
        let link = try link()
        #expect(verdict(link.text(key: AccessSample.otherKey)) == .invalid)
        let text = link.text(key: key)
        let signed = try #require(text.split(separator: "&signature=").first)
        let code = key.code(of: Array(signed.utf8), for: .session)
        #expect(verdict("\(signed)&signature=\(ByteText.base64URL(code))") == .invalid)
    }

    @Test func `is reported as expired only if its signature is valid`() throws {
        let text = try link(lifeSeconds: -10).text(key: key)
        #expect(verdict(text) == .expired)
        #expect(verdict(text.replacing("door", with: "hall")) == .invalid)
    }

    @Test func `does not live for more than thirty days`() throws {
        let longest = try link(lifeSeconds: SignedLink.maximumLifeSeconds)
        #expect(verdict(longest.text(key: key)) == .valid(longest))
        let longer = try link(lifeSeconds: SignedLink.maximumLifeSeconds + 61)
        #expect(verdict(longer.text(key: key)) == .invalid)
    }

    @Test(arguments: [
        "", "/", "media.mp4", "/api/v1/sessions", "/api/v1/sessions/a/sources/b",
        "/api/v1/sessions/a/sources/b/", "/api/v1/sessions/a/sources/b/index.m3u8",
        "/api/v1/sessions/a/sources/../media.mp4", "/api/v1/sessions/a/sources//media.mp4",
        "/live/door", "/live/door/media.mp4", "/live//picture.jpg", "live/door/picture.jpg",
        "/live/door/picture.jpg/", "/live/.a/picture.jpg", "/api/v2/live/door/picture.jpg",
        "/api/v1/live/door", "/api/v1/embed/door", "/api/v1/live/live/door/picture.jpg",
        "/api/v1/sessions/.a/sources/b/media.mp4", "/api/v1/sessions/a/sources/b/media.mp4/",
        "/api/v2/sessions/a/sources/b/media.mp4", "/API/v1/sessions/a/sources/b/media.mp4",
        "x/api/v1/sessions/a/sources/b/media.mp4", "/api/v1/sessions/a/sources/b\0/media.mp4",
        "/api/v1/sessions/a/sources/b%2F/media.mp4", String(repeating: "/", count: 65_536),
    ])
    func `is only for a source's files`(path: String) throws {
        #expect(throws: AccessError.self) { try link(path, query) }
        let account = try maker().text
        #expect(
            verdict("\(path)?\(query)&account=\(account)&expires=\(now + 60)&signature=AAAA")
                == .invalid)
    }

    @Test(arguments: [
        "&", "from", "=1", "from=1&", "&from=1", "from=1&from=2", "from=1=2", "from= 1",
        "from=1+2", "from=1#", "FROM=1", "from=\0", "fröm=1", "from=ö", "expires=1", "signature=1",
        "from=1&expires=2", "account=1", "a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1",
        String(repeating: "a=1&", count: 20_000),
    ])
    func `has a canonical query`(query: String) {
        #expect(throws: AccessError.self) { try link(path, query) }
    }

    @Test(arguments: [
        "", "&", "signature", "signature=", "expires=1&signature=", "&&&&", "=&=",
        "account=&expires=1&signature=", "account=A&expires=1&signature=AAAA",
        "expires=&signature=", "signature=A&expires=1", "\0", "expires=1&signature=\0",
        String(repeating: "&", count: 65_536), String(repeating: "signature=", count: 6_554),
    ])
    func `is not read from anything else`(query: String) {
        #expect(
            SignedLink.verify(path: path, query: query, key: key, now: now) == .invalid)
    }

    @Test func `is recognised by its signature`() {
        for query in ["", "from=1", "expires=1", "xsignature=1", "signature", "x=signature=1"] {
            #expect(!SignedLink.isLink(query), "\(query)")
        }
        #expect(SignedLink.isLink("signature="))
        #expect(SignedLink.isLink("from=1&signature=A&x=1"))
    }
}
