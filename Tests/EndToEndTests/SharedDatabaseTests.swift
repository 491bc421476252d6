import Archive
import Foundation
import PostgreSQL
import TestDatabases
import Testing

extension EndToEnd {
    /// Collectors that share a database.
    @Suite(
        .serialized,
        .enabled(if: PostgreSQLServer.absence == nil, "\(PostgreSQLServer.absence ?? "")"))
    struct SharedDatabaseTests {
        /// A member of `tributary top --site --json`.
        private struct Row: Decodable {
            var name: String
            var state: String
            var session: String?
            var sources: Int
            var aloneRecords: UInt64
            var aloneSources: [String]
        }

        private struct Overview: Decodable {
            var collectors: [Row]
            var problems: [String]

            func row(_ name: String) throws -> Row {
                try #require(collectors.first { $0.name == name })
            }
        }

        private struct Site {
            let stage: Stage
            let server: PostgreSQLServer

            var catalog: String { server.text() }

            func endpoint(_ name: String) -> String { "ipc://\(stage.directory.path)/\(name)" }
            func archive(_ name: String) -> String {
                stage.directory.appending(path: "archive-\(name)").path
            }

            func collector(_ name: String, _ others: String...) async throws -> Running {
                let collector = try stage.start(
                    .collector,
                    [
                        "--listen", endpoint(name), "--archive", archive(name), "--name", name,
                        "--catalog", catalog, "--segment", "10s",
                    ] + others)
                try await collector.says("listening on")
                return collector
            }

            /// - Parameter others: collectors that it may go to.
            func agent(_ source: String, at name: String, or others: String...) throws -> Running {
                try stage.start(
                    .agent,
                    [
                        "--collector", ([name] + others).map(endpoint).joined(separator: ","),
                        "--source", source, "--video", "test",
                        "--audio", "test", "--size", "320x180", "--fps", "10",
                        "--keyframe-interval", "1s", "--late", "keep", "--spool", stage.spool,
                        "--linger", "60s",
                    ])
            }

            func outcome() async throws -> Outcome {
                try await stage.start(
                    .archive, ["top", "--site", "--catalog", catalog, "--json"]
                ).outcome()
            }

            func overview() async throws -> Overview {
                var outcome = try await outcome()
                // The first collector makes the tables, after it has begun to listen.
                let deadline = ContinuousClock.now + Running.patience
                while outcome.complaints.contains("it has no tables yet"),
                    ContinuousClock.now < deadline
                {
                    try await Task.sleep(for: .milliseconds(300))
                    outcome = try await self.outcome()
                }
                #expect(outcome.status == 0, "\(outcome.complaints)")
                let answer = try JSONDecoder().decode(AnyJSON.self, from: outcome.outputData)
                let flaws = try JSONSchema().flaws(answer, as: "tributary top --site")
                #expect(flaws.isEmpty, "\(flaws)")
                return try JSONDecoder().decode(Overview.self, from: outcome.outputData)
            }

            func eventually(
                _ what: String, _ isSo: (Overview) -> Bool
            ) async throws -> Overview {
                let deadline = ContinuousClock.now + Running.patience
                while true {
                    let overview = try await overview()
                    if isSo(overview) { return overview }
                    guard ContinuousClock.now < deadline else {
                        throw StageFailure(
                            description: "waited too long until \(what): \(overview)")
                    }
                    try await Task.sleep(for: .milliseconds(300))
                }
            }

            /// The description of a collector's session; nil: it has none, or it is being made.
            func manifest(_ name: String) throws -> SessionManifest? {
                let layout = ArchiveLayout(root: archive(name))
                guard FileManager.default.fileExists(atPath: layout.sessions),
                    let session = try layout.sessionNames().last,
                    FileManager.default.fileExists(atPath: layout.manifest(session))
                else { return nil }
                return try SessionManifest.read(layout.manifest(session))
            }

            /// Names of a collector's segments.
            func segments(of name: String) -> Set<String> {
                let files = FileManager.default.enumerator(atPath: archive(name) + "/sessions")
                var names: Set<String> = []
                while let path = files?.nextObject() as? String {
                    let name = path.split(separator: "/").last.map(String.init) ?? ""
                    if name.hasSuffix(".mp4") { names.insert(name) }
                }
                return names
            }

            func size(of name: String) -> Int {
                let files = FileManager.default.enumerator(atPath: archive(name) + "/sessions")
                var size = 0
                while let path = files?.nextObject() as? String {
                    guard path.hasSuffix(".mp4") else { continue }
                    size += (files?.fileAttributes?[.size] as? Int) ?? 0
                }
                return size
            }
        }

        @Test(.timeLimit(.minutes(4)))
        func `collectors are upgraded in turn without a loss`() async throws {
            try await Stage.with { stage in
                let site = Site(stage: stage, server: try PostgreSQLServer())
                let names = ["east", "west"]
                var collectors: [String: Running] = [:]
                for name in names { collectors[name] = try await site.collector(name) }
                let agents = [
                    try site.agent("door", at: "east", or: "west"),
                    try site.agent("hall", at: "east", or: "west"),
                ]
                func all(_ what: String) async throws -> Overview {
                    try await site.eventually(what) { overview in
                        overview.collectors.reduce(0) { $0 + $1.sources } == 2
                            && overview.collectors.allSatisfy { $0.state != "silent" }
                    }
                }
                _ = try await all("both sources are recorded")
                for (step, name) in names.enumerated() {
                    let drained = try await stage.run(
                        .archive, "drain", "--archive", site.archive(name))
                    #expect(drained.status == 0, "\(drained.complaints)")
                    collectors[name]?.signal(SIGTERM)
                    try await collectors[name]?.succeeds()
                    if step == 0 {
                        // The first new program has added something to the tables.
                        try site.server.execute(
                            """
                            CREATE TABLE tributary.novelty (name text);
                            INSERT INTO tributary.schema_version (version, oldest)
                            SELECT max(version) + 1, max(version) FROM tributary.schema_version
                            """)
                    }
                    collectors[name] = try await site.collector(name)
                    let overview = try await all("both are recorded while \(name) is new")
                    #expect(try overview.row(name).sources == 0, "\(overview)")
                }
                for agent in agents { agent.signal(SIGINT) }
                for agent in agents { try await agent.succeeds() }
                for collector in collectors.values { collector.signal(SIGINT) }
                for collector in collectors.values { try await collector.succeeds() }
                let verify = try await stage.run(.archive, "verify", "--catalog", site.catalog)
                #expect(verify.status == 0, "\(verify.output)\(verify.complaints)")
                let sessions = verify.output.split(separator: "\n").filter {
                    $0.hasPrefix("session ")
                }
                #expect(!sessions.isEmpty, "\(verify.output)")
                for line in sessions { #expect(line.contains("; nothing missing"), "\(line)") }
            }
        }

        @Test(
            .timeLimit(.minutes(4)),
            .enabled(
                if: Foreign.curl != nil && geteuid() == 0,
                "hiding a directory needs root, and curl asks"))
        func `a viewer gets the feed of another machine's collector with its key`() async throws {
            try await Stage.with { stage in
                let server = try PostgreSQLServer()
                defer { withExtendedLifetime(server) {} }
                let catalog = server.text()
                let site = try await EndToEndTests.Site.open(
                    on: stage, "--feed", "tcp://127.0.0.1:*", "--name", "west", "--catalog",
                    catalog)
                let agent = try site.agent("stage", keys: "box")
                try await site.keys("authorize", "stage", try await site.key(saidBy: agent))
                try await stage.grows("stage")
                let served = try await ServedArchive(
                    on: stage, without: stage.archive, "--catalog", catalog, "--keys",
                    stage.directory.appending(path: "viewer").path)
                try await served.viewer.says("tributary keys authorize viewer")
                let key = try #require(
                    served.viewer.complaints.firstMatch(
                        of: /keys authorize viewer ([a-z2-7]{56}) --watch/)?.1)
                try await served.viewer.says("does not admit this viewer's key")
                try await site.keys("authorize", "viewer", String(key), "--watch")
                try await served.eventually("it is live", "/hls/live/stage/index.m3u8") {
                    $0.status == 200 && $0.text.contains("#EXT-X-PART")
                }
                #expect(agent.isRunning && site.collector.isRunning)
            }
        }

        /// A source of `tributary top --json`.
        private struct Status: Decodable {
            struct Source: Decodable {
                var name: String
                var isConnected: Bool
                var isRecorded: Bool
                var elsewhere: String?
            }

            var sources: [Source]
        }

        @Test(.timeLimit(.minutes(4)))
        func `a collector that hung names the present collector of its source`() async throws {
            try await Stage.with { stage in
                let site = Site(stage: stage, server: try PostgreSQLServer())
                let collectors = [
                    "east": try await site.collector("east"),
                    "west": try await site.collector("west"),
                ]
                let agent = try site.agent("door", at: "east", or: "west")
                let both = try await site.eventually("one of them records") { overview in
                    overview.collectors.contains { $0.aloneRecords > 0 && $0.sources == 1 }
                }
                let first = try #require(both.collectors.first { $0.sources == 1 }).name
                let second = first == "east" ? "west" : "east"
                collectors[first]?.signal(SIGSTOP)
                _ = try await site.eventually("the other one has it") { overview in
                    overview.collectors.contains { $0.name == second && $0.sources == 1 }
                }
                collectors[first]?.signal(SIGCONT)
                func source() async throws -> Status.Source? {
                    let outcome = try await stage.start(
                        .archive, ["top", "--json", "--archive", site.archive(first)]
                    ).outcome()
                    return try JSONDecoder().decode(Status.self, from: outcome.outputData)
                        .sources.first
                }
                let deadline = ContinuousClock.now + Running.patience
                var found: Status.Source?
                while found?.elsewhere != second {
                    try #require(ContinuousClock.now < deadline, "\(first) knows nothing of it")
                    try await Task.sleep(for: .milliseconds(300))
                    found = try await source()
                }
                #expect(found?.name == "door")
                #expect(found?.isRecorded == true && found?.isConnected == false)
                agent.signal(SIGKILL)
                for collector in collectors.values { collector.signal(SIGINT) }
                for collector in collectors.values { try await collector.succeeds() }
            }
        }

        @Test(.timeLimit(.minutes(4)))
        func `all collectors of a catalog are shown, and which of them are silent`() async throws {
            try await Stage.with { stage in
                let site = Site(stage: stage, server: try PostgreSQLServer())
                let east = try await site.collector("east")
                let west = try await site.collector("west")
                let agents = [
                    try site.agent("door", at: "east"), try site.agent("hall", at: "west"),
                ]
                let both = try await site.eventually("both record, and say what they have") {
                    $0.collectors.count == 2
                        && $0.collectors.allSatisfy {
                            $0.state == "recording" && $0.sources == 1 && $0.aloneRecords > 0
                        }
                }
                #expect(both.collectors.map(\.name) == ["east", "west"])
                #expect(try both.row("east").aloneSources == ["door"])
                #expect(both.problems == [])
                let screen = try await stage.run(
                    .archive, "top", "--site", "--once", "--catalog", site.catalog)
                #expect(screen.output.contains("2 of 2 collectors"), "\(screen.output)")

                // Recording continues without the database.
                try site.server.stop()
                #expect(try await site.outcome().status == 1)
                let sizes = ["east", "west"].map(site.size)
                try await eventually("both record on") {
                    ["east", "west"].map(site.size).elementsEqual(sizes) { $0 > $1 + 50_000 }
                }
                try site.server.start()
                _ = try await site.eventually("both report again") {
                    $0.collectors.allSatisfy { $0.state == "recording" }
                }

                east.signal(SIGKILL)
                let without = try await site.eventually("east is missed") {
                    $0.collectors.first?.state == "silent"
                }
                #expect(without.problems.count == 2, "\(without.problems)")
                #expect(
                    without.problems.last?.contains("which is away, alone has") == true)
                for agent in agents { agent.signal(SIGKILL) }
                west.signal(SIGINT)
                try await west.succeeds()
                let end = try await site.overview()
                #expect(try end.row("west").state == "stopped")
                #expect(try end.row("west").session == nil)

                // The catalog alone leads to both archives.
                let list = try await stage.run(.archive, "ls", "--names", "--catalog", site.catalog)
                #expect(list.status == 0 && list.complaints == "", "\(list.complaints)")
                let names = list.output.split(separator: "\n")
                // The two recordings of one session are one.
                #expect(names.count == 1, "\(list.output)")
                for name in names {
                    let show = try await stage.run(
                        .archive, "show", String(name), "--catalog", site.catalog)
                    #expect(show.status == 0, "\(show.complaints)")
                }
                let verify = try await stage.run(.archive, "verify", "--catalog", site.catalog)
                #expect(verify.status == 0, "\(verify.output)\(verify.complaints)")
                try FileManager.default.moveItem(
                    atPath: site.archive("west"), toPath: site.archive("elsewhere"))
                let rest = try await stage.run(.archive, "ls", "--names", "--catalog", site.catalog)
                #expect(rest.status == 1 && rest.output.split(separator: "\n").count == 1)
                #expect(rest.complaints.contains("west: its archive is on"), "\(rest.complaints)")
            }
        }

        @Test(.timeLimit(.minutes(6)))
        func
            `collectors record one session, and one that began without the site is attached to it`()
            async throws
        {
            try await Stage.with { stage in
                let site = Site(stage: stage, server: try PostgreSQLServer())
                var collectors = [try await site.collector("east")]
                var agents = [try site.agent("door", at: "east")]
                try await eventually("east records") { try site.manifest("east") != nil }
                let first = try #require(try site.manifest("east"))
                // A database on a busy machine may take longer than the beginning of a session waits.
                var west = ""
                for attempt in 1...5 {
                    west = "west-\(attempt)"
                    let collector = try await site.collector(west)
                    let agent = try site.agent("hall", at: west)
                    try await eventually("west records") { try site.manifest(west) != nil }
                    if try site.manifest(west)?.session == first.session {
                        collectors.append(collector)
                        agents.append(agent)
                        break
                    }
                    for program in [agent, collector] {
                        program.signal(SIGINT)
                        try await program.succeeds()
                    }
                }
                let second = try #require(try site.manifest(west))
                #expect(second.session == first.session && second.attached == nil)
                #expect(second.zeroUTCNanoseconds == first.zeroUTCNanoseconds)
                // One machine has one monotonic clock: zeros differ by no more than the stated errors.
                let zeros = [first, second].map(\.presentZeroNanoseconds)
                let error = try #require(second.clock?.zeroErrorNanoseconds)
                #expect(abs(zeros[0] - zeros[1]) <= error)
                print("zeros are \(abs(zeros[0] - zeros[1])) ns apart, said: \(error) ns")

                try site.server.stop()
                collectors.append(try await site.collector("yard"))
                agents.append(try site.agent("gate", at: "yard"))
                try await eventually("yard records without the database") {
                    site.size(of: "yard") > 50_000
                }
                let alone = try #require(try site.manifest("yard"))
                #expect(alone.session != first.session && alone.attached == nil)
                try site.server.start()
                try await eventually("yard's session is attached to the site's") {
                    try site.manifest("yard")?.attached != nil
                }
                let attached = try #require(try site.manifest("yard")?.attached?.last)
                #expect(attached.session == first.session)
                let offset = alone.presentZeroNanoseconds - zeros[0]
                #expect(
                    abs(attached.offsetNanoseconds - offset)
                        <= Int64(clamping: attached.boundNanoseconds))

                for agent in agents { agent.signal(SIGINT) }
                for agent in agents { try await agent.succeeds() }
                for collector in collectors { collector.signal(SIGINT) }
                for collector in collectors { try await collector.succeeds() }
                #expect(try site.manifest("yard")?.session == alone.session)
                // A source that records beside another one has files of the same names.
                #expect(!site.segments(of: "east").isDisjoint(with: site.segments(of: west)))

                let archives = ["east", west, "yard"].flatMap { ["--archive", site.archive($0)] }
                for options in [["--catalog", site.catalog], archives] {
                    let list = try await stage.start(.archive, ["ls", "--names"] + options)
                        .outcome()
                    let names = Set(list.output.split(separator: "\n").map(String.init))
                    #expect(names.contains(first.session), "\(list.output)\(list.complaints)")
                    #expect(!names.contains(alone.session), "\(list.output)")
                }
                // Its own name leads to the whole.
                for name in [first.session, alone.session] {
                    let show = try await stage.start(.archive, ["show", name] + archives).outcome()
                    #expect(show.status == 0, "\(show.complaints)")
                    for source in ["door", "hall", "gate"] {
                        #expect(show.output.contains("\n\(source) from"), "\(show.output)")
                    }
                    #expect(show.output.contains("its session \(alone.session)"), "\(show.output)")
                }
                let verified = try await stage.start(
                    .archive, ["verify", first.session] + archives
                ).outcome()
                #expect(verified.status == 0, "\(verified.output)\(verified.complaints)")
                let output = stage.directory.appending(path: "gate.mp4").path
                let exported = try await stage.start(
                    .archive,
                    ["export", first.session, "--source", "gate", "-o", output] + archives
                ).outcome()
                #expect(exported.status == 0, "\(exported.complaints)")
                // Alone, it says what it is a part of.
                let own = try await stage.run(
                    .archive, "show", alone.session, "--archive", site.archive("yard"))
                #expect(own.output.contains("part of   \(first.session)"), "\(own.output)")
                let shown = try await stage.run(
                    .archive, "show", alone.session, "--json", "--archive", site.archive("yard"))
                let answer = try JSONDecoder().decode(AnyJSON.self, from: shown.outputData)
                let flaws = try JSONSchema().flaws(answer, as: "tributary show")
                #expect(flaws.isEmpty && shown.output.contains("whole"), "\(flaws)")
            }
        }
    }
}
