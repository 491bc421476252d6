import Foundation
import Testing

extension EndToEnd {
    /// `tributary-agent doctor` finds conditions under which an agent would fail.
    @Suite(.serialized) struct DoctorTests {
        private struct Finding: Decodable {
            var subject: String
            var verdict: String
            var text: String
        }

        private func examine(
            _ stage: Stage, _ arguments: String...
        ) async throws -> (status: Int32, findings: [String: Finding]) {
            let outcome = try await stage.start(
                .agent,
                [
                    "doctor", "--json", "--collector", stage.endpoint, "--spool", stage.spool,
                    "--spool-limit", "1MB",
                ] + arguments
            ).outcome()
            let findings = try JSONDecoder().decode([Finding].self, from: outcome.outputData)
            for finding in findings {
                #expect(!finding.text.isEmpty && !finding.text.contains("\n"))
            }
            return (
                outcome.status,
                Dictionary(findings.map { ($0.subject, $0) }, uniquingKeysWith: { $1 })
            )
        }

        @Test func `a working box has no problems`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector()
                let (status, findings) = try await examine(
                    stage, "--video", "test", "--audio", "test", "--size", "160x90", "--fps", "5",
                    "--encoder-preset", "ultrafast")
                #expect(status == 0)
                #expect(
                    Set(findings.keys) == [
                        "video", "audio", "encoder", "spool", "collector", "key", "clock",
                    ])
                #expect(findings.values.allSatisfy { $0.verdict == "ok" }, "\(findings)")
                #expect(
                    findings["encoder"]?.text.contains("libx264 encodes 160×90 at 5 fps") == true)
                collector.signal(SIGTERM)
                try await collector.succeeds()
            }
        }

        @Test func `a preview of the source's pictures is measured with its source`() async throws {
            try await Stage.with { stage in
                let (_, findings) = try await examine(
                    stage, "--video", "test", "--audio", "none", "--size", "320x180", "--fps", "5",
                    "--encoder-preset", "ultrafast", "--preview", "small:80x80")
                let preview = try #require(findings["preview"])
                #expect(preview.verdict == "ok", "\(preview.text)")
                #expect(preview.text.contains("source and preview together at"))
                #expect(preview.text.contains("80×46"))
            }
        }

        @Test func `problems have a remedy, and do not affect other checks`() async throws {
            try await Stage.with { stage in
                let (status, findings) = try await examine(
                    stage, "--video", "file:/nowhere.mp4", "--audio", "hw:CARD=Nothing")
                #expect(status == 1)
                #expect(findings["video"]?.verdict == "problem")
                #expect(findings["video"]?.text.contains("/nowhere.mp4") == true)
                #expect(findings["audio"]?.verdict == "problem")
                #expect(findings["collector"]?.verdict == "problem")
                #expect(findings["collector"]?.text.contains("start tributary-collector") == true)
                #expect(findings["spool"]?.verdict == "ok")
            }
        }

        @Test func `a spool that cannot be made, or has no room, is a problem`() async throws {
            try await Stage.with { stage in
                let file = stage.directory.appending(path: "file")
                try Data().write(to: file)
                let collector = try await stage.collector()
                let (status, findings) = try await examine(
                    stage, "--video", "test", "--audio", "none", "--spool", file.path + "/spool")
                #expect(status == 1)
                #expect(findings["spool"]?.verdict == "problem")
                let (_, large) = try await examine(
                    stage, "--video", "test", "--audio", "none", "--spool-limit", "900TB")
                #expect(large["spool"]?.verdict == "problem")
                #expect(large["spool"]?.text.contains("--spool-limit") == true)
                collector.signal(SIGTERM)
                try await collector.succeeds()
            }
        }
    }
}
