import Foundation
import TestAccounts
import Testing

@testable import Accounts

struct `Access by link` {
    private let scene = AccessScene()
    private let path = "/api/v1/sessions/a/sources/door/media.mp4"

    private func link(
        _ access: Access, lifeSeconds: Int64 = 3_600, for identity: Identity = .user("anna"),
        rights: Rights = .everything
    ) throws -> String {
        try access.link(
            to: path, query: "from=1&until=2", lifeSeconds: lifeSeconds, for: identity, rights,
            now: AccessSample.time(0))
    }

    @Test func `permits one file without a log-in until it expires`() throws {
        try scene.add("anna")
        let access = try scene.access()
        let link = try link(access)
        let rights = Rights(role: .viewer, sources: .named(["door"]))
        let expected = Access.Answer.allowed(.link, rights, renewedCookie: nil)
        #expect(access.check(link: link) == expected)
        let other = access.check(cookie: "tributary=a", authorization: "Bearer a", link: link)
        #expect(other == expected)
        #expect(access.check(link: link, at: 3_600) == .refused(.linkExpired))
        #expect(
            access.check(link: link.replacing("door", with: "hall")) == .refused(.linkInvalid))
        #expect(
            access.check(
                link: link.replacing("&account=", with: "&account=A", maxReplacements: 1))
                == .refused(.linkInvalid))
        #expect(access.check(link: "\(path)?from=1&until=2") == .refused(.notLoggedIn))
        #expect(access.check(link: "/live?signature=\0") == .refused(.linkInvalid))
    }

    @Test func `an account that may not see a source is not told to log in`() throws {
        try scene.add("anna")
        let access = try scene.access()
        let error = #expect(throws: AccessError.self) {
            try link(access, rights: Rights(role: .viewer, sources: .named(["hall"])))
        }
        #expect("\(try #require(error))".contains("this account may not see 'door'"))
        let other = #expect(throws: AccessError.self) { try link(access, for: .link) }
        #expect("\(try #require(other))".contains("log in first"))
    }

    @Test func `permits live media of one source for an embedded page only`() throws {
        try scene.add("anna")
        let access = try scene.access()
        let link = try access.link(
            to: "/embed/door", query: "", lifeSeconds: 3_600, for: .user("anna"), .everything,
            now: AccessSample.time(0))
        func answer(
            _ path: String, _ link: String, at seconds: Int64 = 0
        ) -> (Access.Answer, AccessPass) {
            let credentials = Credentials(
                authorization: "Link \(link)", path: path, remoteAddress: "192.0.2.1")
            return (
                access.check(credentials, now: AccessSample.time(seconds)),
                access.pass(credentials, .nothing, now: AccessSample.time(seconds))
            )
        }
        let rights = Rights(role: .viewer, sources: .named(["door"]))
        let (live, pass) = answer("/api/v1/live", link)
        #expect(live == .allowed(.link, rights, renewedCookie: nil))
        #expect(access.isValid(pass, now: AccessSample.time(0)))
        #expect(
            answer("/api/v1/live/door/picture.jpg", link).0
                == .allowed(.link, rights, renewedCookie: nil))
        // The right to a source includes its preview.
        #expect(
            answer("/api/v1/live/door.preview/picture.jpg", link).0
                == .allowed(.link, rights, renewedCookie: nil))
        for path in [
            "/api/v1/live/hall/picture.jpg", "/api/v1/live/hall.preview/picture.jpg",
            "/api/v1/sessions", "/api/v1/account", "/embed/door",
        ] {
            #expect(answer(path, link).0 == .refused(.linkInvalid), "\(path)")
        }
        let other = link.replacing("door", with: "hall")
        #expect(answer("/api/v1/live", other).0 == .refused(.linkInvalid))
        // A link to a file opens no live pictures.
        #expect(answer("/api/v1/live", try self.link(access)).0 == .refused(.linkInvalid))
        try scene.users.remove("anna")
        #expect(answer("/api/v1/live", link, at: 2).0 == .refused(.linkEnded))
        #expect(!access.isValid(pass, now: AccessSample.time(2)))
        // The clock only advances.
        #expect(answer("/api/v1/live", link, at: 3_600).0 == .refused(.linkExpired))
        #expect(!access.isValid(pass, now: AccessSample.time(3_600)))
    }

    @Test func `to a frame is refused for a picture, with the reason`() throws {
        try scene.add("anna")
        let access = try scene.access()
        func link(_ path: String) throws -> String {
            try access.link(
                to: path, query: "", lifeSeconds: 3_600, for: .user("anna"), .everything,
                now: AccessSample.time(0))
        }
        let picture = try link("/live/door/picture.jpg")
        #expect(access.check(link: picture).rights?.mayRead("door") == true)
        #expect(access.check(link: picture, at: 3_600) == .refused(.linkExpired))
        let frame = try link("/embed/door")
        let misused = frame.replacing("/embed/door", with: "/live/door/picture.jpg")
        let refusal = Access.Refusal.linkOfFrame(address: "/embed/door")
        #expect(access.check(link: misused) == .refused(refusal))
        #expect(
            "\(refusal)" == "this link opens /embed/door only: make a link for this address")
    }

    @Test(arguments: [
        "removed", "password", "role", "sources", "name", "commented out", "removed and added",
    ])
    func `ends with the account that made it, and with no other`(change: String) throws {
        try scene.add("anna", role: .operator)
        try scene.add("ben")
        let access = try scene.access()
        let (link, other) = (try link(access), try link(access, for: .user("ben")))
        let path = scene.users.path
        switch change {
        case "removed": try scene.users.remove("anna")
        case "password": try scene.add("anna", AccessSample.otherPassword, replacing: true)
        case "removed and added":
            try scene.users.remove("anna")
            try scene.add("anna", role: .operator)
        default:
            // By hand.
            let (old, new) =
                switch change {
                case "role": ("anna:operator:*:", "anna:viewer:*:")
                case "sources": ("anna:operator:*:", "anna:operator:door:")
                case "name": ("anna:", "amy:")
                default: ("anna:", "# anna:")
                }
            let text = try scene.place.text(path)
            #expect(text.contains(old))
            try scene.place.write(text.replacing(old, with: new), to: path)
        }
        #expect(access.check(link: link, at: 1) == .refused(.linkEnded))
        #expect(access.check(link: other, at: 1).rights?.mayRead("door") == true)
        // It does not expire into something else, and a forged one tells nothing.
        #expect(access.check(link: link, at: 3_600) == .refused(.linkExpired))
        #expect(access.check(link: link + "A", at: 1) == .refused(.linkInvalid))
    }

    @Test func `of a script ends with its token`() throws {
        _ = try scene.users.addScript("backup")
        let access = try scene.access()
        let link = try link(access, for: .script("backup"))
        #expect(access.check(link: link).rights != nil)
        _ = try scene.users.addScript("backup", replacing: true)
        #expect(access.check(link: link, at: 1) == .refused(.linkEnded))
    }

    @Test func `is not made for an account that has just changed`() throws {
        try scene.add("anna", sources: SourceScope("hall"))
        let access = try scene.access()
        for name in ["anna", "ben"] {
            #expect(throws: AccessError.self) { try link(access, for: .user(name)) }
        }
    }

    @Test func `needs the right to the source, and cannot be made by another link`() throws {
        try scene.add("anna")
        _ = try scene.users.addScript("backup", sources: SourceScope("door"))
        let access = try scene.access()
        let some = Rights(role: .viewer, sources: .named(["door"]))
        #expect(
            try access.check(link: link(access, for: .script("backup"), rights: some)).rights
                == some)
        #expect(throws: AccessError.self) {
            try link(access, rights: Rights(role: .operator, sources: .named(["hall"])))
        }
        #expect(throws: AccessError.self) { try link(access, for: .link, rights: some) }
    }

    @Test func `lives for thirty days at most`() throws {
        try scene.add("anna")
        let access = try scene.access()
        let month: Int64 = 30 * 86_400
        #expect(try access.check(link: link(access, lifeSeconds: month)).rights != nil)
        for life in [Int64.min, -1, 0, month + 1, Int64.max] {
            #expect(throws: AccessError.linkTooLong(maximumDays: 30)) {
                try link(access, lifeSeconds: life)
            }
        }
    }
}
