import Foundation
import Testing

extension EndToEnd {
    /// Boxes enrolled with a line from the server.
    @Suite(.serialized) struct EnrolTests {
        /// A box's files on a stage.
        private struct Box {
            let stage: Stage
            let name: String

            var file: String { stage.directory.appending(path: "\(name)/agent.yaml").path }
            var keys: String { stage.directory.appending(path: "\(name)/keys").path }

            func enrol(_ line: String) async throws -> Outcome {
                try await stage.run(.agent, "enrol", line, "--file", file, "--keys", keys)
            }

            func record(_ arguments: String...) throws -> Running {
                try stage.start(
                    .agent,
                    [
                        "--config", file, "--video", "test", "--size", "320x180", "--duration",
                        "2s",
                    ] + arguments)
            }
        }

        private func line(_ site: Site, _ name: String, _ arguments: String...) async throws
            -> String
        {
            let outcome = try await site.stage.start(
                .archive,
                [
                    "keys", "enrol", name, "--server", site.endpoint, "--keys",
                    site.stage.directory.appending(path: "server-keys").path,
                ] + arguments
            ).succeeds()
            #expect(outcome.output.split(separator: "\n").count == 1)
            return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        @Test func `one line connects a box, and works once`() async throws {
            try await Stage.with { stage in
                let site = try await Site.open(on: stage, "--once")
                let line = try await line(site, "camera1")
                let listed = try await site.keys("list")
                #expect(listed.contains("camera1, once enrolled (until "))
                let box = Box(stage: stage, name: "box")
                let enrolled = try await box.enrol(line)
                #expect(enrolled.status == 0, "\(enrolled.complaints)")
                #expect(enrolled.output.contains("enrolled as camera1: this box may write camera1"))
                #expect(enrolled.output.contains("next: tributary-agent --config \(box.file)"))
                try await site.collector.says("enrolled camera1, which may write camera1")
                var status = stat()
                #expect(stat("\(box.keys)/own.key", &status) == 0)
                #expect(status.st_mode & 0o777 == 0o600)
                let secret = try #require(line.split(separator: "/").last)
                #expect(try !String(contentsOfFile: box.file, encoding: .utf8).contains(secret))

                // Another box cannot use it; the same one may repeat it.
                let thief = Box(stage: stage, name: "thief")
                let refused = try await thief.enrol(line)
                #expect(refused.status == 77)
                #expect(refused.complaintLines.count == 1)
                #expect(refused.complaints.contains("it has been used"))
                #expect(!FileManager.default.fileExists(atPath: thief.file))
                let again = try await box.enrol(line)
                #expect(again.status == 0 && again.output == enrolled.output)

                try await box.record().succeeds()
                try await site.collector.succeeds()
                #expect(try Numbers(of: "camera1", on: stage).missing == [])
                #expect(try await !site.keys("list").contains("once enrolled"))
            }
        }

        @Test func `one line connects a box to every collector of a group`() async throws {
            try await Stage.with { stage in
                let site = try await Site.open(on: stage)
                let keys = stage.directory.appending(path: "server-keys").path
                let otherKeys = stage.directory.appending(path: "other-keys").path
                let file = stage.directory.appending(path: "group.keys").path
                let endpoint = "ipc://\(stage.directory.path)/other"
                let line = try await line(
                    site, "camera1", "--server", "\(site.endpoint),\(endpoint)")
                try await stage.start(
                    .archive, ["keys", "export", "-o", file, "--keys", keys]
                ).succeeds()
                let imported = try await stage.start(
                    .archive, ["keys", "import", file, "--keys", otherKeys]
                ).succeeds()
                #expect(imported.output.contains("1 added"), "\(imported.output)")
                let box = Box(stage: stage, name: "box")

                // One of them does not run.
                let half = try await box.enrol(line)
                #expect(half.status == 1, "\(half.complaints)")
                #expect(half.complaintLines.count == 1)
                #expect(half.complaints.contains("enrolled with 1 of 2 collectors"))
                let other = try stage.start(
                    .collector,
                    [
                        "--listen", endpoint, "--keys", otherKeys, "--archive",
                        stage.directory.appending(path: "elsewhere").path,
                    ])
                try await other.says("listening on")
                let enrolled = try await box.enrol(line)
                #expect(enrolled.status == 0, "\(enrolled.complaints)")
                try await other.says("enrolled camera1, which may write camera1")
                let text = try String(contentsOfFile: box.file, encoding: .utf8)
                #expect(text.contains("\(site.endpoint),\(endpoint)"), "\(text)")
                for place in [keys, otherKeys] {
                    let list = try await stage.start(
                        .archive, ["keys", "list", "--keys", place]
                    ).succeeds()
                    #expect(!list.output.contains("once enrolled"), "\(list.output)")
                }
                other.signal(SIGINT)
                try await other.succeeds()
            }
        }

        @Test func `a box's key is found wherever the agent is started`() async throws {
            try await Stage.with { stage in
                let site = try await Site.open(on: stage)
                let line = try await line(site, "camera1")
                let box = Box(stage: stage, name: "box")
                let outcome = try await stage.run(
                    .agent, "enrol", line, "--file", box.file, "--keys", relativePath(to: box.keys))
                #expect(outcome.status == 0, "\(outcome.complaints)")
                let text = try String(contentsOfFile: box.file, encoding: .utf8)
                let keys = try #require(text.firstMatch(of: /\nkeys: (\/.*)\n/))
                var status = stat()
                #expect(stat("\(keys.1)/own.key", &status) == 0)
            }
        }

        /// Relative to the programs' working directory.
        private func relativePath(to path: String) -> String {
            let depth = FileManager.default.currentDirectoryPath.split(separator: "/").count
            return String(repeating: "../", count: depth) + path.dropFirst()
        }

        @Test func `a line ends by expiry or revocation, a changed one is refused`() async throws {
            try await Stage.with { stage in
                let site = try await Site.open(on: stage)
                let box = Box(stage: stage, name: "box")
                let first = try await line(site, "camera1", "--expires", "1h")
                try await site.collector.says("the key files have changed")
                let file = stage.directory.appending(path: "server-keys/agents/camera1.pub").path
                let text = try String(contentsOfFile: file, encoding: .utf8)
                try text.replacing(
                    /enrols-until = .*Z/, with: "enrols-until = 2020-01-01T00:00:00Z"
                )
                .write(toFile: file, atomically: true, encoding: .utf8)
                chmod(file, 0o644)
                try await site.collector.says("the key files have changed", times: 2)
                #expect(try await box.enrol(first).complaints.contains("has expired"))
                try await site.collector.says("refused: the enrolment of camera1 has expired")
                #expect(try await site.keys("list").contains("nothing: not enrolled in time"))

                let second = try await line(site, "camera1", "--sources", "camera1,door-*")
                try await site.collector.says("the key files have changed", times: 3)
                try await site.keys("revoke", "camera1")
                try await site.collector.says("the key files have changed", times: 4)
                #expect(try await box.enrol(second).complaints.contains("was revoked"))
                #expect(try await site.keys("list").contains("nothing: revoked"))

                for wrong in [String(second.dropLast()), "hello", "-"] {
                    let outcome = try await box.enrol(wrong)
                    #expect(outcome.status == 64)
                    #expect(outcome.complaints.contains("this is not an enrolment line"))
                }
                #expect(!FileManager.default.fileExists(atPath: box.file))
            }
        }

        @Test func `the line is read from standard input, and not visible in ps`() async throws {
            try await Stage.with { stage in
                let site = try await Site.open(on: stage)
                let line = try await line(site, "camera1")
                let secret = try #require(line.split(separator: "/").last)
                // No server listens there: it keeps trying.
                let elsewhere = line.replacing(/tcp:\/\/[^\/]*/, with: "tcp://127.0.0.1:1")
                let box = Box(stage: stage, name: "box")
                let waiting = try stage.start(
                    .agent, ["enrol", elsewhere, "--file", box.file, "--keys", box.keys])
                try await eventually("its arguments hold no secret") {
                    let path = "/proc/\(waiting.processIdentifier)/cmdline"
                    let words = String(
                        decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
                    return words.contains("enrol") && !words.contains(secret)
                }
                waiting.signal(SIGKILL)
                let file = stage.directory.appending(path: "line")
                try Data("\(line)\n".utf8).write(to: file)
                let process = Process()
                process.executableURL = Executable.agent.url
                process.arguments = ["enrol", "--file", box.file, "--keys", box.keys]
                process.standardInput = try FileHandle(forReadingFrom: file)
                process.standardOutput = FileHandle.nullDevice
                try process.run()
                try await eventually("the box is enrolled") { !process.isRunning }
                #expect(process.terminationStatus == 0)
                #expect(try await site.keys("list").contains("camera1"))
            }
        }
    }
}
