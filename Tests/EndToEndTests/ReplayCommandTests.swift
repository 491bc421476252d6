import Foundation
import Testing

extension EndToEnd {
    /// Commands for a replayed source.
    @Suite(.serialized) struct ReplayCommandTests {
        /// The replayed session was intact, and nothing was missing in it.
        @Test func `a file that is lost is a gap of the session that replays it`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once", "--segment", "2s")
                let agent = try stage.testAgent("camera", "--duration", "7s")
                for program in [agent, collector] { try await program.succeeds() }
                let files = try stage.recordings("camera")
                try #require(files.count > 2)
                try FileManager.default.removeItem(at: files[1])
                let session = try #require(try stage.sessions.first).path
                try await Stage.with { other in
                    let collector = try await other.collector("--once")
                    let replay = try await other.start(
                        .archive, ["replay", session, "--speed", "max", "--to", other.endpoint]
                    ).outcome()
                    #expect(replay.status == 1)
                    #expect(replay.output.contains("played "))
                    #expect(replay.complaintLines.count == 1, "\(replay.complaints)")
                    #expect(replay.complaints.contains("samples are neither in the files of"))
                    try await collector.succeeds()
                    let shown = try await other.start(
                        .archive, ["show", "latest", "--archive", other.archive]
                    ).succeeds()
                    #expect(shown.output.contains("missing in the replayed recording"))
                }
            }
        }

        @Test func `a replayed source refuses commands in one line`() async throws {
            try await Stage.with { stage in
                let recording = stage.directory.appending(path: "site.wire").path
                let collector = try await stage.collector("--once", "--record-wire", recording)
                let agent = try stage.testAgent("camera", "--duration", "6s")
                for program in [agent, collector] { try await program.succeeds() }
                let session = try #require(try stage.sessions.first).path
                for (input, words) in [
                    (recording, "wire recording"), (session, "this is a replay"),
                ] {
                    try await Stage.with { other in
                        let collector = try await other.collector("--once")
                        let replay = try other.start(
                            .archive, ["replay", input, "--to", other.endpoint])
                        try await other.grows("camera")
                        let asked = try await other.start(
                            .archive, ["agent", "camera", "status", "--archive", other.archive]
                        ).outcome()
                        #expect(asked.status == 1)
                        #expect(asked.complaintLines.count == 1, "\(asked.complaints)")
                        #expect(asked.complaints.contains(words), "\(asked.complaints)")
                        for program in [replay, collector] { try await program.succeeds() }
                    }
                }
            }
        }
    }
}
