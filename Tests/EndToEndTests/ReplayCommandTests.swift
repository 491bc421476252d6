import Foundation
import Testing

extension EndToEnd {
    /// Commands for a replayed source.
    @Suite(.serialized) struct ReplayCommandTests {
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
