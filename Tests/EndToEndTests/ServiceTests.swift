import Archive
import Foundation
import Testing

extension EndToEnd {
    /// Programs run by a service manager: notifications and signals.
    @Suite(.serialized) struct ServiceTests {
        private func agent(of manager: ServiceListener, on stage: Stage) throws -> Running {
            try manager.start(
                .agent,
                [
                    "--collector", stage.endpoint, "--source", "stage", "--video", "test",
                    "--audio", "test", "--size", "320x180", "--spool", stage.spool,
                ], on: stage)
        }

        @Test func `an agent reports readiness, status and liveness`() async throws {
            try await Stage.with { stage in
                let manager = try ServiceListener(on: stage)
                let agent = try agent(of: manager, on: stage)
                try await manager.hears("READY=1")
                try await manager.hears(
                    "STATUS=", " kept on this box: no answer")
                try await manager.hears("WATCHDOG=1")
                let collector = try await stage.collector("--once")
                let line = try await manager.hears(
                    "STATUS=recording stage, ", "; sent to \(stage.endpoint)")
                #expect(line.contains(" pictures/s"))
                try await manager.hears("WATCHDOG=1")
                collector.signal(SIGKILL)
                try await manager.hears(
                    "STATUS=", " kept on this box: no answer")
                let again = try await stage.collector("--once")
                try await manager.hears("STATUS=", "; sent to")
                agent.signal(SIGTERM)
                try await manager.hears("STOPPING=1")
                try await agent.succeeds()
                try await again.succeeds()
            }
        }

        @Test func `an agent without a collector ends in time, and keeps its samples`()
            async throws
        {
            try await Stage.with { stage in
                let manager = try ServiceListener(on: stage)
                let agent = try agent(of: manager, on: stage)
                try await manager.hears("READY=1")
                agent.signal(SIGTERM)
                try await manager.hears("STOPPING=1")
                let outcome = try await agent.succeeds()
                #expect(outcome.complaints.contains("are sent at the next start"))
            }
        }

        @Test(arguments: [
            (["--video", "/dev/video99"], 1, "/dev/video99"),
            (["--video", "test", "--colector", "x"], 64, "--colector"),
            (
                ["--video", "test", "--collector", "tcp://192.0.2.1:5550", "--keys", "KEYS"], 64,
                "the key of the collector at tcp://192.0.2.1:5550 is not known"
            ),
            (
                ["--video", "test", "--config", "/nowhere.yaml"], 64,
                "cannot read the configuration"
            ),
        ])
        func `the service status states why an agent cannot start`(
            arguments: [String], status: Int32, text: String
        ) async throws {
            try await Stage.with { stage in
                let manager = try ServiceListener(on: stage)
                let keys = stage.directory.appending(path: "keys").path
                let agent = try manager.start(
                    .agent, arguments.map { $0 == "KEYS" ? keys : $0 } + ["--spool", stage.spool],
                    on: stage)
                let said = try await manager.hears("STATUS=", text)
                let outcome = try await agent.outcome()
                #expect(outcome.status == status)
                // The log has the same text.
                #expect("STATUS=\(outcome.complaintLines.last ?? "")" == said)
            }
        }

        @Test
        func `the service status states why a collector cannot start or record`() async throws {
            try await Stage.with { stage in
                let manager = try ServiceListener(on: stage)
                let keys = stage.directory.appending(path: "keys").path
                let archive = ["--archive", stage.archive]
                let keyless = try manager.start(
                    .collector, ["--listen", "tcp://127.0.0.1:*", "--keys", keys] + archive,
                    on: stage)
                try await manager.hears("STATUS=", "there is no key in \(keys)")
                #expect(try await keyless.outcome().status == 64)
                let wrong = try manager.start(.collector, ["--segment", "0s"] + archive, on: stage)
                try await manager.hears("STATUS=", "--segment 0s is too short")
                #expect(try await wrong.outcome().status == 64)
                // No disk has this size.
                let impossible = try manager.start(
                    .collector, ["--listen", stage.endpoint, "--reserve", "9000000TB"] + archive,
                    on: stage)
                try await manager.hears(
                    "STATUS=", "--reserve 9000000 TB is larger than the disk of")
                #expect(try await impossible.outcome().status == 1)
                // Nor is the whole disk free.
                let size = try FileSystem.freeBytes(stage.directory.path).of
                let full = try manager.start(
                    .collector, ["--listen", stage.endpoint, "--reserve", "\(size - 1)"] + archive,
                    on: stage)
                try await manager.hears("READY=1")
                try await manager.hears("STATUS=", "not recording: the disk is full")
                try await manager.hears("WATCHDOG=1")
                full.signal(SIGTERM)
                try await full.succeeds()
            }
        }

        @Test
        func `an agent applies changed options, and logs the others`() async throws {
            try await Stage.with { stage in
                let file = stage.directory.appending(path: "agent.yaml")
                func write(video: String = "test", _ more: String) throws {
                    try """
                    collector: \(stage.endpoint)
                    source: stage
                    video: \(video)
                    audio: test
                    size: 320x180
                    keyframe-interval: 1s
                    spool: \(stage.spool)
                    \(more)
                    """.write(to: file, atomically: true, encoding: .utf8)
                }
                try write("")
                let collector = try await stage.collector("--once")
                let agent = try stage.start(.agent, ["--config", file.path])
                _ = try await stage.holds(1, of: "stage")
                try write("video-bitrate: 1M\nbatch: 200ms\nverbose: yes")
                agent.signal(SIGHUP)
                try await agent.says(
                    "verbose, video-bitrate changes now; batch will change at the next start")
                try await agent.says("changed by the configuration: 1000000 bit/s")
                try write("video-bitrate: 1M\nbatch: 200ms\nverbose: yes\nfps: soon")
                agent.signal(SIGHUP)
                try await agent.says("the configuration was not changed")
                try write(
                    video: "file:/nowhere.mp4", "video-bitrate: 1M\nbatch: 200ms\nverbose: yes")
                // A change that failed is tried again.
                for times in 1...2 {
                    agent.signal(SIGHUP)
                    try await agent.says("the capture was not changed", times: times)
                }
                try await agent.says(
                    "video changes now; batch will change at the next start", times: 2)
                // A command's change counts, and an option that is as at the start is not reported.
                try await stage.start(
                    .agent,
                    [
                        "control", "set", "--video-bitrate", "2M", "--source", "stage", "--spool",
                        stage.spool,
                    ]
                ).succeeds()
                try write("video-bitrate: 2M\nverbose: yes")
                agent.signal(SIGHUP)
                try await agent.says("configuration reloaded: nothing has changed")
                try write("video-bitrate: 2M\nverbose: yes\ncameras:\n  - source: door")
                agent.signal(SIGHUP)
                try await agent.says(
                    "the configuration was not changed: it now has a list of cameras; restart the agent"
                )
                agent.signal(SIGTERM)
                try await agent.succeeds()
                try await collector.succeeds()
            }
        }
    }
}
