import Foundation
import Testing

extension EndToEnd {
    /// The viewer's answers: recordings and live pictures over HTTP, by account.
    @Suite(
        .serialized,
        .enabled(
            if: Foreign.hasFFmpeg && Foreign.curl != nil, "curl asks, and ffmpeg plays the answers")
    )
    struct ViewerTests {
        /// A page of the list of sessions.
        private struct Page: Decodable, Sendable {
            struct Entry: Decodable, Sendable {
                var session: String
                var sources: [String]
            }

            var sessions: [Entry]
        }

        /// A source's lane on a timeline.
        private struct Lane: Decodable, Sendable {
            struct Span: Decodable, Sendable {
                var startSeconds: Double
                var endSeconds: Double
                var isGrowing: Bool
            }

            var source: String
            var recorded: [Span]
        }

        private struct Job: Decodable, Sendable {
            var id: String
            var state: String
        }

        private struct Link: Decodable, Sendable {
            var address: String
        }

        private static let sources = ["door", "stage"]

        /// Records some seconds of two test cameras; the session's name.
        private func record(on stage: Stage) async throws -> String {
            let collector = try await stage.collector("--once")
            let agents = try Self.sources.map { try stage.testAgent($0, "--duration", "3s") }
            for program in agents + [collector] { try await program.succeeds() }
            return try #require(try stage.sessions.first).lastPathComponent
        }

        /// The output of `tributary export` for a source.
        private func export(
            _ session: String, _ source: String, on stage: Stage, _ options: String...
        ) async throws -> URL {
            let file = stage.directory.appending(path: "\(UUID().uuidString).mp4")
            try await stage.start(
                .archive,
                [
                    "export", session, "--source", source, "--archive", stage.archive,
                    "--faststart", "--output", file.path,
                ] + options
            ).succeeds()
            return file
        }

        /// The digests of the coded tracks that FFmpeg finds in a file, or at an address.
        private func streamHash(_ input: String, on stage: Stage) async throws -> String {
            let output = try await Foreign.quiet(
                "ffmpeg",
                [
                    "-nostdin", "-v", "error", "-i", input, "-map", "0:v?", "-map", "0:a?", "-c",
                    "copy", "-f", "streamhash", "-",
                ], on: stage)
            return String(decoding: output, as: UTF8.self)
        }

        // MARK: Recordings

        @Test func `lists, clips, pictures, clocks and coverage are those of the recordings`()
            async throws
        {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                let served = try await ServedArchive(on: stage)
                let page = try await served.json(Page.self, at: "/api/v1/sessions")
                #expect(page.sessions.map(\.session) == [session])
                #expect(page.sessions.first?.sources.sorted() == Self.sources)
                let lanes = try await served.json(
                    [Lane].self, at: "/api/v1/sessions/\(session)/coverage")
                #expect(lanes.map(\.source).sorted() == Self.sources)
                for lane in lanes {
                    #expect(try #require(lane.recorded.last).endSeconds > 2)
                    #expect(!lane.recorded.contains { $0.isGrowing })
                }
                let media = "/api/v1/sessions/\(session)/sources/stage"
                let picture = try await served.get("\(media)/picture.jpg?at=1&width=160")
                #expect(picture.status == 200)
                #expect(picture.body.starts(with: [0xFF, 0xD8, 0xFF]))
                let clock = try await served.get("\(media)/clock?from=0")
                #expect(clock.status == 200 && clock.text.contains(#""boundSeconds" : {"#))
            }
        }

        @Test func `a clip is byte for byte the export, also in two parts`() async throws {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                let served = try await ServedArchive(on: stage)
                let clip = "/api/v1/sessions/\(session)/sources/stage/media.mp4"
                let files = [
                    ("", try await export(session, "stage", on: stage)),
                    (
                        "?from=1&until=2.5",
                        try await export(
                            session, "stage", on: stage, "--start", "1s", "--duration", "1.5s")
                    ),
                ]
                for (query, file) in files {
                    let exported = try Data(contentsOf: file)
                    let whole = try await served.get(clip + query)
                    #expect(whole.status == 200)
                    #expect(whole.body == exported)
                    let half = exported.count / 2
                    let first = try await served.get(clip + query, "--range", "0-\(half - 1)")
                    let second = try await served.get(clip + query, "--range", "\(half)-")
                    #expect(first.status == 206)
                    #expect(second.status == 206)
                    #expect(first.body + second.body == exported)
                }
                let beyond = try await served.get(clip, "--range", "1000000000-")
                #expect(beyond.status == 416)
            }
        }

        @Test func `an export that is asked for is the same file`() async throws {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                let place = stage.directory.appending(path: "exports").path
                let served = try await ServedArchive(on: stage, "--exports", place)
                let asked = try await served.post(
                    "/api/v1/exports", #"{"session": "latest", "sources": ["stage"]}"#)
                #expect(asked.status == 202 && asked.text.contains(session), "\(asked.text)")
                let job = try JSONDecoder().decode(Job.self, from: asked.body)
                let path = "/api/v1/exports/\(job.id)"
                let ended = try await served.eventually("the export has ended", path) {
                    !$0.text.contains(#""waiting""#) && !$0.text.contains(#""running""#)
                }
                let state = try JSONDecoder().decode(Job.self, from: ended.body).state
                #expect(state == "done", "\(ended.text)")
                let file = try await served.get("\(path)/file")
                #expect(file.status == 200)
                let exported = try await export(session, "stage", on: stage)
                #expect(try file.body == Data(contentsOf: exported))
            }
        }

        @Test func `an invalid request is answered with a status and one line`() async throws {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                let served = try await ServedArchive(on: stage)
                let source = "/api/v1/sessions/\(session)/sources/stage"
                let wishes = [
                    ("/api/v1/nothing", 404), ("/nothing/at/all", 404),
                    ("/api/v1/sessions/nothing", 404),
                    ("/api/v1/sessions/\(session)/sources/nobody/media.mp4", 404),
                    ("/hls/\(session)/nobody/index.m3u8", 404),
                    ("/hls/\(session)/stage/nothing.mp4", 404),
                    ("\(source)/media.mp4?colour=red", 400),
                    ("\(source)/media.mp4?from=2&until=1", 400),
                    ("\(source)/media.mp4?from=soon", 400),
                    ("\(source)/picture.jpg?width=1", 400),
                    ("\(source)/picture.jpg?at=1&nearest=no", 400),
                    ("/api/v1/sessions?from=2026-11-20T22:00:00Z&until=2026-11-20T21:00:00Z", 400),
                ]
                for (path, status) in wishes {
                    let answer = try await served.get(path)
                    #expect(answer.status == status, "\(path)")
                    #expect(answer.text.split(separator: "\n").count == 1, "\(answer.text)")
                }
                for options in [
                    ["--request", "BREW"],
                    ["--header", "X: \(String(repeating: "x", count: 20_000))"],
                    (0..<110).flatMap { ["--header", "X-\($0): x"] },
                ] {
                    let answer = try await served.ask("/healthz", options)
                    #expect(answer.status == 400 && answer.text.hasSuffix("\n"), "\(options[1])")
                }
            }
        }

        @Test func `another method is refused with 405 and the allowed ones`() async throws {
            try await Stage.with { stage in
                _ = try await record(on: stage)
                let served = try await ServedArchive(on: stage)
                for (path, allowed) in [
                    ("/api/v1/login", "POST"),
                    ("/api/v1/sessions/some", "DELETE, GET, HEAD, PATCH"),
                ] {
                    let answer = try await served.get(path, "--request", "PUT", "--include")
                    #expect(answer.status == 405, "\(path)")
                    #expect(answer.text.lowercased().contains("allow: \(allowed)".lowercased()))
                }
            }
        }

        @Test func `latest is the newest session in every address that reads`() async throws {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                let served = try await ServedArchive(on: stage)
                let overview = try await served.get("/api/v1/sessions/latest")
                #expect(overview.status == 200 && overview.text.contains(session))
                let source = "/sources/stage/picture.jpg?at=1&width=160"
                let picture = try await served.get("/api/v1/sessions/latest\(source)")
                #expect(picture.status == 200)
                #expect(
                    try await picture.body
                        == served.get("/api/v1/sessions/\(session)\(source)").body)
                let playlist = try await served.get("/hls/latest/stage/index.m3u8", "--include")
                #expect(playlist.status == 307)
                #expect(playlist.text.contains("/hls/\(session)/stage/index.m3u8"))
            }
        }

        @Test func `outside the recording, a picture is 404, or the nearest`() async throws {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                let served = try await ServedArchive(on: stage)
                let source = "/api/v1/sessions/\(session)/sources/stage"
                let late = try await served.get("\(source)/picture.jpg?at=60&width=160")
                #expect(late.status == 404 && late.text.contains("recorded up to 0:0"))
                let nearest = try await served.get(
                    "\(source)/picture.jpg?at=60&nearest=yes&width=160")
                #expect(nearest.status == 200)
                let early = try await served.get(
                    "\(source)/picture.jpg?at=-5&nearest=yes&width=160")
                #expect(early.status == 200)
                let clip = try await served.get("\(source)/media.mp4?from=60&until=70")
                #expect(clip.status == 404 && clip.text.contains("recorded up to 0:0"))
            }
        }

        // MARK: HLS

        @Test func `HLS has every packet of an export`() async throws {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                let served = try await ServedArchive(on: stage)
                let all = try await served.get("/hls/\(session)/index.m3u8")
                #expect(all.status == 200)
                for source in Self.sources {
                    #expect(all.text.contains("\n\(source)/index.m3u8\n"))
                    let path = "/hls/\(session)/\(source)/index.m3u8"
                    let playlist = try await served.get(path)
                    #expect(playlist.text.hasPrefix("#EXTM3U\n"))
                    #expect(playlist.text.contains("#EXT-X-PLAYLIST-TYPE:VOD\n"))
                    #expect(playlist.text.hasSuffix("#EXT-X-ENDLIST\n"))
                    let played = try await streamHash(served.address + path, on: stage)
                    let file = try await export(session, source, on: stage)
                    let exported = try await streamHash(file.path, on: stage)
                    #expect(played == exported)
                }
            }
        }

        @Test func `a growing recording's playlist is only appended to, and ends with it`()
            async throws
        {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once")
                let agent = try stage.testAgent("stage")
                _ = try await stage.holds(1, of: "stage")
                let session = try #require(try stage.sessions.first).lastPathComponent
                let served = try await ServedArchive(on: stage)
                let path = "/hls/\(session)/stage/index.m3u8"
                func count(_ answer: ServedArchive.Answer) -> Int {
                    answer.body.count(of: "#EXTINF:")
                }
                let first = try await served.eventually("a segment is listed", path) {
                    count($0) > 0
                }
                let second = try await served.eventually("another segment is listed", path) {
                    count($0) > count(first)
                }
                #expect(second.text.hasPrefix(first.text))
                #expect(second.text.contains("#EXT-X-PLAYLIST-TYPE:EVENT\n"))
                #expect(!second.text.contains("#EXT-X-ENDLIST"))
                agent.signal(SIGINT)
                for program in [agent, collector] { try await program.succeeds() }
                let last = try await served.eventually("the playlist ends", path) {
                    $0.text.hasSuffix("#EXT-X-ENDLIST\n")
                }
                #expect(last.text.hasPrefix(second.text))
            }
        }

        // MARK: Live

        @Test func `live media of two sources are in one response, and play`() async throws {
            try await Stage.with { stage in
                _ = try await stage.collector()
                // The next regular keyframe would come too late, so a new viewer requests one.
                for source in Self.sources {
                    _ = try stage.testAgent(source, "--keyframe-interval", "60s")
                }
                for source in Self.sources { _ = try await stage.holds(2, of: source) }
                let served = try await ServedArchive(on: stage)
                let file = stage.directory.appending(path: "live")
                let answer = try served.follow("/api/v1/live", into: file)
                var frames: [LiveStreamFrame] = []
                try await eventually("pictures of both come") {
                    guard FileManager.default.fileExists(atPath: file.path) else { return false }
                    frames = try LiveStreamFrame.frames(in: Data(contentsOf: file))
                    return Self.sources.allSatisfy { source in
                        frames.count { $0.header.type == "media" && $0.header.source == source }
                            > 10
                    }
                }
                answer.signal(SIGTERM)
                for source in Self.sources {
                    let own = frames.filter { $0.header.source == source }
                    #expect(own.first?.header.type == "begin")
                    // Another one follows a format change.
                    let start = try #require(
                        own.lastIndex(where: { $0.header.type == "begin" }))
                    let begin = own[start]
                    #expect(begin.header.codecs?.contains("avc1.") == true)
                    #expect(begin.header.codecs?.contains("mp4a.40.2") == true)
                    let media = own[start...].filter { $0.header.type == "media" }
                    #expect(media.first?.header.isKeyframe == true)
                    for frame in media {
                        #expect(frame.body.dropFirst(4).starts(with: Data("moof".utf8)))
                    }
                    let movie = stage.directory.appending(path: "\(source).mp4")
                    try (begin.body + media.flatMap(\.body)).write(to: movie)
                    _ = try await Foreign.quiet(
                        "ffmpeg",
                        [
                            "-nostdin", "-v", "error", "-i", movie.path, "-enc_time_base", "-1",
                            "-f", "null", "-",
                        ], on: stage)
                }
            }
        }

        /// A regression test: a change of segment must not interrupt `picture.jpg`.
        @Test func `the newest picture is served at every change of segment`() async throws {
            try await Stage.with { stage in
                _ = try await stage.collector("--segment", "2s")
                _ = try stage.testAgent("stage")
                _ = try await stage.holds(2, of: "stage")
                let session = try #require(try stage.sessions.first).lastPathComponent
                let served = try await ServedArchive(on: stage)
                let addresses = [
                    "/live/stage/picture.jpg", "/live/stage/picture.jpg?at=live&width=160",
                    "/api/v1/live/stage/picture.jpg?at=live",
                    "/api/v1/sessions/\(session)/sources/stage/picture.jpg?at=live",
                ]
                var index = 0
                while try stage.recordings("stage").count < 4 {
                    let address = addresses[index % addresses.count]
                    index += 1
                    let answer = try await served.get(address)
                    #expect(answer.status == 200, "\(address): \(answer.text)")
                }
                #expect(index > addresses.count)
                let headers = try await served.get(addresses[0], "--head").text.lowercased()
                #expect(headers.contains("cache-control: no-store"))
                #expect(try await served.get("/live/stage/picture.jpg?at=3").status == 400)
                #expect(try await served.get("/live/door/picture.jpg").status == 404)
                #expect(
                    try await served.get(
                        "/api/v1/sessions/other/sources/stage/picture.jpg?at=live"
                    ).status == 404)
            }
        }

        @Test func `a live source is LL-HLS with parts and a hint of the next one`() async throws {
            try await Stage.with { stage in
                _ = try await stage.collector()
                _ = try stage.testAgent("stage")
                let served = try await ServedArchive(on: stage)
                let folder = "/hls/live/stage"
                let playlist = try await served.eventually(
                    "a part is listed", "\(folder)/index.m3u8"
                ) { $0.status == 200 && $0.text.contains("#EXT-X-PART:") }
                #expect(playlist.text.contains("CAN-BLOCK-RELOAD=YES"))
                let map = try #require(
                    playlist.text.firstMatch(of: /#EXT-X-MAP:URI="([^"]+)"/))
                let beginning = try await served.get("\(folder)/\(map.1)")
                #expect(beginning.status == 200)
                #expect(beginning.body.dropFirst(4).starts(with: Data("ftyp".utf8)))
                let hint = try #require(
                    playlist.text.firstMatch(
                        of: /#EXT-X-PRELOAD-HINT:TYPE=PART,URI="([^"]+)"/))
                let part = try await served.get("\(folder)/\(hint.1)")
                #expect(part.status == 200)
                #expect(part.body.dropFirst(4).starts(with: Data("moof".utf8)))
                let far = try await served.get("\(folder)/index.m3u8?_HLS_msn=99999999999")
                #expect(far.status == 400)
            }
        }

        @Test func `events have the collector's status and changes`() async throws {
            try await Stage.with { stage in
                _ = try await stage.collector()
                let served = try await ServedArchive(on: stage)
                let file = stage.directory.appending(path: "events")
                let answer = try served.follow("/api/v1/events", into: file)
                func text() throws -> String {
                    guard FileManager.default.fileExists(atPath: file.path) else { return "" }
                    return String(decoding: try Data(contentsOf: file), as: UTF8.self)
                }
                try await eventually("the status comes") {
                    try text().contains("event: status\ndata: {")
                }
                _ = try stage.testAgent("stage")
                try await eventually("a source and its file are told of") {
                    let text = try text()
                    return text.contains("\nevent: source\n") && text.contains("\nevent: segment\n")
                }
                answer.signal(SIGTERM)
            }
        }

        // MARK: Access

        @Test func `tokens permit what their accounts may see, until they are removed`()
            async throws
        {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                let users = stage.directory.appending(path: "users").path
                func token(_ name: String, _ options: String...) async throws -> String {
                    let words = ["users", "add", name, "--token", "--users", users] + options
                    let added = try await stage.start(.viewer, words).succeeds()
                    return added.output.trimmingCharacters(in: .whitespacesAndNewlines)
                }
                let all = "Authorization: Bearer \(try await token("robot"))"
                let own = try await token("doorbell", "--sources", "door")
                let one = "Authorization: Bearer \(own)"
                let served = try await ServedArchive(on: stage, "--users", users)
                func status(_ path: String, _ header: String) async throws -> Int {
                    try await served.get(path, "--header", header).status
                }
                let list = "/api/v1/sessions"
                let clip = "\(list)/\(session)/sources/stage/media.mp4"
                #expect(try await served.get(list).status == 401)
                #expect(try await served.get(clip).status == 401)
                #expect(try await served.get("/hls/\(session)/stage/index.m3u8").status == 401)
                #expect(try await status(list, "Authorization: Bearer guessed") == 401)
                #expect(try await status(clip, all) == 200)
                #expect(try await status(clip, one) == 404)
                #expect(
                    try await status("\(list)/\(session)/sources/door/media.mp4", one) == 200)
                let seen = try await served.get(list, "--header", one)
                let page = try JSONDecoder().decode(Page.self, from: seen.body)
                #expect(page.sessions.map(\.sources) == [["door"]])
                #expect(try await served.get("/healthz").status == 200)
                // The viewer's own metrics are for operators.
                #expect(try await served.get("/metrics").status == 401)
                #expect(try await status("/metrics", all) == 403)
                let keeper = try await token("keeper", "--role", "operator")
                try await served.eventually(
                    "an operator reads the metrics", "/metrics", "--header",
                    "Authorization: Bearer \(keeper)"
                ) { $0.text.contains("tributary_viewer_answers_total{class=\"2xx\"}") }

                try await stage.start(
                    .viewer, ["users", "remove", "doorbell", "--users", users]
                ).succeeds()
                try await served.eventually("its token is not valid", list, "--header", one) {
                    $0.status == 401
                }
                #expect(try await status(list, all) == 200)
            }
        }

        @Test func `a log-in's cookie cannot be used by other sites, and makes links`()
            async throws
        {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                let users = stage.directory.appending(path: "users").path
                let password = "twelve letters"
                let script =
                    "printf '\(password)\\n' | '\(Executable.viewer.url.path)' users add ann --users '\(users)'"
                try await stage.start(at: URL(filePath: "/bin/bash"), ["-c", script]).succeeds()
                let served = try await ServedArchive(on: stage, "--users", users)
                let jar = stage.directory.appending(path: "cookies").path
                let list = "/api/v1/sessions"
                func logIn(_ password: String, _ options: String...) async throws -> Int {
                    try await served.ask(
                        "/api/v1/login",
                        [
                            "--header", "Content-Type: application/json", "--cookie-jar", jar,
                            "--data", #"{"name": "ann", "password": "\#(password)"}"#,
                        ] + options
                    ).status
                }
                let foreign = "Origin: http://elsewhere.example"
                #expect(try await logIn(password, "--header", foreign) == 403)
                #expect(try await logIn("something else") == 401)
                #expect(try await logIn(password) == 200)
                #expect(try await served.get(list, "--cookie", jar).status == 200)
                #expect(try await served.get(list).status == 401)

                // A change requires the viewer's own origin.
                let change = ["--cookie", jar, "--request", "POST"]
                func logOut(_ options: String...) async throws -> Int {
                    try await served.ask("/api/v1/logout", change + options).status
                }
                #expect(try await logOut() == 403)
                #expect(try await logOut("--header", foreign) == 403)

                let clip = "\(list)/\(session)/sources/stage/media.mp4"
                let made = try await served.post(
                    "/api/v1/links", #"{"address": "\#(clip)?from=1", "seconds": 60}"#, "--cookie",
                    jar)
                #expect(made.status == 201, "\(made.text)")
                let link = try JSONDecoder().decode(Link.self, from: made.body).address
                #expect(try await served.get(link).status == 200)
                #expect(try await served.get(clip).status == 401)
                for (wrong, status) in [
                    ("\(clip)?from=2&until=1", 400), ("\(clip)?from=soon", 400),
                    ("\(list)/\(session)/sources/nobody/media.mp4", 404),
                    ("\(list)/nothing/sources/stage/media.mp4", 404),
                ] {
                    let answer = try await served.post(
                        "/api/v1/links", #"{"address": "\#(wrong)", "seconds": 60}"#, "--cookie",
                        jar)
                    #expect(answer.status == status, "\(wrong): \(answer.text)")
                }
                let other = link.replacing("from=1", with: "from=0")
                #expect(try await served.get(other).status == 403)

                #expect(try await logOut("--header", "Origin: \(served.address)") == 204)
                #expect(try await served.get(list, "--cookie", jar).status == 401)
            }
        }

        @Test func `a host name that is not the viewer's is refused`() async throws {
            try await Stage.with { stage in
                let served = try await ServedArchive(on: stage, "--host-name", "viewer.test")
                func status(_ host: String) async throws -> Int {
                    try await served.get("/healthz", "--header", "Host: \(host)").status
                }
                #expect(try await status("localhost:1") == 200)
                #expect(try await status("viewer.test") == 200)
                #expect(try await status("elsewhere.example") == 421)
            }
        }

        // MARK: The program

        @Test(arguments: [
            ("--listen 0.0.0.0:0", 64, "give --users FILE"),
            (
                "--listen 0.0.0.0:0 --users /nowhere/users", 64,
                "give --tls-certificate and --tls-key, --behind-proxy, or --insecure"
            ),
            ("--tls-certificate /nowhere/chain.pem", 64, "belong together"),
            ("--tls-key /nowhere/key.pem", 64, "belong together"),
            ("--listen nowhere", 64, "'nowhere'"),
            ("--feed nowhere", 64, "'nowhere' is not an endpoint"),
            (
                "--feed tcp://192.0.2.1:5560 --keys /nowhere/keys", 64,
                "the key of the collector at tcp://192.0.2.1:5560 is not known"
            ),
            ("--keys /nowhere/keys", 64, "--keys is for --feed"),
            ("--colour red", 64, "Unknown option '--colour'"),
            ("watch", 64, "no command 'watch'"),
            ("users ad", 64, "did you mean 'add'?"),
            (
                "users add ../x --token --users /tmp/no-such-file", 64,
                "'../x' is not a valid user name"
            ),
            ("users list --users /nowhere/users", 1, "there is no file /nowhere/users"),
            ("--users /nowhere/users", 1, "there is no file /nowhere/users"),
            ("--host-name a/b", 1, "'a/b' is not a host name"),
            (
                "--tls-certificate /nowhere/chain.pem --tls-key /nowhere/key.pem", 1,
                "cannot use the certificate /nowhere/chain.pem"
            ),
        ])
        func `an invalid option is refused in one line`(
            arguments: String, status: Int32, text: String
        ) async throws {
            try await Stage.with { stage in
                let words = arguments.split(separator: " ").map(String.init)
                let outcome = try await stage.start(.viewer, words).outcome()
                #expect(outcome.status == status)
                #expect(outcome.complaintLines.count == 1, "\(outcome.complaints)")
                #expect(outcome.complaints.hasPrefix("tributary-viewer"))
                #expect(outcome.complaints.contains(text), "\(outcome.complaints)")
                #expect(outcome.output.isEmpty)
            }
        }

        @Test func `accounts that others may read are refused`() async throws {
            try await Stage.with { stage in
                let users = stage.directory.appending(path: "users")
                try Data().write(to: users)
                chmod(users.path, 0o644)
                let outcome = try await stage.run(
                    .viewer, "--archive", stage.archive, "--listen", "127.0.0.1:0", "--users",
                    users.path)
                #expect(outcome.status == 1)
                #expect(outcome.complaintLines.count == 1)
                #expect(outcome.complaints.contains("chmod 600 \(users.path)"))
            }
        }

        @Test func `a service manager gets readiness and the stop`() async throws {
            try await Stage.with { stage in
                let manager = try ServiceListener(on: stage)
                let viewer = try manager.start(
                    .viewer, ["--archive", stage.archive, "--listen", "127.0.0.1:0"], on: stage)
                try await manager.hears("READY=1")
                viewer.signal(SIGTERM)
                try await manager.hears("STOPPING=1")
                try await viewer.succeeds()
            }
        }
    }
}

/// A frame of the live stream: u32 bytes of the header, u32 bytes of the body, the header (JSON), the body.
private struct LiveStreamFrame: Sendable {
    struct Header: Decodable, Sendable {
        var type: String
        var source: String?
        var codecs: String?
        var isKeyframe: Bool?
    }

    var header: Header
    var body: Data

    /// The complete frames received so far.
    static func frames(in data: Data) throws -> [LiveStreamFrame] {
        var frames: [LiveStreamFrame] = []
        var rest = data[...]
        func number(_ bytes: Data) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
        while rest.count >= 8 {
            let headerSize = number(rest.prefix(4))
            let bodySize = number(rest.dropFirst(4).prefix(4))
            guard rest.count >= 8 + headerSize + bodySize else { break }
            rest = rest.dropFirst(8)
            let header = try JSONDecoder().decode(Header.self, from: Data(rest.prefix(headerSize)))
            rest = rest.dropFirst(headerSize)
            frames.append(LiveStreamFrame(header: header, body: Data(rest.prefix(bodySize))))
            rest = rest.dropFirst(bodySize)
        }
        return frames
    }
}
