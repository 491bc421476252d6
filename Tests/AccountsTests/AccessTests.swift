import Foundation
import TestAccounts
import Testing
import Threads

@testable import Accounts

extension Access {
    func check(
        cookie: String? = nil, authorization: String? = nil, link: String? = nil,
        from address: String = AccessScene.address, at seconds: Int64 = 0
    ) -> Answer {
        let parts = (link ?? "/").split(separator: "?", maxSplits: 1).map { String($0) }
        return check(
            Credentials(
                cookie: cookie, authorization: authorization, path: parts[0],
                query: parts.count > 1 ? parts[1] : nil, remoteAddress: address),
            now: AccessSample.time(seconds))
    }

    /// The check that an endless answer repeats.
    fileprivate func pass(
        cookie: String? = nil, authorization: String? = nil, rights: Rights
    ) -> AccessPass {
        pass(
            Credentials(
                cookie: cookie, authorization: authorization, remoteAddress: AccessScene.address),
            rights, now: AccessSample.time(0))
    }

    fileprivate func isValid(_ pass: AccessPass, at seconds: Int64) -> Bool {
        isValid(pass, now: AccessSample.time(seconds))
    }

    fileprivate func logIn(
        _ name: String, _ password: String = AccessSample.password,
        from address: String = AccessScene.address, at seconds: Int64 = 0
    ) async -> LogIn {
        await logIn(
            name: name, password: password, from: address, now: AccessSample.time(seconds))
    }

    /// Logs in.
    /// - Returns: a `Cookie` header.
    fileprivate func cookie(
        of name: String, _ password: String = AccessSample.password, at seconds: Int64 = 0
    ) async throws -> String {
        let answer = await logIn(name, password, at: seconds)
        guard case .succeeded(_, let cookie) = answer else {
            throw NotLoggedIn(answer: answer)
        }
        return AccessScene.header(cookie)
    }
}

private struct NotLoggedIn: Error {
    var answer: Access.LogIn
}

extension AccessScene {
    /// The `Cookie` header of a browser that was sent this `Set-Cookie`.
    fileprivate static func header(_ setCookie: String) -> String {
        String(setCookie.prefix { $0 != ";" })
    }
}

extension Access.Answer {
    var rights: Rights? {
        switch self {
        case .allowed(_, let rights, _): rights
        case .refused: nil
        }
    }

    fileprivate var renewedCookie: String? {
        switch self {
        case .allowed(_, _, let cookie): cookie
        case .refused: nil
        }
    }
}

struct `Access without accounts` {
    @Test func `is unrestricted`() async throws {
        let scene = AccessScene()
        let access = try scene.access(hasAccounts: false)
        let everything = Access.Answer.allowed(.anonymous, .everything, renewedCookie: nil)
        #expect(!access.hasAccounts)
        #expect(access.check() == everything)
        #expect(access.check(cookie: "tributary=a", authorization: "Bearer a") == everything)
        #expect(access.check(link: "/x?signature=a") == everything)
        #expect(await access.logIn("anna") == .wrong)
        let path = "/api/v1/sessions/a/sources/b/media.mp4"
        let link = try access.link(
            to: path, query: "from=1", lifeSeconds: 60, for: .anonymous, .everything,
            now: AccessSample.time(0))
        #expect(link == "\(path)?from=1")
        #expect(try scene.place.names().isEmpty)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct `Access by password` {
    private let scene = AccessScene()

    @Test func `needs a log-in`() async throws {
        try scene.add("anna", sources: SourceScope("door"))
        let access = try scene.access()
        #expect(access.hasAccounts)
        #expect(access.check() == .refused(.notLoggedIn))
        let cookie = try await access.cookie(of: "anna")
        let rights = Rights(role: .viewer, sources: .named(["door"]))
        #expect(
            access.check(cookie: "x=1; \(cookie)")
                == .allowed(.user("anna"), rights, renewedCookie: nil))
        #expect(access.check(cookie: "\(cookie); \(cookie)") != .refused(.notLoggedIn))
        // Another site may have set either of two different cookies.
        #expect(access.check(cookie: "\(cookie); \(cookie)A") == .refused(.notLoggedIn))
        #expect(scene.lines.all.isEmpty)
    }

    @Test func `needs a file of accounts`() throws {
        #expect(throws: AccessError.noUserFile(path: scene.users.path)) { try scene.access() }
        // A failed start leaves no key file.
        #expect(try scene.place.names().isEmpty)
    }

    @Test func `sets a cookie for this host over TLS`() async throws {
        try scene.add("anna")
        let access = try scene.access(isSecure: true)
        let answer = await access.logIn("anna")
        guard case .succeeded(let rights, let text) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(rights == Rights(role: .viewer, sources: .all))
        #expect(text.hasPrefix("__Host-tributary="))
        #expect(text.hasSuffix("; HttpOnly; SameSite=Strict; Secure"))
        #expect(access.check(cookie: AccessScene.header(text)).rights == rights)
        #expect(access.logOut(cookie: nil, now: AccessSample.time(0)).hasSuffix("; Secure"))
    }

    @Test func `does not reveal whether a name exists`() async throws {
        try scene.add("anna")
        let token = try scene.users.addScript("backup")
        let access = try scene.access()
        #expect(await access.logIn("anna", AccessSample.otherPassword) == .wrong)
        #expect(await access.logIn("ben") == .wrong)
        #expect(await access.logIn("Anna") == .wrong)
        #expect(await access.logIn("backup", token) == .wrong)
        #expect(await access.logIn("anna", "", from: "192.0.2.2") == .wrong)
        #expect(await access.logIn("", "", from: "192.0.2.2") == .wrong)
        #expect(await access.logIn("anna\0", from: "192.0.2.2") == .wrong)
        let long = String(repeating: "x", count: 65_536)
        #expect(await access.logIn("anna", long, from: "192.0.2.2") == .wrong)
        #expect(await access.logIn(long, long, from: "192.0.2.2") == .wrong)
    }

    @Test func `is limited by name and address, also for unknown names`() async throws {
        try scene.add("anna")
        let access = try scene.access()
        for name in ["anna", "nobody"] {
            for _ in 0..<5 {
                let answer = await access.logIn(
                    name, AccessSample.otherPassword, from: "10.0.0.1")
                #expect(answer == .wrong)
            }
            let limited = await access.logIn(name, from: "10.0.0.1")
            #expect(limited == .tooManyAttempts(seconds: 12))
        }
        let early = await access.logIn("anna", from: "10.0.0.1", at: 11)
        #expect(early == .tooManyAttempts(seconds: 1))
        guard case .succeeded = await access.logIn("anna", from: "10.0.0.1", at: 12) else {
            Issue.record("she has waited")
            return
        }
    }

    @Test(arguments: ["anna", "nobody"])
    func `is not limited by guesses at the name from elsewhere`(name: String) async throws {
        try scene.add("anna")
        let access = try scene.access()
        for index in 0..<60 {
            let answer = await access.logIn(
                name, AccessSample.otherPassword, from: "10.0.0.\(index)")
            #expect(answer == .wrong)
        }
        _ = try await access.cookie(of: "anna")
        #expect(access.logInResults == [.wrong: 60, .succeeded: 1])
    }

    @Test func `gets its turn while another address has many attempts in progress`() async throws {
        let queue = BlockingWorkQueue("test", maximumRunning: 2, maximumWaiting: 2)
        let gate = WorkGate()
        let scene = AccessScene(hashing: queue)
        try scene.add("anna")
        let access = try scene.access()
        async let first = queue.run { gate.pass() }
        async let second = queue.run { gate.pass() }
        try await queue.reaches(running: 2, waiting: 0)
        await withTaskGroup(of: Access.LogIn.self) { group in
            for index in 0..<10 {
                group.addTask { await access.logIn("user-\(index)", from: "10.0.0.1") }
            }
            group.addTask { await access.logIn("anna") }
            // Two have a thread to wait for, and four of one address wait: the others do not.
            while access.logInResults[.busy, default: 0] < 4 { await Task.yield() }
            gate.open(2)
            var results: [Access.LogInResult: Int] = [:]
            for await answer in group {
                switch answer {
                case .succeeded: results[.succeeded, default: 0] += 1
                case .wrong: results[.wrong, default: 0] += 1
                case .busy: results[.busy, default: 0] += 1
                case .tooManyAttempts: results[.limited, default: 0] += 1
                }
            }
            #expect(results[.succeeded] == 1)
            #expect((4...5).contains(results[.busy, default: 0]))
            #expect((5...6).contains(results[.wrong, default: 0]))
        }
        _ = await (first, second)
    }

    @Test func `is limited by address for wrong passwords only`() async throws {
        try scene.add("anna")
        let access = try scene.access()
        for _ in 0..<30 { _ = try await access.cookie(of: "anna") }
        for index in 0..<10 { #expect(await access.logIn("user-\(index)") == .wrong) }
        #expect(await access.logIn("anna") == .tooManyAttempts(seconds: 6))
        // Present sessions stay valid.
        let other = await access.logIn("anna", from: "192.0.2.2")
        guard case .succeeded = other else {
            Issue.record("\(other)")
            return
        }
    }

    @Test func `reports when it is busy, and does not count this attempt`() async throws {
        let queue = BlockingWorkQueue("test", maximumRunning: 1, maximumWaiting: 0)
        let gate = WorkGate()
        let scene = AccessScene(hashing: queue)
        try scene.add("anna")
        let access = try scene.access()
        async let blocking = queue.run {
            gate.pass()
            return true
        }
        try await queue.reaches(running: 1, waiting: 0)
        for _ in 0..<20 { #expect(await access.logIn("anna") == .busy) }
        gate.open(1)
        let isDone = await blocking
        #expect(isDone == true)
        try await queue.reaches(running: 0, waiting: 0)
        _ = try await access.cookie(of: "anna")
    }

    @Test func `ends after half a day without requests, and is renewed by them`() async throws {
        try scene.add("anna")
        let access = try scene.access()
        let cookie = try await access.cookie(of: "anna")
        #expect(access.check(cookie: cookie, at: 21_599).renewedCookie == nil)
        let renewed = try #require(access.check(cookie: cookie, at: 21_600).renewedCookie)
        #expect(renewed.contains("; Max-Age=43200;"))
        #expect(access.check(cookie: cookie, at: 43_199).rights != nil)
        #expect(access.check(cookie: cookie, at: 43_200) == .refused(.notLoggedIn))
        let header = AccessScene.header(renewed)
        #expect(access.check(cookie: header, at: 43_200).renewedCookie != nil)
        #expect(access.check(cookie: header, at: 64_800) == .refused(.notLoggedIn))
    }

    @Test func `ends at log-out for all cookies of the log-in`() async throws {
        try scene.add("anna")
        let access = try scene.access()
        let cookie = try await access.cookie(of: "anna")
        let other = try await access.cookie(of: "anna")
        let renewed = try #require(access.check(cookie: cookie, at: 30_000).renewedCookie)
        let cleared = access.logOut(cookie: cookie, now: AccessSample.time(30_001))
        #expect(cleared.hasPrefix("tributary=; Path=/; Max-Age=0;"))
        #expect(access.check(cookie: cookie, at: 30_002) == .refused(.notLoggedIn))
        #expect(
            access.check(cookie: AccessScene.header(renewed), at: 30_002)
                == .refused(.notLoggedIn))
        #expect(access.check(cookie: other, at: 30_002).rights != nil)
        // An invalid log-in is cleared as well.
        let long = "tributary=\(String(repeating: "a", count: 65_536))"
        for header in [nil, "", "tributary=a", long] {
            #expect(access.logOut(cookie: header, now: AccessSample.time(30_002)) == cleared)
        }
    }

    @Test func `ends when its account changes, and for no other`() async throws {
        try scene.add("anna")
        try scene.add("ben")
        try scene.add("carl")
        try scene.add("dora")
        let access = try scene.access()
        var cookies: [String: String] = [:]
        for name in ["anna", "ben", "carl", "dora"] {
            cookies[name] = try await access.cookie(of: name)
        }
        try scene.add("anna", AccessSample.otherPassword, replacing: true)
        try scene.users.remove("ben")
        // By hand: the role alone.
        let text = try scene.place.text(scene.users.path)
        try scene.place.write(
            text.replacing("carl:viewer:", with: "carl:operator:"), to: scene.users.path)
        // Within a second, the file is not looked at again.
        #expect(access.check(cookie: cookies["ben"], at: 0).rights != nil)
        for name in ["anna", "ben", "carl"] {
            #expect(access.check(cookie: cookies[name], at: 1) == .refused(.notLoggedIn), "\(name)")
        }
        #expect(access.check(cookie: cookies["dora"], at: 1).rights != nil)
        let again = try await access.cookie(of: "carl", at: 1)
        #expect(access.check(cookie: again, at: 1).rights == .everything)
        #expect(await access.logIn("anna", at: 1) == .wrong)
        _ = try await access.cookie(of: "anna", AccessSample.otherPassword, at: 1)
        #expect(scene.lines.all.isEmpty)
    }

    @Test func `survives a restart, but not a new key`() async throws {
        try scene.add("anna")
        let cookie = try await scene.access().cookie(of: "anna")
        #expect(try scene.access().check(cookie: cookie).rights != nil)
        try FileManager.default.removeItem(atPath: scene.users.keyPath)
        #expect(try scene.access().check(cookie: cookie) == .refused(.notLoggedIn))
    }

    @Test(arguments: [
        "", ";", "tributary", "tributary=", "tributary=.", "tributary=AAAA.AAAA", "tributary=\0",
        "tributary=%00", "__Host-tributary=AAAA.AAAA", String(repeating: ";", count: 65_536),
        String(repeating: "tributary=A;", count: 5_000),
        "tributary=\(String(repeating: "A", count: 65_536))",
    ])
    func `is not given to other cookies`(header: String) throws {
        try scene.add("anna")
        #expect(try scene.access().check(cookie: header) == .refused(.notLoggedIn))
    }
}

struct `A file of accounts that changes` {
    private let scene = AccessScene()

    @Test func `keeps its last state while it is unusable, with one line`() throws {
        let token = "Bearer \(try scene.users.addScript("backup"))"
        let access = try scene.access()
        let path = scene.users.path
        let text = try scene.place.text(path)
        func isAllowed(at seconds: Int64) -> Bool {
            access.check(authorization: token, at: seconds).rights != nil
        }
        chmod(path, 0o644)
        for seconds: Int64 in 1...5 { #expect(isAllowed(at: seconds)) }
        #expect(scene.lines.all.count == 1)
        #expect(scene.lines.all.last?.contains("is accessible by other users") == true)
        try scene.place.write("nonsense", to: path)
        for seconds: Int64 in 6...9 { #expect(isAllowed(at: seconds)) }
        #expect(scene.lines.all.count == 2)
        #expect(scene.lines.all.last?.contains("users, line 1: write 'NAME") == true)
        try FileManager.default.removeItem(atPath: path)
        for seconds: Int64 in 10...13 { #expect(isAllowed(at: seconds)) }
        #expect(scene.lines.all.count == 3)
        #expect(scene.lines.all.last?.contains("there is no file") == true)
        #expect(scene.lines.all.allSatisfy { !$0.contains("\n") })
        try scene.place.write(text, to: path)
        #expect(isAllowed(at: 14))
        #expect(scene.lines.all.count == 4)
        #expect(scene.lines.all.last == "\(path) can be used again")
        // Its accounts count again, and its lack of them.
        try scene.place.write("# nobody\n", to: path)
        #expect(!isAllowed(at: 15))
        #expect(scene.lines.all.count == 4)
    }

    @Test func `is read again at most once a second`() throws {
        try scene.add("anna")
        let access = try scene.access()
        let token = "Bearer \(try scene.users.addScript("backup"))"
        #expect(access.check(authorization: token, at: 0) == .refused(.wrongToken))
        #expect(access.check(authorization: token, at: 1).rights != nil)
        try scene.users.remove("backup")
        #expect(access.check(authorization: token, at: 1).rights != nil)
        #expect(access.check(authorization: token, at: 2) == .refused(.wrongToken))
    }
}

struct `Access by token` {
    private let scene = AccessScene()

    @Test func `is for scripts`() throws {
        let token = try scene.users.addScript("backup", role: .operator)
        let access = try scene.access()
        let expected = Access.Answer.allowed(
            .script("backup"), .everything, renewedCookie: nil)
        #expect(access.check(authorization: "Bearer \(token)") == expected)
        #expect(access.check(authorization: "bearer  \(token)") == expected)
        // Before a cookie, which a browser adds by itself.
        #expect(access.check(cookie: "tributary=a", authorization: "Bearer \(token)") == expected)
    }

    @Test func `is limited by address for wrong tokens; a valid token is not limited`() throws {
        let token = "Bearer \(try scene.users.addScript("backup"))"
        let access = try scene.access()
        for _ in 0..<10 {
            let wrong = "Bearer \(AccessToken.random().text)"
            #expect(access.check(authorization: wrong) == .refused(.wrongToken))
        }
        #expect(
            access.check(authorization: "Bearer x") == .refused(.tooManyAttempts(seconds: 6)))
        #expect(access.check(authorization: token).rights != nil)
        #expect(
            access.check(authorization: "Bearer x", from: "192.0.2.2") == .refused(.wrongToken))
    }

    @Test(arguments: ["Bearer", "Bearer ", "Bearer a b", "Bearer \0", "Bearer =", "BEARER A"])
    func `is refused if the header is invalid`(header: String) throws {
        try scene.add("anna")
        #expect(try scene.access().check(authorization: header) == .refused(.wrongToken))
    }

    @Test(arguments: [
        "", " ", "Basic YTpi", "Digest a", "Bearerx", "\0",
        "Bearer \(String(repeating: "A", count: 65_536))", String(repeating: " ", count: 65_536),
    ])
    func `is not read from other headers`(header: String) async throws {
        try scene.add("anna")
        let access = try scene.access()
        #expect(access.check(authorization: header) == .refused(.notLoggedIn))
        // A proxy's own credentials do not end a log-in.
        let cookie = try await access.cookie(of: "anna")
        #expect(access.check(cookie: cookie, authorization: header).rights != nil)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct `An endless answer` {
    private static let viewer = Rights(role: .viewer, sources: .all)

    private let scene = AccessScene()

    @Test func `is valid until its user logs out`() async throws {
        try scene.add("anna")
        try scene.add("ben")
        let access = try scene.access()
        let cookie = try await access.cookie(of: "anna")
        let pass = access.pass(cookie: cookie, rights: Self.viewer)
        let other = access.pass(cookie: try await access.cookie(of: "ben"), rights: Self.viewer)
        #expect(access.isValid(pass, at: 1) && access.isValid(other, at: 1))
        _ = access.logOut(cookie: cookie, now: AccessSample.time(2))
        #expect(!access.isValid(pass, at: 3))
        // It is in use: its log-in does not expire.
        #expect(access.isValid(other, at: 100_000))
    }

    @Test func `ends with its account, and when the account's rights change`() async throws {
        try scene.add("anna", sources: SourceScope("door,yard"))
        try scene.add("ben")
        let access = try scene.access()
        let rights = Rights(role: .viewer, sources: .named(["door", "yard"]))
        let anna = access.pass(cookie: try await access.cookie(of: "anna"), rights: rights)
        let ben = access.pass(cookie: try await access.cookie(of: "ben"), rights: Self.viewer)
        #expect(access.isValid(anna, at: 0) && access.isValid(ben, at: 0))
        let text = try scene.place.text(scene.users.path)
        try scene.place.write(text.replacing(":door,yard:", with: ":door:"), to: scene.users.path)
        #expect(!access.isValid(anna, at: 1) && access.isValid(ben, at: 1))
        try scene.users.remove("ben")
        #expect(!access.isValid(ben, at: 2))
    }

    @Test func `ends with its token, and when the token's rights change`() throws {
        let token = "Bearer \(try scene.users.addScript("backup"))"
        let access = try scene.access()
        let pass = access.pass(authorization: token, rights: Self.viewer)
        #expect(access.isValid(pass, at: 0))
        let text = try scene.place.text(scene.users.path)
        try scene.place.write(
            text.replacing("backup:viewer:*:", with: "backup:viewer:door:"), to: scene.users.path)
        #expect(!access.isValid(pass, at: 1))
        let narrow = access.pass(
            authorization: token, rights: Rights(role: .viewer, sources: .named(["door"])))
        #expect(access.isValid(narrow, at: 1))
        try scene.users.remove("backup")
        #expect(!access.isValid(narrow, at: 2))
    }

    @Test func `is never valid with other credentials`() throws {
        try scene.add("anna")
        let access = try scene.access()
        for authorization in [nil, "Bearer guessed", "Basic YTpi"] {
            let pass = access.pass(authorization: authorization, rights: .everything)
            #expect(!access.isValid(pass, at: 0))
        }
        let unlimited = try scene.access(hasAccounts: false)
        #expect(unlimited.isValid(unlimited.pass(rights: .everything), at: 0))
    }
}
