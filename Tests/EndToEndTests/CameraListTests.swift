import Foundation
import Testing

extension EndToEnd {
    /// One agent with a list of cameras: changes of the list, its ends, and keys.
    @Suite(.serialized) struct CameraListTests {
        /// A configuration of small test patterns.
        private func write(
            _ cameras: [String: String], _ more: String = "", on stage: Stage
        ) throws -> String {
            let file = stage.directory.appending(path: "cameras.yaml")
            let list = cameras.sorted { $0.key < $1.key }.map { "  - source: \($0)\n\($1)" }
            try """
            collector: \(stage.endpoint)
            spool: \(stage.spool)
            video: test
            audio: none
            size: 320x180
            fps: 10
            encoder-preset: ultrafast
            keyframe-interval: 1s
            \(more)
            cameras:
            \(list.joined(separator: "\n"))
            """.write(to: file, atomically: true, encoding: .utf8)
            return file.path
        }

        /// A source that is started again said Goodbye: when all were, the session ended.
        @Test func `changes of all cameras at once do not end the session`() async throws {
            try await Stage.with { stage in
                let file = try write(["door": "", "yard": ""], "linger: 60s", on: stage)
                let collector = try await stage.collector("--once")
                let agent = try stage.start(.agent, ["--config", file])
                for source in ["door", "yard"] { _ = try await stage.holds(1, of: source) }
                _ = try write(
                    ["door": "    b-frames: 1", "yard": "    b-frames: 1"], "linger: 60s", on: stage
                )
                agent.signal(SIGHUP)
                try await agent.says("door, yard started again")
                for source in ["door", "yard"] { try await stage.grows(source) }
                #expect(collector.isRunning)
                // Without an interruption.
                _ = try write(
                    [
                        "door": "    b-frames: 1\n    rotate: 90",
                        "yard": "    b-frames: 1\n    fps: 5",
                    ], "linger: 60s", on: stage)
                agent.signal(SIGHUP)
                try await agent.says("door, yard changed")
                for source in ["door", "yard"] { try await stage.grows(source) }
                agent.signal(SIGTERM)
                try await agent.succeeds()
                try await collector.succeeds()
                #expect(try stage.sessions.count == 1)
                let report = try await stage.run(
                    .archive, "verify", "latest", "--archive", stage.archive)
                #expect(report.status == 0, "\(report.output)\(report.complaints)")
            }
        }

        /// What an agent had left before it was started again counted at the end.
        @Test func `an end after everything was delivered is successful`() async throws {
            try await Stage.with { stage in
                let file = try write(["door": ""], "linger: 10s", on: stage)
                let agent = try stage.start(.agent, ["--config", file])
                try await agent.says("no collector at")
                _ = try write(["door": "    b-frames: 1"], "linger: 10s", on: stage)
                agent.signal(SIGHUP)
                try await agent.says("door started again")
                try await agent.says(" at 10 fps", times: 2)
                let collector = try await stage.collector("--once")
                _ = try await stage.holds(1, of: "door")
                agent.signal(SIGTERM)
                try await agent.succeeds()
                try await collector.succeeds()
            }
        }

        @Test func `spools of removed cameras are reported at the start and by doctor`()
            async throws
        {
            try await Stage.with { stage in
                let file = try write(["door": "", "yard": ""], "linger: 0s", on: stage)
                let agent = try stage.start(.agent, ["--config", file])
                try await agent.says("no collector at", times: 2)
                try await Task.sleep(for: .seconds(1))
                agent.signal(SIGTERM)
                #expect(try await agent.outcome().status == 1)
                _ = try write(["door": ""], "linger: 0s", on: stage)
                let next = try stage.start(.agent, ["--config", file])
                let line = "of the source yard, which is not configured: "
                try await next.says(line)
                #expect(try !next.complaints.contains("of the source door"))
                let doctor = try await stage.run(.agent, "doctor", "--config", file)
                #expect(doctor.output.contains(line), "\(doctor.output)\(doctor.complaints)")
                next.signal(SIGTERM)
                _ = try await next.outcome()
            }
        }

        @Test func `cameras of a list have control sockets of their own`() async throws {
            try await Stage.with { stage in
                let file = try write(
                    ["door": "", "yard": ""], "control-socket: \(stage.directory.path)/agent.sock",
                    on: stage)
                let outcome = try await stage.run(.agent, "--config", file, "--check-config")
                #expect(outcome.status == 64 && outcome.complaintLines.count == 1)
                #expect(
                    outcome.complaints.contains(
                        "door and yard have the same control-socket \(stage.directory.path)/agent.sock"
                    ))
                _ = try write(["door": "", "yard": ""], "control-socket: none", on: stage)
                let fine = try await stage.run(.agent, "--config", file, "--check-config")
                #expect(fine.output == "the options of 2 cameras are valid\n")
            }
        }

        private struct Finding: Decodable {
            var source: String?
            var subject: String
            var verdict: String
        }

        @Test func `doctor tests each camera of a list`() async throws {
            try await Stage.with { stage in
                let file = try write(
                    ["door": "", "yard": "    video: file:/nowhere.mp4"], "spool-limit: 1MB",
                    on: stage)
                let collector = try await stage.collector()
                let doctor = try await stage.run(.agent, "doctor", "--json", "--config", file)
                #expect(doctor.status == 1)
                let findings = try JSONDecoder().decode([Finding].self, from: doctor.outputData)
                func verdict(_ source: String, _ subject: String) -> String? {
                    findings.first { $0.source == source && $0.subject == subject }?.verdict
                }
                #expect(verdict("door", "video") == "ok")
                #expect(verdict("yard", "video") == "problem")
                #expect(verdict("yard", "clock") == "ok")
                let text = try await stage.run(.agent, "doctor", "--config", file)
                #expect(text.output.contains("PROBLEM  yard, video: "), "\(text.output)")
                let checked = try await stage.run(
                    .agent, "doctor", "--config", file, "--check-config")
                #expect(checked.output == "the options of 2 cameras are valid\n")
                collector.signal(SIGTERM)
                try await collector.succeeds()
            }
        }

        @Test(arguments: [false, true])
        func `one command authorises a box, and without it the status says so`(
            hasPreview: Bool
        ) async throws {
            try await Stage.with { stage in
                let site = try await Site.open(on: stage)
                let keys = """
                    collector-key: \(site.key)
                    keys: \(stage.directory.path)/box
                    linger: 1s
                    """
                let preview = "    preview: test"
                let file = try write(
                    hasPreview ? ["door": preview] : ["door": "", "yard": preview], keys, on: stage)
                let arguments = ["--config", file, "--collector", site.endpoint]
                let refused = try stage.start(.agent, arguments)
                try await refused.says(
                    "does not admit this box's key", times: hasPreview ? 2 : 3)
                refused.signal(SIGTERM)
                let outcome = try await refused.outcome()
                #expect(outcome.status == 77, "\(outcome.complaints)")
                let commands = Set(
                    outcome.complaints.matches(
                        of: /keys authorize ([\w.-]+ [a-z2-7]{56}(?: --sources [\w.,-]+)?)/
                    ).map { String($0.1) })
                #expect(commands.count == 1, "\(commands)")
                let words = try #require(commands.first).split(separator: " ").map(String.init)
                #expect(
                    Array(words.dropFirst(2)) == (hasPreview ? [] : ["--sources", "door,yard"]))
                try await stage.start(
                    .archive,
                    ["keys", "authorize"] + words + [
                        "--keys", stage.directory.appending(path: "server-keys").path,
                    ]
                ).succeeds()
                let agent = try stage.start(.agent, arguments)
                for source in hasPreview ? ["door"] : ["door", "yard"] {
                    _ = try await stage.holds(1, of: source)
                }
                _ = try await stage.holds(1, of: hasPreview ? "door.preview" : "yard.preview")
                agent.signal(SIGTERM)
                _ = try await agent.outcome()
                site.collector.signal(SIGTERM)
                _ = try await site.collector.outcome()
            }
        }
    }
}
