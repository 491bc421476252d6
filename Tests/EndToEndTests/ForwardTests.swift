import Foundation
import Testing

extension EndToEnd {
    /// `tributary forward`, as far as it depends on a collector.
    @Suite(.serialized) struct ForwardTests {
        private static let destination = "udp://127.0.0.1:9"

        @Test
        func `a key without the right to watch ends it with working advice`() async throws {
            try await Stage.with { stage in
                let site = try await Site.open(on: stage, "--once", "--feed", "tcp://127.0.0.1:*")
                let agent = try site.agent("stage", keys: "box")
                try await site.keys("authorize", "stage", try await site.key(saidBy: agent))
                try await site.collector.says("the key files have changed")
                try await site.collector.says("the feed is at tcp://")
                let feed = try #require(
                    site.collector.complaints.firstMatch(of: /the feed is at (tcp:[^ \n]+)/)?.1)
                let arguments = [
                    "forward", "stage", Self.destination, "--feed", String(feed), "--json",
                    "--collector-key", site.key, "--keys",
                    stage.directory.appending(path: "forward").path,
                ]
                let refused = try await stage.start(.archive, arguments).outcome()
                #expect(refused.status == 77)
                #expect(refused.complaintLines.last?.contains("does not admit") == true)
                #expect(refused.output.contains(#""trouble" : "the collector at tcp:"#))
                let advice = try #require(
                    refused.complaints.firstMatch(
                        of:
                            /run on the server: tributary keys authorize forward ([a-z2-7]{56}) --watch/
                    ))
                try await site.keys("authorize", "forward", String(advice.1), "--watch")
                // The feed's own thread looks once a second.
                try await site.collector.says("the key files have changed: 1 keys may watch")
                let forward = try stage.start(.archive, arguments)
                try await forward.says("\(Self.destination): connected")
                forward.signal(SIGINT)
                try await forward.succeeds()
                agent.signal(SIGINT)
                for program in [agent, site.collector] { try await program.succeeds() }
            }
        }

        @Test func `a missing collector and an unknown source are stated, and waited for`()
            async throws
        {
            try await Stage.with { stage in
                let arguments = ["forward", "stage", Self.destination, "--archive", stage.archive]
                let forward = try stage.start(.archive, arguments)
                try await forward.says("collector.feed does not exist")
                let collector = try await stage.collector()
                let other = try stage.testAgent("door")
                try await forward.says("the collector has no source 'stage'")
                let agent = try stage.testAgent("stage")
                try await forward.says("\(Self.destination): connected")
                forward.signal(SIGINT)
                try await forward.succeeds()
                for program in [agent, other] { program.signal(SIGINT) }
                for program in [agent, other] { try await program.succeeds() }
                collector.signal(SIGINT)
                try await collector.succeeds()
            }
        }

        @Test func `a file without a URL is stated, and a secret of a URL is in no message`()
            async throws
        {
            try await Stage.with { stage in
                let file = stage.directory.appending(path: "url").path
                for command in [["forward", "stage"], ["replay", "latest"]] {
                    let words = command + ["--archive", stage.archive, "--url-file", file]
                    let missing = try await stage.start(.archive, words).outcome()
                    #expect(missing.status == 1)
                    #expect(missing.complaints.contains("\(file) does not exist"))
                    try Data("gopher://ann:SECRET@host/KEY?passphrase=SECRET\n".utf8).write(
                        to: URL(filePath: file))
                    try FileManager.default.setAttributes(
                        [.posixPermissions: 0o600], ofItemAtPath: file)
                    let wrong = try await stage.start(.archive, words).outcome()
                    #expect(wrong.status == 64)
                    #expect(wrong.complaints.contains("must begin with srt://"))
                    let viewer = try await stage.start(
                        .viewer,
                        [
                            "--archive", stage.archive, "--forward", "stage=\(file)",
                            "--check-config",
                        ]
                    ).outcome()
                    #expect(viewer.status == 64)
                    #expect(viewer.complaints.contains("is no URL that begins with srt://"))
                    try FileManager.default.removeItem(atPath: file)
                    #expect(!wrong.complaints.contains("SECRET"))
                }
                for url in ["srt://host:1?passphrase=SECRET", "rtsp://ann:SECRET@host/live"] {
                    let visible = try await stage.run(
                        .archive, "replay", "latest", "--archive", stage.archive, "--to", url)
                    #expect(visible.status == 64)
                    #expect(visible.complaints.contains("use --url-file"))
                    #expect(!visible.complaints.contains("SECRET"))
                }
            }
        }

        @Test func `a secret of a URL from the environment is allowed, as no user can read it`()
            async throws
        {
            try await Stage.with { stage in
                let url = "rtsp://ann:SECRET@127.0.0.1:9/live"
                let replay = try await stage.start(
                    at: URL(filePath: "/usr/bin/env"),
                    [
                        "TRIBUTARY_TO=\(url)", Executable.archive.url.path, "replay", "latest",
                        "--archive", stage.archive,
                    ]
                ).outcome()
                // There is no recording.
                #expect(replay.status == 1)
                #expect(replay.complaintLines.count == 1, "\(replay.complaints)")
                #expect(!replay.complaints.contains("--url-file"))
                #expect(!replay.complaints.contains("SECRET"))
            }
        }
    }
}
