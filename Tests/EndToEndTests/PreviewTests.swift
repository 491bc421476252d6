import Foundation
import TestMedia
import Testing

extension EndToEnd {
    /// A source with a preview, from the agent to each reader.
    @Suite(.serialized) struct PreviewTests {
        private struct Shown: Decodable {
            struct Source: Decodable {
                var name: String
                var previewOf: String?
                var formats: [String]
                var isComplete: Bool
            }
            var sources: [Source]
        }

        private struct Listed: Decodable {
            var sources: [String]
            var previews: [String]
        }

        private struct Exported: Decodable {
            var source: String
        }

        private struct Named: Decodable {
            var name: String?
            var source: String?
            var previewOf: String?
        }

        private struct Overview: Decodable {
            var sources: [Named]
        }

        /// Records a source with its preview; both end by themselves.
        private func record(_ stage: Stage) async throws {
            let collector = try await stage.collector("--once")
            try await stage.testAgent("door", "--preview", "test", "--duration", "3s").succeeds()
            try await collector.succeeds()
        }

        private func ask<Answer: Decodable>(
            _ stage: Stage, _ words: String..., as type: Answer.Type = Answer.self
        ) async throws -> Answer {
            let outcome = try await stage.start(
                .archive, words + ["--archive", stage.archive, "--json"]
            ).succeeds()
            return try JSONDecoder().decode(Answer.self, from: outcome.outputData)
        }

        @Test func `an agent records a source and its preview, marked as one`() async throws {
            try await Stage.with { stage in
                try await record(stage)
                let shown = try await ask(stage, "show", "latest", as: Shown.self).sources
                #expect(shown.map(\.name) == ["door", "door.preview"])
                #expect(shown.map(\.previewOf) == [nil, "door"])
                #expect(shown.allSatisfy { $0.isComplete })
                #expect(shown.map(\.formats.count) == [2, 1])
                #expect(shown[1].formats[0].contains("640×360 H.264"))
                let listed = try await ask(stage, "ls", as: [Listed].self)
                #expect(listed.map(\.sources) == [["door", "door.preview"]])
                #expect(listed.map(\.previews) == [["door.preview"]])

                func say(_ words: String...) async throws -> String {
                    try await stage.start(.archive, words + ["--archive", stage.archive])
                        .succeeds().output
                }
                #expect(try await say("ls").contains(" door +preview "))
                #expect(try await say("show", "latest").contains("door.preview, preview of door"))
                #expect(
                    try await say("verify", "latest").contains("intact; 1 sources and 1 preview, 2")
                )
            }
        }

        @Test func `exports and replays take the source, and its preview by name`() async throws {
            try await Stage.with { stage in
                try await record(stage)
                func export(_ name: String, _ words: String...) async throws -> String {
                    let file = stage.directory.appending(path: name).path
                    let outcome = try await stage.start(
                        .archive,
                        ["export", "latest", "-o", file, "--archive", stage.archive, "--json"]
                            + words
                    ).succeeds()
                    return try JSONDecoder().decode(Exported.self, from: outcome.outputData).source
                }
                #expect(try await export("main.mp4") == "door")
                #expect(
                    try await export("small.mp4", "--source", "door.preview") == "door.preview")
                #expect(try await export("grid.mp4", "--layout", "grid") == "door")
                // A container has one rendition, a collector gets the session.
                let file = stage.directory.appending(path: "replay.mkv").path
                let report = try await stage.start(
                    .archive,
                    ["replay", "latest", "--to", file, "--archive", stage.archive, "--json"]
                ).succeeds()
                #expect(report.output.contains("door"))
                #expect(!report.output.contains("door.preview"))
                let session = try #require(try stage.sessions.first)
                try await Stage.with { other in
                    let collector = try await other.collector("--once")
                    let replay = try other.start(
                        .archive,
                        ["replay", session.path, "--to", other.endpoint, "--speed", "max"]
                    )
                    for program in [replay, collector] { try await program.succeeds() }
                    #expect(try other.recordings("door").count == 1)
                    #expect(try other.recordings("door.preview").count == 1)
                }
            }
        }

        @Test(.enabled(if: Foreign.curl != nil, "curl asks"))
        func `rights to a source include its preview, but not the reverse`() async throws {
            try await Stage.with { stage in
                try await record(stage)
                let session = try #require(try stage.sessions.first).lastPathComponent
                let users = stage.directory.appending(path: "users").path
                func token(_ name: String, _ sources: String) async throws -> String {
                    let added = try await stage.start(
                        .viewer,
                        ["users", "add", name, "--token", "--users", users, "--sources", sources]
                    ).succeeds()
                    let token = added.output.trimmingCharacters(in: .whitespacesAndNewlines)
                    return "Authorization: Bearer \(token)"
                }
                let door = try await token("door", "door")
                let small = try await token("small", "door.preview")
                let hall = try await token("hall", "hall")
                let served = try await ServedArchive(on: stage, "--users", users)
                func status(_ path: String, _ header: String) async throws -> Int {
                    try await served.get(path, "--header", header).status
                }
                let sources = "/api/v1/sessions/\(session)/sources"
                for what in ["picture.jpg", "media.mp4", "gaps", "clock"] {
                    let (main, preview) = (
                        "\(sources)/door/\(what)", "\(sources)/door.preview/\(what)"
                    )
                    #expect(try await status(main, door) == 200)
                    #expect(try await status(preview, door) == 200, "\(what)")
                    #expect(try await status(main, small) == 404)
                    #expect(try await status(preview, small) == 200)
                    #expect(try await status(preview, hall) == 404)
                }
                func relations(_ header: String) async throws -> [String?] {
                    let overview = try await served.get(
                        "/api/v1/sessions/\(session)", "--header", header)
                    let lanes = try await served.get(
                        "/api/v1/sessions/\(session)/coverage", "--header", header)
                    return try JSONDecoder().decode(Overview.self, from: overview.body).sources
                        .map(\.previewOf)
                        + JSONDecoder().decode([Named].self, from: lanes.body).map(\.previewOf)
                }
                #expect(try await relations(door) == [nil, "door", nil, "door"])
                // It does not learn of the source.
                #expect(try await relations(small) == [nil, nil])

                // A session's playlist has the source; the preview is there by its name.
                let whole = try await served.get(
                    "/hls/\(session)/index.m3u8", "--header", door)
                #expect(whole.status == 200)
                #expect(whole.text.contains("door/index.m3u8"))
                #expect(!whole.text.contains("door.preview"))
                let named = try await served.get(
                    "/hls/\(session)/index.m3u8?sources=door.preview", "--header", door)
                #expect(named.text.contains("door.preview/index.m3u8"))
                let alone = try await served.get(
                    "/hls/\(session)/index.m3u8", "--header", small)
                #expect(alone.text.contains("door.preview/index.m3u8"))
                #expect(
                    try await status("/hls/\(session)/door.preview/index.m3u8", door) == 200)
                // A request is authorised before any media arrive.
                let live = "/api/v1/live?sources=door.preview"
                func head(_ header: String) async throws -> Int {
                    try await served.get(live, "--head", "--header", header).status
                }
                #expect(try await head(door) == 200)
                #expect(try await head(small) == 200)
                #expect(try await head(hall) == 404)
            }
        }

        @Test func `a preview that cannot be opened leaves its source alone`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once")
                let agent = try stage.testAgent(
                    "door", "--preview", "file:/no/such/file.mp4", "--duration", "3s")
                try await agent.succeeds()
                #expect(try agent.complaints.contains("door.preview"))
                #expect(try agent.complaints.contains("/no/such/file.mp4"))
                try await collector.succeeds()
                #expect(try stage.recordings("door").count == 1)
                #expect(try stage.recordings("door.preview").isEmpty)
            }
        }

        @Test func `invalid preview options are refused`() async throws {
            try await Stage.with { stage in
                func flaw(_ words: String...) async throws -> String {
                    let outcome = try await stage.start(
                        .agent,
                        ["--check-config"] + (words.contains("--video") ? [] : ["--video", "test"])
                            + words
                    ).outcome()
                    #expect(outcome.status == 64, "\(outcome.complaints)")
                    return outcome.complaints
                }
                #expect(
                    try await flaw("--source", "door.preview", "--preview", "test").contains(
                        "'door.preview' is the name of a preview"))
                let long = String(repeating: "d", count: 57)
                #expect(
                    try await flaw("--source", long, "--preview", "test").contains("is too long"))
                #expect(
                    try await flaw("--source", "door", "--preview", "none").contains(
                        "--preview none records nothing"))
                #expect(
                    try await flaw("--source", "door", "--preview", "small:640").contains(
                        "use small:WIDTHxHEIGHT"))
                #expect(
                    try await flaw(
                        "--source", "door", "--preview", "small", "--video", "none", "--audio",
                        "test"
                    )
                    .contains("--video is none"))
                let fine = try await stage.start(
                    .agent,
                    ["--check-config", "--video", "test", "--source", "door", "--preview", "test"]
                ).succeeds()
                #expect(fine.output == "the options are valid\n")
                let file = stage.directory.appending(path: "cameras.yaml")
                try """
                cameras:
                  - source: door
                    video: test
                    preview: test
                  - source: door.preview
                    video: test
                """.write(to: file, atomically: true, encoding: .utf8)
                let twice = try await stage.start(
                    .agent, ["--check-config", "--config", file.path]
                ).outcome()
                #expect(twice.status == 64)
                #expect(
                    twice.complaints.contains("two of the cameras have the name 'door.preview'"))
            }
        }
    }
}
