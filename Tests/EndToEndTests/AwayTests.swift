import Foundation
import Glibc
import Testing

extension EndToEnd {
    /// A store or database that accepts connections and never answers, with sessions that are all on disk.
    @Suite(.serialized, .long, .enabled(if: Foreign.curl != nil, "curl asks"))
    struct AwayTests {
        /// A page of the list of sessions.
        private struct Page: Decodable, Sendable {
            struct Entry: Decodable, Sendable { var session: String }

            var sessions: [Entry]
        }

        /// Longer than any program may need to end, shorter than any timeout for an unresponsive server.
        private static let ending = Duration.seconds(8)

        /// Records some seconds; the session's name.
        private func record(on stage: Stage) async throws -> String {
            let collector = try await stage.collector("--once")
            let agent = try stage.testAgent("stage", "--duration", "3s")
            for program in [agent, collector] { try await program.succeeds() }
            return try #require(try stage.sessions.first).lastPathComponent
        }

        /// Options of a store behind a server.
        private func options(of server: MuteServer) -> [String] {
            ["--store", "s3://away/site", "--store-endpoint", "http://127.0.0.1:\(server.port)"]
        }

        @Test(arguments: [MuteServer.Manner.silent, .dripping])
        func `a viewer serves local sessions, and ends at once, while its store is away`(
            _ manner: MuteServer.Manner
        ) async throws {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                let server = try MuteServer(manner)
                defer { server.stop() }
                let store = options(of: server)
                let served = try await ServedArchive(
                    on: stage, store[0], store[1], store[2], store[3])
                let source = "/api/v1/sessions/\(session)/sources/stage"
                for path in [
                    "/api/v1/sessions", "\(source)/media.mp4",
                    "\(source)/picture.jpg?at=1&width=160", "/hls/\(session)/stage/index.m3u8",
                    "/api/v1/sessions/\(session)/coverage",
                ] {
                    // Less than one timeout of the store.
                    let answer = try await served.get(path, "--max-time", "6")
                    #expect(answer.status == 200, "\(path)")
                }
                let page = try await served.json(Page.self, at: "/api/v1/sessions")
                #expect(page.sessions.map(\.session) == [session])
                #expect(server.connections > 0)
                served.viewer.signal(SIGTERM)
                _ = try await served.viewer.outcome(within: Self.ending)
                #expect(try served.viewer.complaints.contains("only what is in"))
            }
        }

        @Test func `without its store, ls lists the local sessions, with one warning`()
            async throws
        {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                for manner in [MuteServer.Manner.silent, .dripping] {
                    let server = try MuteServer(manner)
                    defer { server.stop() }
                    let outcome = try await stage.start(
                        .archive,
                        ["ls", "--names", "--archive", stage.archive]
                            + options(of: server)
                    ).outcome(within: .seconds(30))
                    #expect(outcome.status == 1)
                    #expect(outcome.output == "\(session)\n")
                    #expect(outcome.complaintLines.count == 1)
                    #expect(outcome.complaints.contains("only what is in"))
                }
            }
        }

        @Test(arguments: [MuteServer.Manner.silent, .dripping, .looping])
        func `commands that need an unreachable store end with one line`(
            _ manner: MuteServer.Manner
        ) async throws {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                let server = try MuteServer(manner)
                defer { server.stop() }
                let address = options(of: server)
                for words in [
                    ["store", "fetch", session], ["store", "fetch", "--all"],
                    ["store", "verify"], ["store", "forget"], ["show", session], ["verify"],
                    ["export", session, "-o", "\(stage.directory.path)/out.mp4", "--overwrite"],
                ] {
                    let outcome = try await stage.start(
                        .archive, words + ["--archive", stage.archive] + address
                    ).outcome(within: .seconds(40))
                    #expect([0, 1].contains(outcome.status), "\(words)")
                    #expect(outcome.complaintLines.count <= 2, "\(words): \(outcome.complaints)")
                    if words.contains("fetch") { #expect(outcome.status == 1, "\(words)") }
                }
                // The store alone: nothing can be had.
                let alone = try await stage.start(
                    .archive, ["ls", "--archive", "s3://away/site"] + address.suffix(2)
                ).outcome(within: .seconds(40))
                #expect(alone.status == 1)
                #expect(alone.complaintLines.count == 1)
            }
        }

        @Test func `an endless listing is given up, and local sessions are listed`() async throws {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                let server = try MuteServer(.endless)
                defer { server.stop() }
                let outcome = try await stage.start(
                    .archive,
                    ["ls", "--names", "--archive", stage.archive] + options(of: server)
                ).outcome(within: .seconds(50))
                #expect(outcome.output == "\(session)\n")
                #expect(outcome.status == 1)
                #expect(outcome.complaints.contains("has no end"))
            }
        }

        @Test func `a signal ends work with a silent store`() async throws {
            try await Stage.with { stage in
                let server = try MuteServer(.silent)
                defer { server.stop() }
                let store = options(of: server)
                for words in [
                    ["export", "s", "-o", "\(stage.directory.path)/out.mp4"],
                    ["replay", "s", "--to", "\(stage.directory.path)/out.ts"],
                    ["verify", "--decode", "s"], ["show", "s"],
                ] {
                    let before = server.connections
                    let command = try stage.start(
                        .archive, words + ["--archive", "s3://away/site"] + store.suffix(2))
                    try await eventually("\(words[0]) asks the store") {
                        server.connections > before
                    }
                    command.signal(SIGTERM)
                    _ = try await command.outcome(within: .seconds(5))
                }
            }
        }

        @Test func `a collector ends at once while its store is silent`() async throws {
            try await Stage.with { stage in
                let server = try MuteServer(.silent)
                defer { server.stop() }
                let collector = try await stage.collector(options(of: server))
                try await stage.testAgent("stage", "--duration", "2s").succeeds()
                try await eventually("the collector asks the store") {
                    server.connections > 0
                }
                collector.signal(SIGTERM)
                _ = try await collector.outcome(within: Self.ending)
            }
        }

        @Test func `push ends with a description that cannot be read`() async throws {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                try Data("{".utf8).write(
                    to: URL(filePath: "\(stage.archive)/sessions/\(session)/session.json"))
                let server = try MuteServer(.silent)
                defer { server.stop() }
                let outcome = try await stage.start(
                    .archive,
                    ["store", "push", "--archive", stage.archive]
                        + options(of: server)
                ).outcome()
                #expect(outcome.status == 1)
                #expect(outcome.complaints.contains("session.json"))
            }
        }

        @Test func `sessions are listed from the files while the database is mute`() async throws {
            try await Stage.with { stage in
                let session = try await record(on: stage)
                let server = try MuteServer(.silent)
                defer { server.stop() }
                // Without an identity the server is never queried.
                try Data((UUID().uuidString.lowercased().filter { $0 != "-" } + "\n").utf8).write(
                    to: URL(filePath: "\(stage.archive)/archive.id"))
                let catalog =
                    "postgresql://reader@127.0.0.1:\(server.port)/tributary?sslmode=disable"
                let outcome = try await stage.start(
                    .archive,
                    ["ls", "--names", "--archive", stage.archive, "--catalog", catalog]
                ).outcome(within: .seconds(30))
                #expect(outcome.output == "\(session)\n")
                let served = try await ServedArchive(on: stage, "--catalog", catalog)
                for _ in 0..<3 {
                    let answer = try await served.get("/api/v1/sessions", "--max-time", "8")
                    #expect(answer.status == 200)
                    #expect(answer.text.contains(session))
                }
                served.viewer.signal(SIGTERM)
                _ = try await served.viewer.outcome(within: Self.ending)
            }
        }
    }
}
