import Archive
import Foundation
import Testing

extension EndToEnd {
    /// Sessions that end while the collector runs on.
    @Suite(.serialized) struct EndingTests {
        @Test func `tributary stop ends the session, and the next samples begin another`()
            async throws
        {
            try await Stage.with { stage in
                let collector = try await stage.collector()
                let agents = try ["door", "stage"].map { try stage.testAgent($0) }
                for name in ["door", "stage"] { _ = try await stage.holds(2, of: name) }
                let first = try stage.sessions[0].lastPathComponent

                let stopped = try await stage.run(
                    .archive, "stop", "--json", "--archive", stage.archive)
                #expect(stopped.status == 0, "\(stopped.complaints)")
                let report = try #require(
                    JSONSerialization.jsonObject(with: stopped.outputData) as? [String: Any])
                #expect(report["session"] as? String == first)
                #expect((report["sources"] as? [Any])?.count == 2)
                // When the answer arrives, all files are final.
                for name in ["door", "stage"] {
                    let files = try stage.recordings(name).filter { $0.path.contains(first) }
                    #expect(try files.allSatisfy { try TopLevelBoxes(of: $0).areOrdinary })
                }
                #expect(try manifest(first, on: stage).contains("\"stopped\""))

                try await eventually("another session has begun") {
                    try stage.sessions.count == 2 && stage.recordings("door").count == 2
                }
                let wrong = try await stage.run(
                    .archive, "stop", first, "--archive", stage.archive)
                #expect(wrong.status == 1)
                #expect(wrong.complaints.contains("\(first) is not being recorded; "))
                for agent in agents { agent.signal(SIGINT) }
                for agent in agents { try await agent.succeeds() }
                let none = try await stage.run(.archive, "stop", "--archive", stage.archive)
                #expect(none.status == 1)
                #expect(none.complaintLines.count == 1)
                #expect(none.complaints.contains("no session is being recorded"))
                collector.signal(SIGTERM)
                try await collector.succeeds()
                try await expectAudio(stage)
            }
        }

        @Test func `tributary stop reports the session's totals, also from before a crash`()
            async throws
        {
            try await Stage.with { stage in
                let collector = try await stage.collector()
                let agent = try stage.testAgent("camera")
                _ = try await stage.holds(3, of: "camera")
                collector.signal(SIGKILL)
                _ = try await collector.outcome()
                let next = try await stage.collector()
                try await stage.grows("camera")
                let stopped = try await stage.run(
                    .archive, "stop", "--json", "--archive", stage.archive)
                let report = try #require(
                    JSONSerialization.jsonObject(with: stopped.outputData) as? [String: Any])
                let source = try #require((report["sources"] as? [[String: Any]])?.first)
                let session = try #require(report["session"] as? String)
                let layout = ArchiveLayout(root: stage.archive)
                let verified = try SessionVerifier.verify(session, in: layout)
                let tracks = verified.sources.flatMap(\.files).flatMap(\.tracks)
                #expect(tracks.count == 2)
                for (kind, key) in [("video", "pictures"), ("audio", "soundPackets")] {
                    let samples = tracks.first { $0.kind == kind }?.samples
                    #expect(source[key] as? Int == samples)
                }
                #expect(try #require(source["pictures"] as? Int) > 60)
                agent.signal(SIGINT)
                try await agent.succeeds()
                #expect(FileManager.default.fileExists(atPath: layout.control))
                next.signal(SIGTERM)
                try await next.succeeds()
                #expect(!FileManager.default.fileExists(atPath: layout.control))
            }
        }

        @Test func `tributary stop without a collector is refused`() async throws {
            try await Stage.with { stage in
                let outcome = try await stage.run(.archive, "stop", "--archive", stage.archive)
                #expect(outcome.status == 1)
                #expect(outcome.complaintLines.count == 1)
                #expect(outcome.complaints.contains("no collector is running on"))
            }
        }

        @Test func `only the collector's own user may connect to its socket`() async throws {
            try await Stage.with { stage in
                _ = try await stage.collector()
                let attributes = try FileManager.default.attributesOfItem(
                    atPath: stage.archive + "/collector.sock")
                #expect(attributes[.posixPermissions] as? Int == 0o600)
            }
        }

        @Test func `an archive whose path is too long for a socket is refused in one line`()
            async throws
        {
            try await Stage.with { stage in
                let archive = stage.archive + "/" + String(repeating: "long/", count: 20)
                let outcome = try await stage.run(
                    .collector, "--listen", stage.endpoint, "--archive", archive)
                #expect(outcome.status == 1)
                #expect(outcome.complaintLines.count == 1)
                #expect(outcome.complaints.contains("give --archive a shorter path"))
            }
        }

        @Test func `a session without samples ends at its idle timeout`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--idle-timeout", "5s")
                let agent = try stage.testAgent("camera")
                _ = try await stage.holds(2, of: "camera")
                agent.signal(SIGKILL)
                try await collector.says("no source has sent anything for the idle timeout")
                let session = try stage.sessions[0].lastPathComponent
                try await collector.says("session \(session) is finished")
                #expect(try manifest(session, on: stage).contains("\"idle\""))
                #expect(try TopLevelBoxes(of: stage.recording("camera")).areOrdinary)
                let again = try stage.testAgent("camera", "--duration", "1s")
                try await again.succeeds()
                #expect(try stage.sessions.count == 2)
                try await expectAudio(stage)
            }
        }

        private func manifest(_ session: String, on stage: Stage) throws -> String {
            try String(
                contentsOfFile: "\(stage.archive)/sessions/\(session)/session.json",
                encoding: .utf8)
        }
    }
}
