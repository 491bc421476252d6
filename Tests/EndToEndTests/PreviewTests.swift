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

        @Test func `an agent records a source and its preview, and readers know which is which`()
            async throws
        {
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

        @Test func `options of a preview that cannot be are refused`() async throws {
            try await Stage.with { stage in
                func flaw(_ words: String...) async throws -> String {
                    let outcome = try await stage.start(
                        .agent, ["--check-config", "--video", "test"] + words
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
