import Foundation
import Messaging
import Testing
import Trust

extension EndToEnd {
    /// Files of earlier versions with the current programs. `Tests/Upgrade/make` creates the files.
    @Suite(.serialized) struct UpgradeTests {
        private static let place = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Upgrade")

        static let versions: [String] = {
            do {
                return try FileManager.default.contentsOfDirectory(atPath: place.path)
                    .filter { $0.first?.isNumber == true }.sorted()
            } catch {
                preconditionFailure("\(place.path) cannot be read: \(error)")
            }
        }()

        /// A working copy of a version's files.
        private func leave(_ part: String, of version: String, on stage: Stage) throws -> String {
            let copy = stage.directory.appending(path: part)
            try FileManager.default.copyItem(
                at: Self.place.appending(path: "\(version)/\(part)"), to: copy)
            return copy.path
        }

        private func names(_ archive: String, on stage: Stage) async throws -> [Substring] {
            try await stage.start(.archive, ["ls", "--archive", archive, "--names"]).succeeds()
                .output.split(separator: "\n")
        }

        private func report(_ archive: String, on stage: Stage) async throws -> VerifiedArchive {
            let outcome = try await stage.run(.archive, "verify", "--json", "--archive", archive)
            #expect(outcome.status == 0, "\(outcome.output.prefix(2_000))\(outcome.complaints)")
            return try JSONDecoder().decode(VerifiedArchive.self, from: outcome.outputData)
        }

        @Test(arguments: versions)
        func `an archive is read, verified and indexed`(version: String) async throws {
            try await Stage.with { stage in
                let archive = try leave("archive", of: version, on: stage)
                // With that version's index and with a current one.
                let before = try await names(archive, on: stage)
                let found = try await report(archive, on: stage)
                #expect(found.isIntact && found.sessions.count == 2)
                #expect(found.sessions.allSatisfy { !$0.sources.isEmpty })
                for file in try FileManager.default.contentsOfDirectory(atPath: archive)
                where file.hasPrefix("tributary.sqlite") {
                    try FileManager.default.removeItem(atPath: "\(archive)/\(file)")
                }
                try await stage.start(.archive, ["index", "--archive", archive]).succeeds()
                #expect(try await names(archive, on: stage) == before && !before.isEmpty)
                let cut = stage.directory.appending(path: "cut.mp4")
                try await stage.start(
                    .archive,
                    [
                        "export", found.sessions[0].session, "--source", "camera1", "-o", cut.path,
                        "--archive",
                        archive,
                    ]
                ).succeeds()
                if Foreign.hasFFmpeg { try await Foreign.decode(cut, on: stage) }
            }
        }

        @Test(arguments: versions)
        func `an interrupted session continues with the agent's kept records`(version: String)
            async throws
        {
            try await Stage.with { stage in
                let archive = try leave("archive", of: version, on: stage)
                let spool = try leave("spool", of: version, on: stage)
                let before = try await report(archive, on: stage)
                let collector = try stage.start(
                    .collector,
                    [
                        "--listen", stage.endpoint, "--archive", archive, "--segment", "1s",
                        "--idle-timeout", "0s",
                    ])
                try await collector.says("of the previous collector")
                let agent = try stage.start(
                    .agent,
                    [
                        "--collector", stage.endpoint, "--source", "camera1", "--spool", spool,
                        "--video", "test",
                        "--audio", "test", "--size", "160x90", "--fps", "10", "--duration", "2s",
                    ])
                try await agent.says("of samples from before this start are sent first")
                try await agent.succeeds()
                collector.signal(SIGTERM)
                try await collector.succeeds()
                let after = try await report(archive, on: stage)
                #expect(after.isIntact)
                #expect(after.sessions.map(\.session) == before.sessions.map(\.session))
                let session = try #require(after.sessions.last?.sources.first)
                let pictures = try #require(before.sessions.last?.sources.first).pictures
                // Two seconds from the agent's spool and two new ones.
                #expect(session.pictures >= pictures + 35, "\(pictures), then \(session.pictures)")
                #expect(session.gaps.allSatisfy { $0.cause == "restart" }, "\(session.gaps)")
            }
        }

        @Test(arguments: versions)
        func `configuration and keys of earlier versions are valid`(version: String) async throws {
            try await Stage.with { stage in
                let config = try leave("config", of: version, on: stage)
                let key = try SecretKey.generate().publicKey.text
                // On loopback, and without a camera. With --keys, an agent needs the collector's key.
                for (program, name, more) in [
                    (Executable.collector, "collector", ["--listen", "tcp://127.0.0.1:5550"]),
                    (.agent, "agent", ["--video", "test", "--collector-key", key]),
                ] {
                    let outcome = try await stage.start(
                        program, ["--config", "\(config)/\(name).yaml", "--check-config"] + more
                    ).outcome()
                    #expect(outcome.status == 0, "\(outcome.complaints)")
                }
                let keys = try leave("keys", of: version, on: stage)
                for path in [keys, "\(keys)/agents", "\(keys)/agents/box.pub"] {
                    chmod(path, 0o755)
                }
                let listed = try await stage.run(.archive, "keys", "list", "--keys", keys)
                #expect(listed.status == 0, "\(listed.complaints)")
                #expect(listed.output.contains("camera1 door-*"))
            }
        }
    }
}

/// Parts of `tributary verify --json`.
private struct VerifiedArchive: Decodable {
    struct Session: Decodable {
        var session: String
        var sources: [Source]
    }

    struct Source: Decodable {
        struct File: Decodable {
            struct Track: Decodable {
                var kind: String
                var samples: Int
            }

            var tracks: [Track]
        }

        struct Gap: Decodable {
            var cause: String?
        }

        var files: [File]
        var gaps: [Gap]

        var pictures: Int {
            files.flatMap(\.tracks).filter { $0.kind == "video" }.map(\.samples).reduce(0, +)
        }
    }

    var isIntact: Bool
    var sessions: [Session]
}
