import Foundation
import Testing

extension EndToEnd.TwoCameraTests {
    /// Output of `tributary` over an archive, as text and as JSON.
    @Suite(.serialized) struct ArchiveCommandTests {
        private let cameras: TwoCameras

        init() throws {
            cameras = try #require(TwoCameras.current)
        }

        /// Runs `tributary` on the recording; it must succeed silently.
        private func tributary(_ words: String...) async throws -> String {
            let outcome = try await cameras.stage.start(.archive, words).succeeds()
            #expect(outcome.complaints.isEmpty)
            return outcome.output
        }

        private func object(_ text: String) throws -> [String: Any] {
            try #require(
                JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        }

        private func list(_ text: String) throws -> [[String: Any]] {
            try #require(
                JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]])
        }

        @Test func `ls lists sessions, and a session's segments`() async throws {
            let archive = cameras.stage.archive
            let text = try await tributary("ls", "--archive", archive)
            #expect(text.contains("door stage"))
            let sessions = try list(try await tributary("ls", "--json", "--archive", archive))
            let session = try #require(sessions.first?["session"] as? String)
            #expect(sessions.count == 1)
            #expect(sessions.first?["sources"] as? [String] == ["door", "stage"])
            let segments = try list(
                try await tributary("ls", session, "--json", "--archive", archive))
            #expect(
                try Set(segments.map { try #require($0["path"] as? String) })
                    == Set(cameras.files.values.map(\.path)))
            let names = try await tributary("ls", "latest", "--names", "--archive", archive)
            #expect(names.split(separator: "\n").count == 2)
        }

        @Test func `show describes a session`() async throws {
            let archive = cameras.stage.archive
            let text = try await tributary("show", "latest", "--archive", archive)
            #expect(text.contains("nothing missing"))
            #expect(text.contains("video 1280×720 H.264"))
            let report = try object(
                try await tributary("show", "latest", "--json", "--archive", archive))
            let sources = try #require(report["sources"] as? [[String: Any]])
            #expect(sources.map { $0["name"] as? String } == ["door", "stage"])
            #expect(sources.allSatisfy { $0["isComplete"] as? Bool == true })
        }

        @Test func `show states that a source has no recording`() async throws {
            try await Stage.with { stage in
                try cameras.stage.copyArchive(to: stage)
                let directory = try stage.recording("door").deletingLastPathComponent()
                try FileManager.default.removeItem(at: directory)
                let outcome = try await stage.run(
                    .archive, "show", "latest", "--archive", stage.archive)
                #expect(outcome.output.contains("door: no recording"))
                #expect(outcome.output.contains("damage: \(directory.path)"))
            }
        }

        @Test(arguments: [["ls"], ["show", "latest"], ["verify"], ["ls", "--json"]])
        func `output that cannot be written is a failure`(_ words: [String]) async throws {
            let program = Executable.archive.url.path
            let line = "exec \"$0\" \"$@\" > /dev/full"
            let outcome = try await cameras.stage.start(
                at: URL(filePath: "/bin/sh"),
                ["-c", line, program] + words + ["--archive", cameras.stage.archive]
            ).outcome()
            #expect(outcome.status == 1)
            #expect(outcome.complaintLines.count == 1)
            #expect(
                outcome.complaints.contains("the output is incomplete: No space left on device"))
        }

        @Test func `verify finds a complete recording intact`() async throws {
            let archive = cameras.stage.archive
            let text = try await tributary("verify", "--archive", archive)
            #expect(text.contains("300 pictures"))
            #expect(text.contains(": intact;"))
            let report = try object(try await tributary("verify", "--json", "--archive", archive))
            #expect(report["isIntact"] as? Bool == true)
        }

        /// As completed by a shell; the archive is found from the path, without `--archive`.
        @Test(arguments: ["", "/", "/door/.."])
        func `verify accepts a session's directory`(_ ending: String) async throws {
            let session = try #require(
                FileManager.default.contentsOfDirectory(
                    atPath: "\(cameras.stage.archive)/sessions"
                ).first)
            let directory = "\(cameras.stage.archive)/sessions/\(session)"
            let text = try await tributary("verify", directory + ending)
            #expect(text.contains("session \(session): intact; 2 sources"))
        }

        @Test func `verify names a directory that is not a session`() async throws {
            let outcome = try await cameras.stage.start(
                .archive, ["verify", cameras.stage.directory.path]
            )
            .outcome()
            #expect(outcome.status == 1)
            #expect(outcome.complaints.contains("is neither a session directory"))
            #expect(outcome.complaints.filter(\.isNewline).count == 1)
        }

        @Test func `inspect shows a file's boxes`() async throws {
            let file = try #require(cameras.files["door"])
            let text = try await tributary("inspect", file.path)
            #expect(text.hasPrefix("ftyp at 0"))
            let tree = try object(try await tributary("inspect", "--json", file.path))
            let boxes = try #require(tree["boxes"] as? [[String: Any]])
            #expect(
                boxes.compactMap { $0["type"] as? String }
                    == (try TopLevelBoxes(of: file).types))
        }

        /// Nil: in the last fragment's media; no digest covers the head there.
        @Test(arguments: [0.02, 0.3, 0.6, nil])
        func `verify finds one flipped bit anywhere in the media`(_ place: Double?) async throws {
            try await Stage.with { stage in
                try cameras.stage.copyArchive(to: stage)
                let file = try stage.recording("door")
                var bytes = try Data(contentsOf: file)
                let last = try #require(bytes.range(of: Data("mdat".utf8), options: .backwards))
                let offset = place.map { Int(Double(bytes.count) * $0) } ?? last.upperBound + 100
                bytes[offset] ^= 0x10
                try bytes.write(to: file)
                let outcome = try await stage.run(.archive, "verify", "--archive", stage.archive)
                #expect(outcome.status == 1)
                #expect(outcome.output.contains("DAMAGED"))
                #expect(outcome.output.contains(file.path))
                let machine = try await stage.run(
                    .archive, "verify", "--json", "--archive", stage.archive)
                #expect(machine.status == 1)
                #expect(try object(machine.output)["isIntact"] as? Bool == false)
            }
        }
    }
}
