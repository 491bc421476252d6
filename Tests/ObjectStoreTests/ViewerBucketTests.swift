import Files
import Foundation
import Glibc
import Synchronization
import Testing
import Threads

@testable import ObjectStore

/// The reader's side of an archive behind a viewer, over a real connection to a faulty server.
@Suite(.timeLimit(.minutes(1))) struct ViewerBucketTests {
    private static let archive = "0123456789abcdef0123456789abcdef"
    private static let secret = SiteSecret(text: String(repeating: "s", count: 44))

    private func bucket(
        _ server: ScriptedServer, timeouts: TransportTimeouts = TransportTimeouts(),
        shutdown: Shutdown = Shutdown(), deadlineNanoseconds: Int64 = 20_000_000_000
    ) throws -> ViewerBucket {
        ViewerBucket(
            try ViewerAddress("http://127.0.0.1:\(server.port)"), archive: Self.archive,
            collector: "west", tokens: SiteTokens(try #require(Self.secret)),
            transport: try HTTPTransport(timeouts: timeouts, shutdown: shutdown),
            deadlineNanoseconds: deadlineNanoseconds)
    }

    private func error(
        _ steps: [ScriptedServer.Step], timeouts: TransportTimeouts = TransportTimeouts(),
        deadlineNanoseconds: Int64 = 20_000_000_000,
        _ body: (ViewerBucket) throws -> Void
    ) throws -> ObjectStoreError? {
        let server = try ScriptedServer(steps)
        let bucket = try bucket(
            server, timeouts: timeouts, deadlineNanoseconds: deadlineNanoseconds)
        do {
            try body(bucket)
            return nil
        } catch let error as ObjectStoreError {
            #expect(!error.message.contains("\n") && error.message.contains("/west: cannot "))
            return error
        }
    }

    private static func answer(_ status: String, _ body: String, _ fields: String = "") -> String {
        "HTTP/1.1 \(status)\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static func page(_ objects: String, isTruncated: Bool = false) -> String {
        answer("200 OK", #"{"objects":[\#(objects)],"isTruncated":\#(isTruncated)}"#)
    }

    private static func object(_ key: String, size: Int64 = 1, tag: String = #"\"t\""#) -> String {
        #"{"key":"\#(key)","isFolder":\#(key.hasSuffix("/")),"sizeBytes":\#(size),"tag":"\#(tag)"}"#
    }

    @Test func `files are listed and read with a code for host and archive`() throws {
        let server = try ScriptedServer([
            .send(Self.page(Self.object("s/a.mp4", size: 5))),
            .send(
                Self.answer(
                    "206 Partial Content", "bcd", "Content-Range: bytes 1-3/5\r\n")),
            .send("HTTP/1.1 200 OK\r\nETag: \"t\"\r\nContent-Length: 5\r\n\r\n"),
            .send(Self.answer("404 Not Found", "")),
        ])
        let bucket = try bucket(server)
        let page = try bucket.list(prefix: "s/", after: nil, folders: false)
        #expect(page.entries.map(\.key) == ["s/a.mp4"])
        #expect(try bucket.read("s/a.mp4", range: 1..<4, tag: "\"t\"") == Array("bcd".utf8))
        #expect(try bucket.properties(of: "s/a.mp4")?.sizeBytes == 5)
        #expect(try bucket.properties(of: "s/b.mp4") == nil)
        let code = try #require(Self.secret).code(for: "127.0.0.1", archive: Self.archive)
        let lines = server.requests.map { $0.components(separatedBy: "\r\n") }
        #expect(
            lines.first?.first
                == "GET /api/v1/archives/\(Self.archive)/objects?prefix=s%2F HTTP/1.1")
        for request in lines { #expect(request.contains("Authorization: Bearer \(code)")) }
        #expect(lines[1].contains("Range: bytes=1-3") && lines[1].contains("If-Match: \"t\""))
        #expect(!server.requests.joined().contains("ssss"))
    }

    @Test(arguments: [
        ("401 Unauthorized", ObjectStoreError.Kind.denied, "--site-token-file"),
        ("404 Not Found", .refused, "--viewer-url"),
        ("421 Misdirected Request", .refused, "--host-name"),
        ("429 Too Many Requests", .denied, "in a minute"),
        ("503 Service Unavailable", .busy, "cannot answer now"),
        ("302 Found", .refused, "redirects"),
        ("204 No Content", .refused, "no viewer does"),
        ("418 I'm a teapot", .refused, "no viewer does"),
    ])
    func `a refusal has its reason and a remedy`(
        status: String, kind: ObjectStoreError.Kind, words: String
    ) throws {
        let server = try ScriptedServer([])
        let fields = "Location: http://127.0.0.1:\(server.port)/evil\r\n"
        let found = try error([.send(Self.answer(status, "nonsense", fields))]) {
            _ = try $0.list(prefix: "", after: nil, folders: true)
        }
        #expect(found?.kind == kind)
        #expect(found?.message.contains(words) == true, "\(found?.message ?? "")")
        #expect(found?.message.contains("nonsense") == false)
        // The other host is not asked.
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [
        "not json", "[]", "{}", #"{"objects":5,"isTruncated":false}"#,
        // Nothing, and more behind it.
        #"{"objects":[],"isTruncated":true}"#,
        String(repeating: "[", count: 100_000),
    ])
    func `an invalid list is an error`(body: String) throws {
        let found = try error([.send(Self.answer("200 OK", body))]) {
            _ = try $0.list(prefix: "s/", after: nil, folders: false)
        }
        #expect(found?.kind == .unreachable)
    }

    @Test(arguments: [
        object("s/../x.mp4"), object("/etc/passwd"), object("other/a.mp4"), object("s//a.mp4"),
        object("s/."), object("s/a b.mp4"), object("s/a.mp4", size: -1),
        object("s/a.mp4", tag: ""), object("s/a.mp4", tag: #"\"a\\r\\nX: y\""#),
        object("s/a.mp4", tag: "W/\\\"t\\\""), object("s/b.mp4") + "," + object("s/a.mp4"),
        object("s/a.mp4") + "," + object("s/a.mp4"), object("s/\u{E9}.mp4"),
        object("s/" + String(repeating: "a", count: 2_000)),
        (0..<1_001).map { object("s/\(10_000 + $0)") }.joined(separator: ","),
    ])
    func `a list with impossible entries is an error`(objects: String) throws {
        let found = try error([.send(Self.page(objects))]) {
            _ = try $0.list(prefix: "s/", after: nil, folders: false)
        }
        #expect(found?.kind == .unreachable, "\(objects.prefix(80))")
    }

    @Test func `a list that does not advance is an error`() throws {
        let found = try error([.send(Self.page(Self.object("s/a.mp4"), isTruncated: true))]) {
            _ = try $0.list(prefix: "s/", after: "s/a.mp4", folders: false)
        }
        #expect(found?.kind == .unreachable)
    }

    @Test(arguments: [
        // Another range, another size, the whole file.
        answer("206 Partial Content", "abc", "Content-Range: bytes 0-2/5\r\n"),
        answer("206 Partial Content", "ab", "Content-Range: bytes 1-3/5\r\n"),
        answer("206 Partial Content", "abcdef", "Content-Range: bytes 1-3/5\r\n"),
        answer("206 Partial Content", "abc"), answer("200 OK", "abcde"),
    ])
    func `bytes that are not those that were asked for are an error`(answer: String) throws {
        let found = try error([.send(answer)]) {
            _ = try $0.read("s/a.mp4", range: 1..<4, tag: nil)
        }
        #expect(found?.kind == .unreachable)
    }

    @Test func `a file that was replaced, shortened or removed has its own kind of error`() throws {
        for (status, kind) in [
            ("412 Precondition Failed", ObjectStoreError.Kind.changed),
            ("416 Range Not Satisfiable", .changed), ("404 Not Found", .gone),
        ] {
            let found = try error([.send(Self.answer(status, ""))]) {
                _ = try $0.read("s/a.mp4", range: 1..<4, tag: "\"t\"")
            }
            #expect(found?.kind == kind)
        }
    }

    @Test func `an endless, slow, missing or truncated answer ends in time`() throws {
        var timeouts = TransportTimeouts()
        timeouts.silenceNanoseconds = 300_000_000
        timeouts.dripNanoseconds = 300_000_000
        let head =
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 1-3/5\r\nContent-Length: 3\r\n\r\n"
        for step in [
            ScriptedServer.Step.flood(16 << 20), .drip(head, milliseconds: 1_000), .silence,
            .sendAndClose(head + "a"),
        ] {
            let began = ContinuousClock.now
            let found = try error([step], timeouts: timeouts) {
                _ = try $0.read("s/a.mp4", range: 1..<4, tag: nil)
            }
            #expect(found?.kind == .unreachable)
            #expect(ContinuousClock.now - began < .seconds(10))
        }
        let found = try error([.flood(16 << 20)], timeouts: timeouts) {
            _ = try $0.list(prefix: "", after: nil, folders: true)
        }
        #expect(found?.kind == .unreachable)
    }

    @Test func `the end of the program ends a wait`() throws {
        let server = try ScriptedServer([.silence])
        let shutdown = Shutdown()
        let bucket = try bucket(server, shutdown: shutdown)
        let ending = Thread {
            usleep(100_000)
            shutdown.begin()
        }
        ending.start()
        let error = #expect(throws: ObjectStoreError.self) {
            try bucket.list(prefix: "", after: nil, folders: true)
        }
        #expect(error?.kind == .stopped)
    }

    private static let mark = ViewerMark(
        id: "0123456789abcdef", atNanoseconds: 1_500_000_001, text: "goal", source: nil)

    @Test func `marks are set and removed with the code for marks`() throws {
        let made = #"{"id":"0123456789abcdef","atSeconds":1.500000001,"text":"goal"}"#
        let server = try ScriptedServer([
            .send(Self.answer("201 Created", made)), .send(Self.answer("201 Created", made)),
            .send("HTTP/1.1 204 No Content\r\n\r\n"),
            .send(Self.answer("422 Unprocessable Content", "")),
        ])
        let bucket = try bucket(server)
        #expect(try bucket.setMark(Self.mark, of: "s") == Self.mark)
        var untimed = Self.mark
        untimed.atNanoseconds = nil
        #expect(try bucket.setMark(untimed, of: "s") == Self.mark)
        try bucket.removeMark(Self.mark.id, of: "s")
        #expect(try bucket.setMark(untimed, of: "s") == nil)
        let secret = try #require(Self.secret)
        let code = secret.code(for: "127.0.0.1", archive: Self.archive, .marking)
        #expect(code != secret.code(for: "127.0.0.1", archive: Self.archive))
        #expect(!secret.admits(code, for: "127.0.0.1", archive: Self.archive))
        #expect(server.requests[0].contains(#""atSeconds":1.500000001"#))
        #expect(!server.requests[1].contains("atSeconds"))
        let lines = server.requests.map { $0.components(separatedBy: "\r\n") }
        #expect(
            lines.compactMap(\.first).prefix(3) == [
                "POST /api/v1/archives/\(Self.archive)/marks?session=s HTTP/1.1",
                "POST /api/v1/archives/\(Self.archive)/marks?session=s HTTP/1.1",
                "DELETE /api/v1/archives/\(Self.archive)/marks/0123456789abcdef?session=s HTTP/1.1",
            ])
        for request in lines { #expect(request.contains("Authorization: Bearer \(code)")) }
    }

    @Test func `only the given labels are changed, with the code for editing`() throws {
        let server = try ScriptedServer([.send("HTTP/1.1 204 No Content\r\n\r\n")])
        try bucket(server).edit(ViewerEdit(name: "", isProtected: true), of: "s")
        let secret = try #require(Self.secret)
        let code = secret.code(for: "127.0.0.1", archive: Self.archive, .editing)
        #expect(code != secret.code(for: "127.0.0.1", archive: Self.archive, .marking))
        let request = server.requests[0]
        #expect(
            request.hasPrefix("POST /api/v1/archives/\(Self.archive)/edits?session=s HTTP/1.1"))
        #expect(request.contains("Authorization: Bearer \(code)"))
        #expect(request.contains(##""name":"""##) && request.contains(#""isProtected":true"#))
        #expect(!request.contains("note") && !request.contains("Tags"))
        let refused = try error([.send(Self.answer("409 Conflict", ""))]) {
            try $0.edit(ViewerEdit(note: "x"), of: "s")
        }
        #expect(refused?.message.contains("--group-commands") == true)
    }

    @Test(arguments: [
        (answer("404 Not Found", ""), "of an older version"),
        (answer("401 Unauthorized", ""), "--site-token-file"),
        (answer("409 Conflict", ""), "--group-commands"),
        (answer("410 Gone", ""), "not there any more"),
        (answer("422 Unprocessable Content", ""), "no viewer does"),
        (answer("201 Created", "{}"), "no mark"),
        (answer("201 Created", #"{"id":"0123456789abcdef","text":"goal"}"#), "another mark"),
        (
            answer("201 Created", #"{"id":"0123456789abcdef","atSeconds":1.6,"text":"goal"}"#),
            "another mark"
        ),
        (
            answer("201 Created", #"{"id":"0123456789abcdef","atSeconds":1e300,"text":"goal"}"#),
            "no mark"
        ),
        (answer("200 OK", #"{"id":"0123456789abcdef","text":"goal"}"#), "no viewer does"),
    ])
    func `a mark that is not set is an error of one line`(answer: String, words: String) throws {
        let found = try error([.send(answer)]) { _ = try $0.setMark(Self.mark, of: "s") }
        #expect(found?.message.contains(words) == true, "\(found?.message ?? "")")
    }

    @Test func `only https, and http on this machine, are addresses`() throws {
        for text in [
            "https://east.example", "https://east.example:8443/", "http://127.0.0.1:8080",
            "http://localhost", "http://[::1]:8080", "https://[fd00::1]",
        ] {
            _ = try ViewerAddress(text)
        }
        for text in [
            "http://east.example", "http://127.0.0.1.evil.example", "http://127.evil.example",
            "http://128.0.0.1", "http://localhost.evil.example", "http://[::2]",
        ] {
            #expect(throws: ViewerAddress.Flaw.insecure, "\(text)") { try ViewerAddress(text) }
        }
        for text in [
            "east.example", "https://user:word@east.example", "https://east.example/path",
            "ftp://east.example", "https://", "https://east.example:0", "https://a b",
        ] {
            #expect(throws: ViewerAddress.Flaw.self, "\(text)") { try ViewerAddress(text) }
        }
    }
}

/// The secret of a site, and the codes that are sent instead of it.
@Suite struct SiteSecretTests {
    private let directory = FileManager.default.temporaryDirectory
        .appending(path: "tributary-secret-\(UUID().uuidString)")
    private static let text = String(repeating: "abcd", count: 11)

    private func file(_ content: String, mode: Int = 0o600) throws -> String {
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true)
        let path = directory.appending(path: UUID().uuidString).path
        #expect(
            FileManager.default.createFile(
                atPath: path, contents: Data(content.utf8),
                attributes: [.posixPermissions: mode]))
        return path
    }

    @Test func `a code is for one host and one archive`() throws {
        let secret = try #require(SiteSecret(text: Self.text))
        let code = secret.code(for: "east.example:8443", archive: "a")
        #expect(!code.contains("abcd") && code.utf8.count == 43)
        for host in ["east.example:8443", "east.example", "EAST.example:80"] {
            #expect(secret.admits(code, for: host, archive: "a"), "\(host)")
        }
        #expect(!secret.admits(code, for: "east.example", archive: "b"))
        #expect(!secret.admits(code, for: "evil.example", archive: "a"))
        #expect(!secret.admits(code, for: "east.example.evil", archive: "a"))
        #expect(!secret.admits("", for: "east.example", archive: "a"))
        #expect(!secret.admits(Self.text, for: "east.example", archive: "a"))
        #expect(!secret.admits(code + "A", for: "east.example", archive: "a"))
        let other = try #require(SiteSecret(text: Self.text + "e"))
        #expect(!other.admits(code, for: "east.example", archive: "a"))
        let address = secret.code(for: "[fd00::1]:8443", archive: "a")
        #expect(secret.admits(address, for: "[FD00::1]", archive: "a"))
        #expect(!secret.admits(address, for: "[fd00::2]", archive: "a"))
    }

    @Test func `a file has one line, and only its owner reads it`() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let code = SiteSecret(text: Self.text)?.code(for: "h", archive: "a")
        func tokens(_ path: String) throws -> SiteTokens {
            try SiteTokens(file: path) { Issue.record("\($0)") }
        }
        let read = try tokens(file("# the site's\n\n\(Self.text)\n"))
        #expect(read.code(for: "h", archive: "a") == code)
        for mode in [0o644, 0o640, 0o660, 0o604] {
            let path = try file(Self.text, mode: mode)
            #expect(throws: SiteSecret.Flaw.file(.accessibleByOthers(path: path))) {
                try tokens(path)
            }
        }
        for content in [
            "", "# a\n", String(repeating: "\(Self.text)\n", count: 3), "\(Self.text) x\n",
            "\(Self.text)\n\(Self.text) x\n",
        ] {
            let path = try file(content)
            #expect(throws: SiteSecret.Flaw.malformed(path: path)) { try tokens(path) }
        }
        let short = try file("abc\n")
        #expect(throws: SiteSecret.Flaw.short(path: short)) { try tokens(short) }
        #expect(throws: SiteSecret.Flaw.noFile(path: "/nowhere/x")) {
            try tokens("/nowhere/x")
        }
        let large = try file(String(repeating: "a", count: 5_000))
        #expect(throws: SiteSecret.Flaw.self) { try tokens(large) }
        #expect(throws: SiteSecret.Flaw.file(.notAFile(path: directory.path))) {
            try tokens(directory.path)
        }
    }

    /// A test clock, and the reported lines.
    private final class Surroundings: Sendable {
        let now = Mutex<Int64>(0)
        let lines = Mutex<[String]>([])

        func pass(milliseconds: Int64) { now.withLock { $0 += milliseconds * 1_000_000 } }
        func taken() -> [String] {
            lines.withLock { lines in
                defer { lines = [] }; return lines
            }
        }
    }

    @Test func `a token is replaced without refusing a reader`() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let (old, new) = (Self.text, String(repeating: "wxyz", count: 11))
        let path = try file("\(old)\n")
        let around = Surroundings()
        let tokens = try SiteTokens(
            file: path, monotonicNow: { around.now.withLock { $0 } },
            report: { line in around.lines.withLock { $0.append(line) } })
        func replace(_ content: String, mode: Int = 0o600) throws {
            // Like an editor: another file of the name.
            try #require(rename(file(content, mode: mode), path) == 0)
        }
        let codes = try [old, new].map {
            try #require(SiteSecret(text: $0)).code(for: "h", archive: "a")
        }
        func admitted() -> [Bool] { codes.map { tokens.admits($0, for: "h", archive: "a") } }
        func sent() -> Int? { codes.firstIndex(of: tokens.code(for: "h", archive: "a")) }

        #expect(admitted() == [true, false] && sent() == 0)
        // The next one is accepted everywhere before it is used anywhere.
        try replace("\(old)\n\(new)\n")
        around.pass(milliseconds: 999)
        #expect(admitted() == [true, false])
        around.pass(milliseconds: 1)
        #expect(admitted() == [true, true] && sent() == 0)
        #expect(around.taken().count == 1)
        try replace("\(new)\n\(old)\n")
        around.pass(milliseconds: 1_000)
        #expect(sent() == 1 && admitted() == [true, true])
        #expect(around.taken().count == 1)
        // A file that cannot be used changes nothing, and is reported once.
        for _ in 0..<3 {
            try replace("\(new)\n", mode: 0o644)
            around.pass(milliseconds: 1_000)
            #expect(sent() == 1 && admitted() == [true, true])
        }
        let complaints = around.taken()
        #expect(complaints.count == 1 && complaints[0].contains("chmod 600"), "\(complaints)")
        try replace("\(new)\n")
        around.pass(milliseconds: 1_000)
        #expect(sent() == 1 && admitted() == [false, true])
        #expect(around.taken().count == 1)
        // Unchanged, it is not read again.
        around.pass(milliseconds: 10_000)
        #expect(sent() == 1 && around.taken().isEmpty)
    }
}
