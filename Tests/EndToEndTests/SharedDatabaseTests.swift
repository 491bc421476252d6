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

            func agent(_ source: String, at name: String) throws -> Running {
                try stage.start(
                    .agent,
                    [
                        "--collector", endpoint(name), "--source", source, "--video", "test",
                        "--audio", "test", "--size", "320x180", "--fps", "10",
                        "--keyframe-interval", "1s", "--spool", stage.spool, "--linger", "60s",
                    ])
            }

            func outcome() async throws -> Outcome {
                try await stage.start(
                    .archive, ["top", "--site", "--catalog", catalog, "--json"]
                ).outcome()
            }

            func overview() async throws -> Overview {
                let outcome = try await outcome()
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
        func `all collectors of a catalog are shown, and which one is not heard`() async throws {
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

                // Without the database, recording goes on.
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
                #expect(names.count == 2)
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
    }
}
