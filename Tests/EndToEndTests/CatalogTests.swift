import Foundation
import SQLite
import Testing

extension EndToEnd {
    /// The catalog as written by the real programs.
    @Suite(.serialized) struct CatalogTests {
        private func tributary(_ stage: Stage, _ words: String...) async throws -> Outcome {
            try await stage.start(.archive, words + ["--archive", stage.archive]).outcome()
        }

        @Test func `two processes read while the collector writes`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once", "--segment", "1s")
                let agent = try stage.testAgent("camera", "--duration", "6s")
                try await stage.grows("camera")
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for words in [["--json"], ["--json", "--from", "2020-01-01T00:00:00Z"]] {
                        group.addTask {
                            var most = 0
                            while agent.isRunning {
                                let list = try await stage.start(
                                    .archive, ["ls", "--archive", stage.archive] + words
                                ).outcome()
                                #expect(list.status == 0 && list.complaints.isEmpty)
                                let rows = try #require(
                                    JSONSerialization.jsonObject(with: list.outputData)
                                        as? [[String: Any]])
                                let segments = rows.first?["segments"] as? Int ?? 0
                                // Rows are only added.
                                #expect(segments >= most)
                                most = segments
                            }
                            return most
                        }
                    }
                    for try await most in group { #expect(most >= 4) }
                }
                for program in [agent, collector] { try await program.succeeds() }
                #expect(try await tributary(stage, "index", "--check").status == 0)
            }
        }

        /// Another program holds the catalog's lock for half a minute, as a backup or script would.
        @Test func `a catalog that is locked delays no acknowledgement`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once", "--segment", "5s")
                let agent = try stage.testAgent("camera", "--duration", "40s")
                try await stage.grows("camera")
                let database = try SQLiteConnection(
                    stage.archive + "/tributary.sqlite", for: .writing)
                try database.run("BEGIN IMMEDIATE")
                let end = ContinuousClock.now + .seconds(30)
                var oldest = 0.0
                while ContinuousClock.now < end {
                    let top = try await tributary(stage, "top", "--json")
                    let view = try #require(
                        JSONSerialization.jsonObject(with: top.outputData) as? [String: Any])
                    let source = try #require((view["sources"] as? [[String: Any]])?.first)
                    oldest = max(oldest, try #require(source["persistedAgeSeconds"] as? Double))
                    try await Task.sleep(for: .seconds(1))
                }
                // A slow disk's delay; less than half of the time that the lock was held.
                #expect(oldest < 12)
                try database.run("COMMIT")
                for program in [agent, collector] { try await program.succeeds() }
                let check = try await tributary(stage, "index", "--check")
                #expect(check.status == 0, "\(check.output)\(check.complaints)")
            }
        }

        @Test func `an unreadable file is named, and indexed when it is readable`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once", "--segment", "1s")
                let agents = [try stage.testAgent("first", "--duration", "8s")]
                try await stage.grows("first")
                // Hand-edited notes are unreadable; the next source changes the description.
                let session = try #require(try stage.sessions.first)
                let notes = session.appending(path: "notes.json")
                try Data("{".utf8).write(to: notes)
                let second = try stage.testAgent("second", "--duration", "5s")
                try await collector.says("the catalog is out of date")
                let lost = try await tributary(stage, "ls")
                #expect(lost.status == 0 && lost.output.contains("first"))
                try FileManager.default.removeItem(at: notes)
                try await collector.says("the catalog is complete again")
                for program in agents + [second, collector] { try await program.succeeds() }
                let check = try await tributary(stage, "index", "--check")
                #expect(check.status == 0, "\(check.output)\(check.complaints)")
            }
        }

        /// On a read-only medium, such as a snapshot, SQLite cannot create its files beside the catalog.
        @Test(.enabled(if: geteuid() == 0, "mounts a directory again"), arguments: [true, false])
        func `a read-only file system is listed`(hasCatalog: Bool) async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once", "--segment", "1s")
                let agent = try stage.testAgent("camera", "--duration", "3s")
                for program in [agent, collector] { try await program.succeeds() }
                let database = stage.archive + "/tributary.sqlite"
                if hasCatalog {
                    #expect(try await tributary(stage, "index").status == 0)
                    for suffix in ["-wal", "-shm"] { unlink(database + suffix) }
                } else {
                    for suffix in ["", "-wal", "-shm"] { unlink(database + suffix) }
                }
                let script =
                    "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && exec \"$@\""
                for words in [["ls"], ["ls", "--from", "2020-01-01T00:00:00Z"], ["ls", "latest"]] {
                    let list = try await stage.start(
                        at: URL(filePath: "/usr/bin/unshare"),
                        ["--mount", "sh", "-c", script, stage.archive, Executable.archive.url.path]
                            + words + ["--archive", stage.archive]
                    ).outcome()
                    #expect(list.status == 0, "\(words): \(list.complaints)")
                    #expect(list.output.contains("camera") && list.complaints.isEmpty)
                }
                #expect(!FileManager.default.fileExists(atPath: database + "-wal"))
            }
        }

        @Test func `a damaged catalog is detected by a reader, and rebuilt`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once", "--segment", "1s")
                let agent = try stage.testAgent("camera", "--duration", "3s")
                for program in [agent, collector] { try await program.succeeds() }
                #expect(try await tributary(stage, "index").status == 0)
                let database = URL(filePath: stage.archive).appending(path: "tributary.sqlite")
                for suffix in ["-wal", "-shm"] { unlink(database.path + suffix) }
                var bytes = try Data(contentsOf: database)
                // The schema's pages stay valid; all pages behind them become noise.
                let name = try #require(bytes.range(of: Data("camera".utf8))).lowerBound
                for index in name / 4_096 * 4_096..<bytes.count { bytes[index] = 0xA5 }
                try bytes.write(to: database)
                let list = try await tributary(
                    stage, "ls", "latest", "--from", "2020-01-01T00:00:00Z")
                #expect(list.status == 0, "\(list.complaints)")
                #expect(list.output.contains("camera"))
                #expect(list.complaints.contains("rebuilt the catalog"))
                #expect(try await tributary(stage, "index", "--check").status == 0)
            }
        }

        @Test
        func `the catalog equals the files, also after loss and damage`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once", "--segment", "1s")
                let agent = try stage.testAgent("camera", "--duration", "4s")
                for program in [agent, collector] { try await program.succeeds() }
                let check = try await tributary(stage, "index", "--check")
                #expect(check.status == 0, "\(check.output)\(check.complaints)")
                let note = try await tributary(
                    stage, "note", "latest", "--name", "Opening", "--tag", "blue")
                #expect(note.status == 0 && note.output.contains("Opening"))
                #expect(try await tributary(stage, "ls").output.contains("\"Opening\""))
                let database = URL(filePath: stage.archive).appending(path: "tributary.sqlite")
                for suffix in ["-wal", "-shm"] {
                    unlink(database.path + suffix)
                }
                try Data("broken".utf8).write(to: database)
                let list = try await tributary(stage, "ls")
                #expect(list.status == 0 && list.output.contains("camera"))
                #expect(list.complaints.contains("rebuilt the catalog"))
                #expect(try await tributary(stage, "ls").complaints.isEmpty)
                #expect(try await tributary(stage, "index", "--check").status == 0)
                _ = try await tributary(stage, "protect", "latest")
                let kept = try await tributary(stage, "rm", "latest")
                #expect(kept.status == 1 && kept.complaints.contains("is protected"))
                _ = try await tributary(stage, "protect", "--off", "latest")
                #expect(try await tributary(stage, "rm", "latest", "latest").status == 0)
                #expect(try stage.sessions.isEmpty)
                #expect(try await tributary(stage, "index", "--check").status == 0)
            }
        }
    }
}
