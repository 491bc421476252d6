import Foundation
import Glibc
import Testing

extension EndToEnd {
    /// One session on a file system that does not answer, beside others that do.
    @Suite(.serialized, .enabled(if: HungDirectory.isPossible, "mounting needs root and FUSE"))
    struct HungDiskTests {
        private static let honest = "2026-11-21T22-26-29.924Z"
        private static let hung = "2026-11-21T22-26-34.191Z"
        private static let ending = Duration.seconds(5)

        /// An archive of two sessions, one of which hangs while `body` runs.
        private func with(
            _ place: String, _ body: (Stage) async throws -> Void
        ) async throws {
            try await Stage.with { stage in
                let stored = URL(filePath: #filePath)
                    .deletingLastPathComponent().deletingLastPathComponent()
                    .appending(path: "Upgrade/0.1.0/archive/sessions")
                try FileManager.default.createDirectory(
                    atPath: stage.archive, withIntermediateDirectories: true)
                try FileManager.default.copyItem(
                    atPath: stored.path, toPath: "\(stage.archive)/sessions")
                let directory = try HungDirectory(at: "\(stage.archive)/sessions/\(place)")
                do {
                    try await body(stage)
                } catch {
                    directory.end()
                    throw error
                }
                directory.end()
            }
        }

        @Test(arguments: [hung, "\(hung)/camera1"])
        func `commands list and read the sessions that do not hang`(_ place: String) async throws {
            try await with(place) { stage in
                let archive = ["--archive", stage.archive]
                let list = try await stage.start(.archive, ["ls"] + archive)
                    .outcome(within: .seconds(30))
                #expect(list.output.contains(Self.honest))
                #expect(list.complaints.contains("does not answer"))
                let verified = try await stage.start(.archive, ["verify", Self.honest] + archive)
                    .outcome(within: .seconds(20))
                #expect(verified.status == 0)
                let index = try await stage.start(.archive, ["index"] + archive)
                    .outcome(within: .seconds(40))
                #expect(index.complaints.contains("its session is left out"))
                // Requests for the session itself wait, and end with a signal.
                for words in [["show", Self.hung], ["export", Self.hung, "-o", "/dev/null"]] {
                    let command = try stage.start(.archive, words + archive)
                    try await Task.sleep(for: .seconds(1))
                    command.signal(SIGTERM)
                    _ = try await command.outcome(within: Self.ending)
                }
            }
        }

        @Test(
            .enabled(if: Foreign.curl != nil, "curl asks"), arguments: [hung, "\(hung)/camera1"])
        func `the viewer serves the sessions that do not hang, and ends at once`(_ place: String)
            async throws
        {
            try await with(place) { stage in
                let served = try await ServedArchive(on: stage)
                // More than it has threads, all the time.
                let readers = Task {
                    await withTaskGroup(of: Void.self) { group in
                        for number in 0..<12 {
                            group.addTask {
                                let path = "/api/v1/sessions/\(Self.hung)"
                                let part =
                                    number % 2 == 0 ? "/coverage" : "/sources/camera1/media.mp4"
                                while !Task.isCancelled {
                                    let answer = try? await served.get(
                                        path + part, "--max-time", "3")
                                    // Without a viewer, it fails at once.
                                    if answer == nil { try? await Task.sleep(for: .seconds(1)) }
                                }
                            }
                        }
                    }
                }
                defer { readers.cancel() }
                let honest = "/api/v1/sessions/\(Self.honest)"
                for round in 0..<6 {
                    let source = "\(honest)/sources/camera1"
                    for path in [
                        "\(source)/media.mp4", "\(honest)/coverage",
                        "\(source)/picture.jpg?at=0.5&width=160", "/api/v1/sessions",
                    ] {
                        let answer = try await served.get(path, "--max-time", "8")
                        #expect(answer.status == 200, "\(path), round \(round)")
                        #expect(
                            path != "/api/v1/sessions" || answer.text.contains(Self.honest))
                    }
                }
                served.viewer.signal(SIGTERM)
                let outcome = try await served.viewer.outcome(within: Self.ending)
                #expect(outcome.status == 0, "\(outcome.complaints)")
                readers.cancel()
                await readers.value
            }
        }

        @Test(arguments: [hung, "\(hung)/camera1"])
        func `a collector starts, records every sample and ends at once`(
            _ place: String
        ) async throws {
            try await with(place) { stage in
                let collector = try await stage.collector("--keep-bytes", "100GB")
                let agent = try stage.testAgent("stage", "--duration", "5s")
                try await agent.succeeds()
                collector.signal(SIGTERM)
                let outcome = try await collector.outcome(within: Self.ending)
                #expect(outcome.status == 0, "\(outcome.complaints)")
                #expect(outcome.complaints.contains("does not answer"))
                // Listing the directory here would look at what hangs, too.
                let session = try #require(
                    try NSRegularExpression(pattern: "session ([^ ]+) has begun")
                        .firstMatch(
                            in: outcome.complaints,
                            range: NSRange(
                                outcome.complaints.startIndex..., in: outcome.complaints)
                        )
                        .flatMap { Range($0.range(at: 1), in: outcome.complaints) }
                        .map { String(outcome.complaints[$0]) })
                let verified = try await stage.start(
                    .archive, ["verify", session, "--archive", stage.archive]
                ).outcome(within: .seconds(20))
                #expect(verified.status == 0, "\(verified.output)")
                #expect(verified.output.contains("nothing missing"), "\(verified.output)")
            }
        }

        @Test
        func `a collector whose own disk hangs ends at a signal, and its agent keeps the rest`()
            async throws
        {
            try await Stage.with { stage in
                try FileManager.default.createDirectory(
                    atPath: "\(stage.archive)/sessions", withIntermediateDirectories: true)
                let collector = try await stage.collector()
                let agent = try stage.testAgent("stage")
                _ = try await stage.holds(2, of: "stage")
                let session = try #require(try stage.sessions.first)
                // New files cannot be made there, nor anything be synchronised.
                let directory = try HungDirectory(at: session.path)
                try await Task.sleep(for: .seconds(4))
                collector.signal(SIGTERM)
                let outcome = try? await collector.outcome(within: .seconds(8))
                directory.end()
                #expect(outcome != nil)
                agent.signal(SIGKILL)
            }
        }
    }
}
