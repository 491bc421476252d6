import Foundation
import Messaging
import Testing
import Trust
import Wire

/// A server with keys on a stage, and the commands of its operator.
struct Site {
    let stage: Stage
    let collector: Running
    let endpoint: String
    /// The collector's public key.
    let key: String

    private static func serverKeys(_ stage: Stage) -> String {
        stage.directory.appending(path: "server-keys").path
    }

    /// A collector that requires keys, on a port of this machine.
    static func open(on stage: Stage, _ arguments: String...) async throws -> Site {
        let made = try await stage.run(.archive, "keys", "generate", "--keys", serverKeys(stage))
        #expect(made.status == 0)
        let collector = try stage.start(
            .collector,
            [
                "--listen", "tcp://127.0.0.1:*", "--archive", stage.archive, "--keys",
                serverKeys(stage),
            ] + arguments)
        try await collector.says("listening on")
        let endpoint = try #require(
            collector.complaints.firstMatch(of: /listening on (tcp:\/\/127\.0\.0\.1:\d+)/)?.1)
        return Site(
            stage: stage, collector: collector, endpoint: String(endpoint),
            key: made.output.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// An agent with its own key.
    func agent(_ source: String, keys: String, _ arguments: String...) throws -> Running {
        try stage.start(
            .agent,
            [
                "--collector", endpoint, "--collector-key", key, "--keys",
                stage.directory.appending(path: keys).path, "--source", source, "--video", "test",
                "--audio", "test", "--size", "320x180", "--keyframe-interval", "1s", "--late",
                "keep",
            ] + arguments)
    }

    /// `tributary keys …` on the server.
    @discardableResult
    func keys(_ arguments: String...) async throws -> String {
        let outcome = try await stage.start(
            .archive, ["keys"] + arguments + ["--keys", Self.serverKeys(stage)]
        ).succeeds()
        return outcome.output
    }

    /// The public key that an agent reports having created.
    func key(saidBy agent: Running) async throws -> String {
        try await agent.says("tributary keys authorize")
        return String(
            try #require(
                agent.complaints.firstMatch(of: /keys authorize [\w.-]+ ([a-z2-7]{56})/)?.1))
    }

    /// A raw peer with a key authorised for `sources`.
    func stranger(authorizedFor sources: String) async throws -> Stranger {
        let key = try SecretKey.generate()
        let server = try PublicKey(text: self.key)
        let text = key.publicKey.text
        try await keys("authorize", "stranger", text, "--sources", sources)
        try await collector.says("the key files have changed")
        return try Stranger(to: endpoint, security: .client(key, server: server))
    }
}

extension EndToEnd {
    /// Keys: which peers may connect, and which sources they may write.
    @Suite(.serialized) struct KeyTests {
        @Test func `an agent whose key is authorised later loses no sample`() async throws {
            try await Stage.with { stage in
                let site = try await Site.open(on: stage, "--once")
                let agent = try site.agent("stage", keys: "box", "--duration", "3s")
                try await agent.says("does not admit this box's key")
                let key = try await site.key(saidBy: agent)
                try await site.collector.says("refused: its key is not authorised")
                try await site.collector.says("address=127.0.0.1, key=\(key.prefix(8))")
                try await site.keys("authorize", "stage", key)
                for program in [agent, site.collector] { try await program.succeeds() }
                #expect(try site.collector.complaints.contains("90 pictures"))
                try await expectAudio(stage)
            }
        }

        @Test func `a revoked key ends its connection, and can be restored without a loss`()
            async throws
        {
            try await Stage.with { stage in
                let site = try await Site.open(on: stage)
                let other = try site.agent("door", keys: "other-box", "--duration", "12s")
                try await site.keys("authorize", "door", try await site.key(saidBy: other))
                let agent = try site.agent("stage", keys: "box", "--duration", "6s")
                let key = try await site.key(saidBy: agent)
                try await site.keys("authorize", "stage", key)
                _ = try await stage.holds(2, of: "stage")
                try await site.keys("revoke", "stage")
                try await agent.says("refused: the key stage is revoked")
                try await agent.says(
                    "'tributary keys authorize stage' on the server admits it again")
                try await site.collector.says("refused: the key of stage is revoked")
                try await site.collector.says("has ended (stage was revoked)")
                let before = try stage.recordings("stage").map { try Data(contentsOf: $0).count }
                try await Task.sleep(for: .seconds(1))
                let after = try stage.recordings("stage").map { try Data(contentsOf: $0).count }
                #expect(before == after)
                try await site.keys("authorize", "stage")
                try await agent.succeeds()
                try await other.succeeds()
                site.collector.signal(SIGINT)
                // Everything was recorded in the end.
                try await site.collector.succeeds()
                try await expectAudio(stage)
                #expect(try Numbers(of: "door", on: stage).missing == [])
            }
        }

        @Test(arguments: [false, true])
        func `an agent that is stopped after its key was revoked has its own status`(
            isOnDisk: Bool
        ) async throws {
            try await Stage.with { stage in
                let site = try await Site.open(on: stage)
                let agent = try site.agent(
                    "stage", keys: "box", "--linger", "1s", "--spool",
                    isOnDisk ? stage.spool : "none")
                try await site.keys("authorize", "stage", try await site.key(saidBy: agent))
                _ = try await stage.holds(1, of: "stage")
                try await site.keys("revoke", "stage")
                try await agent.says("refused: the key stage is revoked")
                // Its handshakes are refused meanwhile, too.
                try await site.collector.says("refused: the key of stage is revoked")
                agent.signal(SIGTERM)
                let outcome = try await agent.outcome()
                #expect(outcome.status == 77)
                let last = try #require(outcome.complaintLines.last)
                #expect(
                    last.hasPrefix("tributary-agent: the collector at \(site.endpoint) refused: "))
                #expect(last.contains("the key stage is revoked: 'tributary keys authorize stage'"))
                #expect(last.contains("samples ("))
                #expect(last.contains("are sent at the next start") == isOnDisk)
                let top = try await stage.run(.archive, "top", "--archive", stage.archive)
                #expect(top.output.contains("revoked key "), "\(top.output)")
                let json = try await stage.run(
                    .archive, "top", "--json", "--archive", stage.archive)
                #expect(json.output.contains("\"revoked_key\""))
                site.collector.signal(SIGTERM)
                let end = try await site.collector.outcome()
                #expect(end.complaints.contains("revoked key "), "\(end.complaints)")
            }
        }

        @Test func `a replay that is not admitted ends with that status`() async throws {
            try await Stage.with { stage in
                let wire = stage.directory.appending(path: "messages.wire").path
                let site = try await Site.open(on: stage, "--record-wire", wire)
                let agent = try site.agent("stage", keys: "box", "--duration", "2s")
                let key = try await site.key(saidBy: agent)
                try await site.keys("authorize", "stage", key)
                try await agent.succeeds()
                let place = [
                    "--to", site.endpoint, "--collector-key", site.key, "--archive", stage.archive,
                    "--keys", stage.directory.appending(path: "other").path,
                ]
                let replay = try stage.start(.archive, ["replay", "latest"] + place)
                try await replay.says("does not admit this box's key")
                replay.signal(SIGINT)
                let outcome = try await replay.outcome()
                #expect(outcome.status == 77)
                #expect(
                    outcome.complaintLines.last?.contains("does not admit this box's key") == true)
                let other = try await stage.start(.archive, ["replay", wire] + place).outcome()
                #expect(other.status == 77)
                #expect(other.complaintLines.last?.contains("keys authorize replay ") == true)
            }
        }

        @Test func `an agent with a source outside its key is told the allowed ones`() async throws
        {
            try await Stage.with { stage in
                let site = try await Site.open(on: stage, "--once")
                let agent = try site.agent("stage", keys: "box", "--duration", "2s")
                let key = try await site.key(saidBy: agent)
                try await site.keys("authorize", "box", key, "--sources", "door-*")
                try await agent.says("the key box may write door-*, not stage")
                try await site.collector.says("the key box may write door-*, not stage")
                #expect(try stage.recordings("stage").isEmpty)
                try await site.keys("authorize", "box", "--sources", "door-*,stage")
                for program in [agent, site.collector] { try await program.succeeds() }
                #expect(try site.collector.complaints.contains("60 pictures"))
            }
        }

        @Test func `an agent that claims another key's source is disconnected`() async throws {
            try await Stage.with { stage in
                let site = try await Site.open(on: stage)
                var stranger = try await site.stranger(authorizedFor: "mine")
                try stranger.send(Stranger.hello(source: "yours"))
                let refusal = try #require(try stranger.refusal())
                #expect(refusal.reason == .unauthorized)
                // Its later messages are ignored, and it is disconnected.
                try stranger.send(Stranger.hello(source: "mine"))
                #expect(try stranger.answer() == nil)
            }
        }

        @Test func `both sides log what is missing if only the other has keys`() async throws {
            try await Stage.with { stage in
                let site = try await Site.open(on: stage)
                let plain = try stage.start(
                    .agent, ["--collector", site.endpoint, "--source", "a", "--video", "test"])
                try await plain.says("give --collector-key KEY")
                try await site.collector.says("refused: encryption mismatch")
                let wrong = try stage.start(
                    .agent,
                    [
                        "--collector", site.endpoint, "--source", "b", "--video", "test", "--keys",
                        stage.directory.appending(path: "b").path, "--collector-key",
                        try SecretKey.generate().publicKey.text,
                    ])
                try await wrong.says("its key is not the one given here")
                let open = try stage.start(
                    .collector,
                    ["--listen", stage.endpoint, "--archive", stage.archive + "-2"])
                try await open.says("listening on")
                let keyed = try stage.start(
                    .agent,
                    [
                        "--collector", stage.endpoint, "--source", "c", "--video", "test",
                        "--keys", stage.directory.appending(path: "c").path, "--collector-key",
                        site.key,
                    ])
                try await keyed.says("uses no keys")
                #expect(open.isRunning && site.collector.isRunning)
                for agent in [plain, wrong, keyed] { #expect(agent.isRunning) }
            }
        }

        @Test func `secrets are never printed, and readable only by their owner`() async throws {
            try await Stage.with { stage in
                let directory = stage.directory.appending(path: "keys").path
                let made = try await stage.run(.archive, "keys", "generate", "--keys", directory)
                let file = "\(directory)/own.key"
                let secret = try #require(
                    String(contentsOfFile: file, encoding: .utf8).split(separator: " ").last)
                let listed = try await stage.run(
                    .archive, "keys", "list", "--json", "--keys", directory)
                for text in [made.output, made.complaints, listed.output, listed.complaints] {
                    #expect(!text.contains(secret.trimmingCharacters(in: .whitespacesAndNewlines)))
                }
                #expect(listed.output.contains(made.output.split(separator: "\n")[0]))
                chmod(file, 0o644)
                let collector = try await stage.run(
                    .collector, "--listen", "tcp://127.0.0.1:*", "--keys", directory)
                #expect(collector.status == 1)
                #expect(collector.complaints.contains("chmod 600 \(file)"))
                #expect(collector.complaintLines.count == 1)
            }
        }
    }
}
