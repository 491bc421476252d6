import Archive
import Foundation
import ObjectStore
import PostgreSQL
import TestDatabases
import TestMedia
import Testing
import Threads

extension EndToEnd {
    /// Archives that only another machine has on its disk, read through the viewer there.
    @Suite(
        .serialized,
        .enabled(
            if: PostgreSQLServer.absence == nil && MediaFiles.canBeMade && Foreign.curl != nil,
            "PostgreSQL, FFmpeg and curl are needed"))
    struct RemoteArchiveTests {
        /// Two collectors with one source each. West's archive is out of reach once it has moved; a viewer has it at its new place.
        private struct Site {
            let stage: Stage
            let server: PostgreSQLServer
            let west: ServedArchive

            /// - Parameter place: the directory that west's viewer serves.
            init(on stage: Stage, serving place: String = "elsewhere") async throws {
                self.stage = stage
                server = try PostgreSQLServer()
                try Data("# readers of the site\n\(String(repeating: "k3Y+", count: 11))\n".utf8)
                    .write(to: stage.directory.appending(path: "site.token"))
                for name in ["site.token", "wrong.token"] {
                    let path = stage.directory.appending(path: name)
                    if name == "wrong.token" {
                        try Data(String(repeating: "x", count: 44).utf8).write(to: path)
                    }
                    try FileManager.default.setAttributes(
                        [.posixPermissions: 0o600], ofItemAtPath: path.path)
                }
                // The address of the viewer is a setting of its collector, so it is there first.
                west = try await ServedArchive(
                    on: stage, archives: [stage.directory.appending(path: place).path],
                    "--site-token-file", stage.directory.appending(path: "site.token").path)
            }

            var token: [String] { ["--site-token-file", path("site.token")] }
            var catalog: [String] { ["--catalog", server.text()] }
            func path(_ name: String) -> String { stage.directory.appending(path: name).path }

            func collector(_ name: String, _ others: [String]) async throws -> Running {
                let collector = try stage.start(
                    .collector,
                    [
                        "--listen", "ipc://\(path(name))", "--archive", path("archive-\(name)"),
                        "--name", name,
                    ] + catalog + others)
                try await collector.says("listening on")
                return collector
            }

            func agent(_ source: String, at name: String, _ others: [String]) throws -> Running {
                try stage.start(
                    .agent,
                    [
                        "--collector", "ipc://\(path(name))", "--source", source, "--video",
                        "test", "--size", "320x180", "--fps", "10", "--keyframe-interval", "1s",
                        "--late", "keep",
                        "--spool", stage.spool, "--linger", "60s",
                    ] + others)
            }

            /// Records a source at each collector.
            func record() async throws {
                let collectors = [
                    try await collector("east", ["--segment", "2s"]),
                    try await collector(
                        "west", ["--segment", "2s", "--viewer-url", west.address]),
                ]
                let agents = [
                    try agent("door", at: "east", ["--duration", "6s"]),
                    try agent("hall", at: "west", ["--duration", "6s"]),
                ]
                for agent in agents { try await agent.succeeds() }
                for collector in collectors { collector.signal(SIGINT) }
                for collector in collectors { try await collector.succeeds() }
            }

            func read(_ words: [String], _ options: [String]) async throws -> Outcome {
                try await stage.start(.archive, words + options).outcome()
            }
        }

        /// The sorted digests of all pictures and packets that FFmpeg decodes: times, and with them the order of pictures and sound,
        /// differ by less than a millisecond, because a file that is not on this disk is moved as a whole.
        private static func decoded(_ path: String, on stage: Stage) async throws -> [String] {
            let judged = try await stage.start(
                at: URL(filePath: "/usr/bin/env"),
                ["ffmpeg", "-nostdin", "-v", "warning", "-xerror", "-i", path, "-map", "0"]
                    + ["-f", "framemd5", "-"]
            ).succeeds()
            #expect(judged.complaints == "")
            return judged.output.split(separator: "\n").filter { !$0.hasPrefix("#") }
                .compactMap { $0.split(separator: ",").last.map(String.init) }.sorted()
        }

        private static func summary(_ verification: String) -> [String] {
            verification.split(separator: "\n").map(String.init).filter {
                $0.hasPrefix("session ")
            }
        }

        @Test(.timeLimit(.minutes(4)))
        func `an archive that another machine alone has is read through its viewer`() async throws {
            try await Stage.with { stage in
                let site = try await Site(on: stage)
                try await site.record()
                let local = [
                    "--archive", site.path("archive-east"), "--archive", site.path("archive-west"),
                ]
                func export(_ name: String, _ words: [String], _ options: [String]) async throws
                    -> [String]
                {
                    let outcome = try await site.read(
                        ["export", "latest", "-o", site.path(name)] + words, options)
                    #expect(outcome.status == 0, "\(outcome.complaints)")
                    return try await Self.decoded(site.path(name), on: stage)
                }
                let grid = ["--layout", "grid"]
                let (near, nearGrid) = try await (
                    export("near.mp4", ["--source", "hall"], local),
                    export("near-grid.mp4", grid, local)
                )
                #expect(near.count >= 50)
                let nearly = try await site.read(["verify", "latest"], local)
                try FileManager.default.moveItem(
                    atPath: site.path("archive-west"), toPath: site.path("elsewhere"))

                let options = site.catalog + site.token
                let list = try await site.read(["ls", "--names"], options)
                #expect(list.status == 0 && list.complaints == "", "\(list.complaints)")
                #expect(list.output.split(separator: "\n").count == 1)
                let show = try await site.read(["show", "latest"], options)
                #expect(show.status == 0 && show.complaints == "", "\(show.complaints)")
                #expect(show.output.contains("\nhall from"), "\(show.output)")
                #expect(show.output.contains("\(site.west.address)/west"), "\(show.output)")
                let verify = try await site.read(["verify", "latest"], options)
                #expect(verify.status == 0, "\(verify.output)\(verify.complaints)")
                #expect(Self.summary(verify.output) == Self.summary(nearly.output))
                #expect(!Self.summary(verify.output).isEmpty)
                let (far, farGrid) = try await (
                    export("far.mp4", ["--source", "hall"], options),
                    export("far-grid.mp4", grid, options)
                )
                #expect(far == near)
                #expect(farGrid.count == nearGrid.count && farGrid.count >= 50)

                let viewer = try await ServedArchive(
                    on: stage, archives: [], site.catalog[0], site.catalog[1], site.token[0],
                    site.token[1])
                let session = list.output.trimmingCharacters(in: .newlines)
                for source in ["door", "hall"] {
                    let movie = try await viewer.get(
                        "/api/v1/sessions/\(session)/sources/\(source)/media.mp4")
                    #expect(movie.status == 200, "\(movie.text.prefix(200))")
                    let path = site.path("\(source).mp4")
                    try movie.body.write(to: URL(filePath: path))
                    let pictures = try await Self.decoded(path, on: stage)
                    #expect(source == "door" ? pictures.count >= 50 : pictures == near)
                }

                try await marksOfTwo(site, options)
                try await replacement(site)
                try await refusals(site)
                try await absence(site, viewer)
            }
        }

        @Test(
            .timeLimit(.minutes(4)),
            .enabled(if: geteuid() == 0, "hiding a directory needs root"))
        func `a session is read through the viewer while it is recorded`() async throws {
            try await Stage.with { stage in
                let site = try await Site(on: stage, serving: "archive-west")
                let collector = try await site.collector(
                    "west",
                    ["--segment", "1h", "--viewer-url", site.west.address, "--group-commands"])
                let agent = try site.agent("hall", at: "west", [])
                try await eventually("it has pictures") {
                    let layout = ArchiveLayout(root: site.path("archive-west"))
                    guard FileSystem.exists(layout.sessions),
                        let session = try layout.sessionNames().last,
                        let path = try layout.segmentPaths(session, "hall").first
                    else { return false }
                    return try FileSystem.size(path) > 100_000
                }
                func read(_ words: String...) async throws -> Outcome {
                    try await read(words, token: site.token)
                }
                func read(_ words: [String], token: [String]) async throws -> Outcome {
                    let script = #"mount -t tmpfs none "$0" && exec "$@""#
                    return try await stage.start(
                        at: URL(filePath: "/usr/bin/unshare"),
                        ["--mount", "sh", "-c", script, site.path("archive-west")]
                            + [Executable.archive.url.path] + words + site.catalog + token
                    ).outcome()
                }
                func pictures(_ name: String) async throws -> Int {
                    let outcome = try await read("export", "latest", "-o", site.path(name))
                    #expect(outcome.status == 0, "\(outcome.complaints)")
                    return try await Self.decoded(site.path(name), on: stage).count
                }
                let first = try await pictures("first.mp4")
                #expect(first > 0)
                let show = try await read("show", "latest")
                #expect(show.status == 0 && show.output.contains("\nhall from"), "\(show.output)")
                try await marks(site) { try await read($0, token: $1) }
                try await Task.sleep(for: .seconds(2))
                #expect(try await pictures("second.mp4") > first)
                agent.signal(SIGINT)
                try await agent.succeeds()
                collector.signal(SIGINT)
                try await collector.succeeds()
                let verify = try await read("verify", "latest")
                #expect(verify.status == 0, "\(verify.output)\(verify.complaints)")
                let late = try await read("mark", "latest", "late", "--at", "1.5")
                #expect(late.status == 1 && late.complaintLines.count == 1, "\(late.complaints)")
                #expect(late.complaints.contains("--group-commands"), "\(late.complaints)")
                try await nothing(site)
            }
        }

        private struct Overview: Decodable {
            var name: String?
            var tags: [String]
            var note: String?
            var isProtected: Bool
        }

        private struct MadeMark: Decodable { var mark: Mark }

        /// The page of a viewer that has the catalog and the site's token alone.
        private struct Page {
            let served: ServedArchive
            let session: String

            var path: String { "/api/v1/sessions/\(session)" }

            func send(
                _ method: String, _ path: String, _ json: String? = nil, as token: String
            ) async throws -> ServedArchive.Answer {
                let body =
                    json.map { ["--header", "Content-Type: application/json", "--data", $0] } ?? []
                return try await served.ask(
                    path,
                    ["--request", method, "--header", "Authorization: Bearer \(token)"] + body)
            }

            func mark(_ json: String, as token: String) async throws -> ServedArchive.Answer {
                try await send("POST", "/api/v1/marks", json, as: token)
            }

            func edit(_ json: String, as token: String) async throws -> ServedArchive.Answer {
                try await send("PATCH", path, json, as: token)
            }

            func remove(_ mark: String, as token: String) async throws -> ServedArchive.Answer {
                try await send("DELETE", "\(path)/marks/\(mark)", as: token)
            }

            func marks(as token: String) async throws -> [Mark] {
                let answer = try await send("GET", "\(path)/marks", as: token)
                return try JSONDecoder().decode([Mark].self, from: answer.body)
            }
        }

        @Test(
            .timeLimit(.minutes(4)),
            .enabled(if: geteuid() == 0, "hiding a directory needs root"))
        func `operators of a page change sessions of other machines, ended ones too`() async throws
        {
            try await Stage.with { stage in
                let site = try await Site(on: stage, serving: "archive-west")
                let collector = try await site.collector(
                    "west",
                    ["--segment", "2s", "--viewer-url", site.west.address, "--group-commands"])
                let agent = try site.agent("hall", at: "west", [])
                let layout = ArchiveLayout(root: site.path("archive-west"))
                try await eventually("it has pictures") {
                    guard FileSystem.exists(layout.sessions),
                        let session = try layout.sessionNames().last
                    else { return false }
                    return try !layout.segmentPaths(session, "hall").isEmpty
                }
                let session = try #require(try layout.sessionNames().last)
                let users = site.path("users")
                func token(_ name: String, _ role: String) async throws -> String {
                    try await stage.start(
                        .viewer,
                        ["users", "add", name, "--token", "--users", users, "--role", role]
                    ).succeeds().output.trimmingCharacters(in: .whitespacesAndNewlines)
                }
                let boss = try await token("boss", "operator")
                let guest = try await token("guest", "viewer")
                let page = Page(
                    served: try await ServedArchive(
                        on: stage, without: layout.root, site.catalog[0], site.catalog[1],
                        site.token[0], site.token[1], "--users", users), session: session)
                let timed = #"{"session": "\#(session)", "at": 1.5, "text": "late"}"#
                for refused in [
                    try await page.mark(timed, as: guest),
                    try await page.edit(#"{"name": "no"}"#, as: guest),
                    try await page.remove("0123456789abcdef", as: guest),
                ] { #expect(refused.status == 403, "\(refused.text)") }

                let now = try await page.mark(
                    #"{"session": "\#(session)", "text": "now"}"#, as: boss)
                #expect(now.status == 201, "\(now.text)")
                let first = try JSONDecoder().decode(MadeMark.self, from: now.body).mark
                #expect(try await page.marks(as: boss) == [first])
                try await labels(page, layout, as: boss)

                agent.signal(SIGINT)
                try await agent.succeeds()
                try await eventually("it has ended") {
                    try SessionManifest.read(
                        "\(layout.session(session))/\(ArchiveLayout.manifestName)"
                    ).state != .recording
                }
                let late = try await page.mark(timed, as: boss)
                #expect(late.status == 201, "\(late.text)")
                #expect(try await page.marks(as: boss).map(\.text).sorted() == ["late", "now"])
                let removed = try await page.remove(first.id, as: boss)
                #expect(removed.status == 204, "\(removed.text)")
                #expect(try await page.marks(as: boss).map(\.text) == ["late"])
                let kept = try Self.marks(
                    try await site.read(["mark", session, "--json"], ["--archive", layout.root]))
                #expect(kept.map(\.text) == ["late"])
                let free = try await page.edit(#"{"isProtected": false, "name": ""}"#, as: boss)
                #expect(free.status == 200, "\(free.text)")
                #expect(!SessionProtection.isProtected(session, in: layout))
                #expect(
                    try page.served.viewer.complaints.contains("mark session \(session): done"))

                collector.signal(SIGINT)
                try await collector.succeeds()
                for refused in [
                    try await page.mark(timed, as: boss),
                    try await page.edit(#"{"name": "x"}"#, as: boss),
                ] {
                    #expect(refused.status == 409)
                    // One line, without addresses.
                    #expect(
                        refused.text.hasPrefix("west: cannot ")
                            && refused.text.contains("--group-commands")
                            && refused.text.split(separator: "\n").count == 1, "\(refused.text)")
                }
            }
        }

        /// Labels and protection, in the archive and in the answer.
        private func labels(
            _ page: Page, _ layout: ArchiveLayout, as token: String
        ) async throws {
            let edited = try await page.edit(
                #"{"name": "Rehearsal", "note": "x", "addTags": ["a"], "isProtected": true}"#,
                as: token)
            #expect(edited.status == 200, "\(edited.text)")
            let overview = try JSONDecoder().decode(Overview.self, from: edited.body)
            #expect(overview.name == "Rehearsal" && overview.note == "x", "\(edited.text)")
            #expect(overview.tags == ["a"] && overview.isProtected, "\(edited.text)")
            let labels = try SessionNotes.read(page.session, in: layout)
            #expect(labels.name == "Rehearsal" && labels.tags == ["a"])
            #expect(SessionProtection.isProtected(page.session, in: layout))
            let refused = try await page.edit(#"{"name": "a\nb"}"#, as: token)
            #expect(refused.status == 400, "\(refused.text)")
        }

        /// A viewer that can read none of the site's archives shows no other one.
        private func nothing(_ site: Site) async throws {
            try FileManager.default.createDirectory(
                atPath: site.path("recordings"), withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                atPath: site.path("archive-west/sessions"), toPath: site.path("recordings/sessions")
            )
            let viewer = try await ServedArchive(
                on: site.stage, without: site.path("archive-west"), site.catalog[0],
                site.catalog[1])
            let lines = try viewer.viewer.complaints.split(separator: "\n")
            func complaints() throws -> Int {
                try viewer.viewer.complaints.split(separator: "\n").count {
                    $0.contains("west: its archive is on ") && $0.contains("give --site-token-file")
                }
            }
            #expect(
                lines.contains { $0.contains("none of the site's archives can be read from here") })
            let sessions = try await viewer.get("/api/v1/sessions")
            #expect(sessions.status == 200 && !sessions.text.contains("hall"), "\(sessions.text)")
            #expect(try await viewer.get("/api/v1/sessions/latest").status == 404)
            #expect(try await viewer.get("/readyz").status == 200)
            // Each archive once, with its reason.
            #expect(try complaints() == 1)
        }

        private struct Mark: Decodable, Hashable {
            var id: String
            var atSeconds: Double
            var text: String
            var source: String?
        }

        private static func marks(_ outcome: Outcome) throws -> [Mark] {
            #expect(outcome.status == 0 && outcome.complaints == "", "\(outcome.complaints)")
            return try JSONDecoder().decode([Mark].self, from: outcome.outputData)
        }

        /// Marks of a session whose archive is behind a viewer are set by the collector there.
        private func marks(
            _ site: Site,
            _ read: (_ words: [String], _ token: [String]) async throws -> Outcome
        ) async throws {
            func here() async throws -> [Mark] {
                try Self.marks(
                    try await site.read(
                        ["mark", "latest", "--json"], ["--archive", site.path("archive-west")]))
            }
            func marked(_ words: String...) async throws -> [Mark] {
                try Self.marks(try await read(["mark", "latest", "--json"] + words, site.token))
            }
            let now = try await marked("goal")
            #expect(now.map(\.text) == ["goal"])
            #expect(now[0].atSeconds > 0 && now[0].atSeconds < 240)
            #expect(try await here() == now)
            let both = try await marked("whistle", "--at", "1.5", "--source", "hall")
            #expect(both.map(\.text).sorted() == ["goal", "whistle"])
            #expect(both.contains { $0.atSeconds == 1.5 })
            #expect(try await here() == both)
            let tagged = try await read(["note", "latest", "--tag", "stage"], site.token)
            #expect(tagged.status == 0 && tagged.output.contains("stage"), "\(tagged.complaints)")
            let noted = try await site.read(
                ["note", "latest"], ["--archive", site.path("archive-west")])
            #expect(noted.output.contains("stage"), "\(noted.output)\(noted.complaints)")
            let left = try await marked("--remove", now[0].id)
            #expect(left == both.filter { $0.id != now[0].id })
            #expect(try await here() == left)
            try await repeated(site, here)
            let all = try await here()
            let wrong = try await read(
                ["mark", "latest", "no", "--at", "1"],
                ["--site-token-file", site.path("wrong.token")])
            #expect(wrong.status == 1 && wrong.complaintLines.count == 1, "\(wrong.complaints)")
            #expect(
                wrong.complaints.contains("the viewer refuses the site's token"),
                "\(wrong.complaints)")
            #expect(try await here() == all)
        }

        /// A request whose answer was lost is repeated.
        private func repeated(_ site: Site, _ marks: () async throws -> [Mark]) async throws {
            let layout = ArchiveLayout(root: site.path("archive-west"))
            let session = try #require(try layout.sessionNames().last)
            let bucket = try ViewerBucket(
                try ViewerAddress(site.west.address),
                archive: try #require(try ArchiveIdentity.read(layout)).text, collector: "west",
                tokens: try SiteTokens(file: site.path("site.token")) { Issue.record("\($0)") },
                authorities: nil, shutdown: Shutdown())
            let wish = ViewerMark(
                id: "0123456789abcdef", atNanoseconds: nil, text: "again", source: nil)
            let first = try bucket.setMark(wish, of: session)
            try await Task.sleep(for: .milliseconds(50))
            #expect(try bucket.setMark(wish, of: session) == first)
            #expect(try await marks().count { $0.text == "again" } == 1)
            for _ in 0..<2 { try bucket.removeMark(wish.id, of: session) }
            #expect(try await marks().count { $0.text == "again" } == 0)
            let gone = #expect(throws: ObjectStoreError.self) {
                try bucket.setMark(wish, of: "2026-11-20T22-40-00.000Z")
            }
            #expect(gone?.kind == .gone)
        }

        /// One archive of the session is on this machine, the other one's collector does not run.
        private func marksOfTwo(_ site: Site, _ options: [String]) async throws {
            let untimed = try await site.read(["mark", "latest", "now"], options)
            #expect(untimed.status != 0 && untimed.complaints.contains("--at 1:23.5"))
            let set = try await site.read(["mark", "latest", "both", "--at", "2"], options)
            #expect(set.status == 0 && set.output.contains("both"), "\(set.complaints)")
            #expect(
                set.complaintLines.count == 1 && set.complaints.contains("--group-commands"),
                "\(set.complaints)")
            let east = try await site.read(
                ["mark", "latest", "--json"], ["--archive", site.path("archive-east")])
            let marks = try Self.marks(east)
            #expect(marks.map(\.text) == ["both"])
            // A mark that one archive alone has is a mark of the session.
            let all = try await site.read(["mark", "latest", "--json"], options)
            #expect(try Self.marks(all) == marks)
            let removed = try await site.read(
                ["mark", "latest", "--json", "--remove", marks[0].id], options)
            #expect(try Self.marks(removed) == [])
            // Labels, too: the other archive's collector has ended, and refuses them.
            let named = try await site.read(["note", "latest", "--name", "Gala"], options)
            #expect(
                named.status == 1 && named.complaints.contains("--group-commands"),
                "\(named.complaints)")
            let note = try await site.read(["note", "latest"], options)
            #expect(note.status == 0 && note.output.contains("Gala"), "\(note.complaints)")
        }

        /// A running viewer accepts the next token as soon as it is in the file.
        private func replacement(_ site: Site) async throws {
            let next = URL(filePath: site.path("next.token"))
            try Data(String(repeating: "n", count: 44).utf8).write(to: next)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: next.path)
            func list() async throws -> Outcome {
                try await site.read(
                    ["ls", "--names"], site.catalog + ["--site-token-file", next.path])
            }
            #expect(try await list().status == 1)
            let file = try FileHandle(forWritingTo: URL(filePath: site.path("site.token")))
            try file.seekToEnd()
            try file.write(contentsOf: Data(contentsOf: next) + Data("\n".utf8))
            try file.close()
            let deadline = ContinuousClock.now + Running.patience
            while try await list().status != 0 {
                try #require(ContinuousClock.now < deadline, "the next token is not accepted")
                try await Task.sleep(for: .milliseconds(200))
            }
            #expect(
                try await site.read(["ls", "--names"], site.catalog + site.token).status == 0)
        }

        /// Without a token, with a wrong one, and without an account.
        private func refusals(_ site: Site) async throws {
            let without = try await site.read(["ls", "--names"], site.catalog)
            #expect(without.status == 1 && without.output.split(separator: "\n").count == 1)
            #expect(
                without.complaints.split(separator: "\n").count == 1
                    && without.complaints.contains("give --site-token-file"),
                "\(without.complaints)")
            let wrong = try await site.read(
                ["ls", "--names"],
                site.catalog + ["--site-token-file", site.path("wrong.token")])
            #expect(wrong.status == 1 && wrong.output.split(separator: "\n").count == 1)
            #expect(
                wrong.complaints.split(separator: "\n").count == 1
                    && wrong.complaints.contains("the viewer refuses the site's token"),
                "\(wrong.complaints)")
            let place = "archives/\(String(repeating: "0", count: 32))"
            for path in [
                "/api/v1/\(place)/objects?prefix=&folders=true", "/api/v1//\(place)/objects",
                "/api/v1/\(place)/object?key=../archive.id",
            ] {
                let answer = try await site.west.get(path, "--path-as-is")
                #expect(answer.status == 401, "\(path): \(answer.status) \(answer.text)")
            }
            var last = 0
            for _ in 0..<12 {
                last = try await site.west.get(
                    "/api/v1/\(place)/objects", "--header", "Authorization: Bearer abc"
                ).status
            }
            #expect(last == 429)
            // A valid one is never refused.
            let right = try await site.read(["ls", "--names"], site.catalog + site.token)
            #expect(right.status == 0, "\(right.complaints)")
        }

        /// A viewer that hangs, or is gone, costs what it alone has.
        private func absence(_ site: Site, _ viewer: ServedArchive) async throws {
            site.west.viewer.signal(SIGSTOP)
            let hung = try await site.read(["ls", "--names"], site.catalog + site.token)
            #expect(hung.status == 1 && hung.output.split(separator: "\n").count == 1)
            #expect(
                hung.complaints.split(separator: "\n").count == 1
                    && hung.complaints.contains("did not answer in time"), "\(hung.complaints)")
            let session = hung.output.trimmingCharacters(in: .newlines)
            // The session is west's, too: it is waited for once.
            for patience in [Duration.seconds(20), .seconds(5)] {
                let began = ContinuousClock.now
                let movie = try await viewer.get(
                    "/api/v1/sessions/\(session)/sources/door/media.mp4", "--range", "0-99")
                let time = ContinuousClock.now - began
                #expect(movie.status == 206 && time < patience, "\(movie.status) after \(time)")
            }
            site.west.viewer.signal(SIGKILL)
            let show = try await site.read(["show", "latest"], site.catalog + site.token)
            #expect(show.status == 1, "\(show.output)")
            #expect(
                show.complaints.split(separator: "\n").count == 1
                    && show.complaints.contains("\(site.west.address)/west: cannot"),
                "\(show.complaints)")
        }
    }
}
