import Foundation
import Testing

extension EndToEnd {
    /// Output of programs to standard error: text, JSON and the journal's format.
    @Suite(.serialized) struct LogTests {
        private func objects(_ outcome: Outcome) throws -> [[String: String]] {
            try outcome.complaintLines.map {
                try #require(
                    try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: String],
                    "\($0)")
            }
        }

        private func lines(
            _ beginning: String, in all: [[String: String]]
        ) -> [[String: String]] {
            all.filter { $0["message"]?.hasPrefix(beginning) == true }
        }

        @Test func `in JSON every line of every program is an object`() async throws {
            try await Stage.with { stage in
                let collector = try stage.start(
                    .collector,
                    [
                        "--listen", stage.endpoint, "--archive", stage.archive, "--once",
                        "--log-format", "json",
                    ])
                try await collector.says("listening on")
                // The option has the same name in a configuration file.
                let file = stage.directory.appending(path: "agent.yaml")
                try Data("log-format: json\n".utf8).write(to: file)
                let agent = try stage.testAgent(
                    "camera", "--duration", "1s", "--config", file.path)
                let sent = try objects(try await agent.succeeds())
                #expect(sent.allSatisfy { $0["source"] == "camera" })
                #expect(sent.last?["message"] == "done: the collector has everything on disk")
                let recorded = try objects(try await collector.succeeds())
                let time = try Regex(#"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"#)
                for line in sent + recorded {
                    #expect(try time.wholeMatch(in: line["time"] ?? "") != nil, "\(line)")
                    #expect(line["level"] != nil && line["message"]?.isEmpty == false)
                }
                let session = try #require(try stage.sessions.first?.lastPathComponent)
                let finished = lines("finished ", in: recorded)
                #expect(finished.count == 1 && finished.first?["source"] == "camera")
                #expect(finished.first?["session"] == session)
                let begun = lines("recording video", in: recorded)
                #expect(begun.count == 1 && begun.first?["session"] == session)
                // Also errors before parsing, and those that end a program.
                let wrong = try objects(
                    try await stage.run(.agent, "--log-format=json", "--colour", "x"))
                #expect(wrong.count == 1 && wrong[0]["level"] == "error")
                let failed = try objects(
                    try await stage.run(
                        .archive, "verify", "nothing", "--archive", stage.archive, "--log-format",
                        "json"))
                #expect(failed.count == 1 && failed[0]["message"]?.contains("nothing") == true)
                let refused = try await stage.run(.agent, "--log-format", "xml")
                #expect(refused.status == 64)
                #expect(
                    refused.complaints.contains("'text'") || refused.complaints.contains("text"))
            }
        }

        @Test func `lines carry their priority where standard error is the journal's`() async throws
        {
            try await Stage.with { stage in
                // The file that a program's standard error goes to is what the variable names.
                let log = stage.directory.appending(path: "journal").path
                func run(_ variable: String) async throws -> [Substring] {
                    let script =
                        "exec 2>\(log); export JOURNAL_STREAM=\(variable); exec \"$@\""
                    let program = try stage.start(
                        at: URL(filePath: "/bin/sh"),
                        [
                            "-c", script, "sh", Executable.agent.url.path, "--collector",
                            stage.endpoint, "--source", "camera", "--video", "test", "--audio",
                            "none", "--size", "320x180", "--spool", stage.spool, "--duration", "1s",
                            "--linger", "1s",
                        ])
                    #expect(try await program.outcome().status == 1)
                    return try String(contentsOfFile: log, encoding: .utf8)
                        .split(separator: "\n").map { $0[...] }
                }
                let lines = try await run("$(stat -L -c %d:%i \(log))")
                #expect(lines.count > 2)
                #expect(lines.first?.hasPrefix("<6>") == true, "\(lines)")
                #expect(lines.contains { $0.hasPrefix("<4>") }, "\(lines)")
                #expect(lines.last?.hasPrefix("<3>tributary-agent: given up") == true, "\(lines)")
                // It was redirected since.
                let others = try await run("1:2")
                #expect(others.count > 2 && !others.contains { $0.hasPrefix("<") }, "\(others)")
            }
        }
    }
}
