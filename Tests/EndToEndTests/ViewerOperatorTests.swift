import Foundation
import Testing

extension EndToEnd {
    /// Changes by operators through the viewer, refused to other accounts.
    @Suite(.serialized, .enabled(if: Foreign.curl != nil, "curl asks"))
    struct ViewerOperatorTests {
        private struct Overview: Decodable, Sendable {
            var name: String?
            var tags: [String]
            var note: String?
            var isProtected: Bool
        }

        @Test func `operators name, protect, stop and remove sessions, and command agents`()
            async throws
        {
            try await Stage.with { stage in
                let collector = try await stage.collector("--group-commands")
                let agent = try stage.testAgent("stage")
                _ = try await stage.holds(1, of: "stage")
                let session = try #require(try stage.sessions.first).lastPathComponent
                let served = try await ServedArchive(on: stage)
                let path = "/api/v1/sessions/\(session)"
                let changed = try await served.send(
                    "PATCH", path,
                    #"{"name": "Rehearsal", "addTags": ["b", "a"], "note": "x\ny", "isProtected": true}"#
                )
                #expect(changed.status == 200, "\(changed.text)")
                let overview = try JSONDecoder().decode(Overview.self, from: changed.body)
                #expect(overview.name == "Rehearsal" && overview.note == "x\ny")
                #expect(overview.tags == ["a", "b"] && overview.isProtected)
                let listed = try await stage.start(
                    .archive, ["note", session, "--archive", stage.archive]
                ).succeeds()
                #expect(listed.output.contains("Rehearsal"))
                #expect(try await served.send("PATCH", path, #"{"name": "a\nb"}"#).status == 400)
                #expect(try await served.send("PATCH", path, "{}").status == 400)
                #expect(try await served.send("PATCH", path, "[]").status == 400)

                struct Mark: Decodable {
                    var id: String
                    var atSeconds: Double
                    var text: String
                    var source: String?
                }
                struct MadeMark: Decodable {
                    var session: String
                    var mark: Mark
                }
                func marks() async throws -> [Mark] {
                    let answer = try await served.get("\(path)/marks")
                    return try JSONDecoder().decode([Mark].self, from: answer.body)
                }
                let live = try await served.send("POST", "/api/v1/marks", #"{"text": "goal"}"#)
                #expect(live.status == 201, "\(live.text)")
                let made = try JSONDecoder().decode(MadeMark.self, from: live.body)
                #expect(made.session == session && made.mark.text == "goal")
                #expect(made.mark.atSeconds > 0)
                let early = try await served.send(
                    "POST", "/api/v1/marks",
                    #"{"session": "\#(session)", "at": 0.25, "text": "<b>", "source": "stage"}"#)
                #expect(early.status == 201, "\(early.text)")
                #expect(try await marks().map(\.text) == ["<b>", "goal"])
                #expect(try await marks().first?.atSeconds == 0.25)
                let bare = try await served.send(
                    "POST", "/api/v1/marks", #"{"session": "latest", "at": 0.125, "text": ""}"#)
                #expect(bare.status == 201 && bare.text.contains(session), "\(bare.text)")
                let unnamed = try #require(try await marks().first)
                #expect(unnamed.text.isEmpty)
                #expect(
                    try await served.send("DELETE", "\(path)/marks/\(unnamed.id)").status == 204)
                for (wrong, status) in [
                    (#"{"at": 1}"#, 400), (#"{"text": "a\nb"}"#, 400),
                    (#"{"text": "x", "at": 1e300}"#, 400), (#"{"text": "x", "at": "soon"}"#, 400),
                    (#"{"text": "x", "session": ".."}"#, 400),
                    (#"{"text": "x", "session": "nobody"}"#, 404),
                    (#"{"text": "x", "source": "nobody"}"#, 404),
                ] {
                    let answer = try await served.send("POST", "/api/v1/marks", wrong)
                    #expect(answer.status == status, "\(wrong): \(answer.text)")
                }
                let byHand = try await stage.start(
                    .archive,
                    ["mark", session, "by hand", "--at", "0.5", "--archive", stage.archive]
                ).succeeds()
                #expect(byHand.output.contains("0:00.250  [stage]  <b>"), "\(byHand.output)")
                #expect(try await marks().map(\.text) == ["<b>", "by hand", "goal"])
                #expect(
                    try await served.send("DELETE", "\(path)/marks/\(made.mark.id)").status == 204)
                #expect(
                    try await served.send("DELETE", "\(path)/marks/\(made.mark.id)").status == 404)
                #expect(try await marks().map(\.text) == ["<b>", "by hand"])

                let commands = "/api/v1/sources/stage/commands"
                func command(_ json: String) async throws -> ServedArchive.Answer {
                    try await served.send("POST", commands, json)
                }
                let status = try await command(#"{"command": "status"}"#)
                #expect(status.text.contains(#""isCapturing" : true"#), "\(status.text)")
                #expect(try await command(#"{"command": "keyframe"}"#).status == 204)
                let picture = try await command(#"{"command": "snapshot"}"#)
                #expect(picture.body.starts(with: [0xFF, 0xD8, 0xFF]))
                let set = try await command(
                    #"{"command": "set", "set": {"videoBitsPerSecond": 700000, "rotation": 90}}"#)
                #expect(set.text.contains(#""videoBitsPerSecond" : 700000"#), "\(set.text)")
                #expect(set.text.contains(#""rotation" : 90"#))
                for (wrong, status) in [
                    (#"{"command": "set", "set": {"rotation": 45}}"#, 400),
                    (#"{"command": "set", "set": {"size": "17x1"}}"#, 400),
                    (#"{"command": "set"}"#, 400), (#"{"command": "reboot"}"#, 400),
                    (#"{"command": "set", "set": {"controls": {"brightness": 1}}}"#, 409),
                ] {
                    let answer = try await command(wrong)
                    #expect(answer.status == status, "\(wrong): \(answer.text)")
                }
                let nobody = try await served.send(
                    "POST", "/api/v1/sources/nobody/commands", #"{"command": "status"}"#)
                #expect(nobody.status == 404)

                #expect(try await served.send("DELETE", path).status == 409)
                let stopped = try await served.send("POST", "\(path)/stop")
                #expect(stopped.status == 200, "\(stopped.text)")
                #expect(stopped.text.contains(#""durationSeconds""#))
                #expect(try await served.send("POST", "\(path)/stop").status == 404)
                #expect(try await served.send("DELETE", path).status == 409, "it is protected")
                #expect(
                    try await served.send("PATCH", path, #"{"isProtected": false}"#).status == 200)
                let removed = try await served.send("DELETE", path)
                #expect(removed.status == 204, "\(removed.text)")
                #expect(try await served.get(path).status == 404)
                #expect(try await served.send("DELETE", path).status == 404)
                for program in [agent, collector] {
                    program.signal(SIGTERM)
                    _ = try await program.outcome()
                }
                #expect(try collector.complaints.contains("\(session) was removed, as asked"))
            }
        }

        @Test
        func `commands need the option of the collector, and the right`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector()
                let agent = try stage.testAgent("stage")
                _ = try await stage.holds(1, of: "stage")
                let session = try #require(try stage.sessions.first).lastPathComponent
                let path = "/api/v1/sessions/\(session)"
                let served = try await ServedArchive(on: stage)
                let refused = try await served.send("POST", "\(path)/stop")
                #expect(refused.status == 409 && refused.text.contains("--group-commands"))
                let users = stage.directory.appending(path: "users").path
                func token(_ name: String, _ options: String...) async throws -> String {
                    let words = ["users", "add", name, "--token", "--users", users] + options
                    let added = try await stage.start(.viewer, words).succeeds()
                    return added.output.trimmingCharacters(in: .whitespacesAndNewlines)
                }
                let guest = try await token("guest")
                let other = try await token("other", "--role", "operator", "--sources", "door")
                let guarded = try await ServedArchive(on: stage, "--users", users)
                func status(_ token: String, _ method: String, _ path: String) async throws -> Int {
                    try await guarded.ask(
                        path,
                        [
                            "--request", method, "--header", "Authorization: Bearer \(token)",
                            "--header", "Content-Type: application/json", "--data",
                            #"{"command": "status"}"#,
                        ]
                    ).status
                }
                let commands = "/api/v1/sources/stage/commands"
                #expect(try await status(guest, "POST", commands) == 403)
                #expect(try await status(guest, "PATCH", path) == 403)
                #expect(try await status(guest, "DELETE", "\(path)/marks/0000000000000000") == 403)
                #expect(try await status(guest, "DELETE", path) == 403)
                #expect(try await status(guest, "POST", "\(path)/stop") == 403)
                #expect(try await status(other, "POST", commands) == 404)
                #expect(try await status(other, "DELETE", path) == 404)
                for program in [agent, collector] {
                    program.signal(SIGTERM)
                    _ = try await program.outcome()
                }
            }
        }
    }
}
