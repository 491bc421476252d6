import Foundation
import TestMedia
import Testing

extension EndToEnd {
    /// Output of `--json`, validated with `proto/json/schema.json`.
    @Suite(.serialized, .enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media"))
    struct JSONOutputTests {
        /// A command line and its answer's definition in the schema.
        private struct Question {
            var definition: String
            var program: Executable
            var words: [String]

            init(_ definition: String, _ program: Executable, _ words: [String]) {
                self.definition = definition
                self.program = program
                self.words = words
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `every command's JSON matches the schema`() async throws {
            let schema = try JSONSchema()
            let media = try MediaFiles()
            let clip = try media.make(
                "film.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) \(MediaFiles.aac)")
            var asked: Set<String> = []
            try await Stage.with { stage in
                for question in try await questions(on: stage, clip: clip) {
                    asked.insert(question.definition)
                    let outcome = try await stage.start(question.program, question.words).outcome()
                    // A doctor may report problems of this machine.
                    guard outcome.status == 0 || question.definition.hasSuffix("doctor") else {
                        Issue.record("\(question.definition): \(outcome.complaints)")
                        continue
                    }
                    if let place = ProcessInfo.processInfo.environment["JSON_OUTPUT_DIRECTORY"] {
                        let name = question.definition.replacing("/", with: "-")
                        try outcome.outputData.write(to: URL(filePath: "\(place)/\(name).json"))
                    }
                    let answer = try JSONDecoder().decode(AnyJSON.self, from: outcome.outputData)
                    let flaws = schema.flaws(answer, as: question.definition)
                    #expect(flaws.isEmpty, "\(question.definition): \(flaws)")
                }
            }
            let answers = schema.definitions.keys.filter { $0.hasPrefix("tributary") }
            // The test pattern has no controls, build machines rarely have a camera, these tests have no object store and
            // no database (SharedDatabaseTests), and forwarding does not end.
            #expect(
                asked.union([
                    "tributary agent controls", "tributary store verify", "tributary forward",
                    "tributary top --site",
                ]) == Set(answers))
        }

        /// Needs a collector, an agent and a stopped session.
        private func questions(on stage: Stage, clip: String) async throws -> [Question] {
            let first = try await stage.collector(
                "--once", "--record-wire", path(stage, "first.wire"))
            let tape = try stage.testAgent("camera", "--duration", "2s")
            for program in [tape, first] { try await program.succeeds() }
            _ = try await stage.collector()
            _ = try stage.testAgent("camera")
            try await stage.grows("camera")
            let keys = ["--keys", path(stage, "keys")]
            let sink = try stage.start(
                .collector,
                ["--listen", "ipc://\(path(stage, "sink"))", "--archive", path(stage, "sunk")])
            try await sink.says("listening on")
            let into = ["--to", "ipc://\(path(stage, "sink"))"]
            let place = ["--archive", stage.archive]
            let agent = ["agent", "camera"]
            let onBox = ["--source", "camera", "--spool", stage.spool, "--json"]
            let names = try await stage.start(.archive, ["ls", "--names"] + place).succeeds()
            let session = String(names.output.split(separator: "\n").first ?? "")
            let file = try #require(try stage.recordings("camera").first).path
            func archive(_ definition: String, _ words: [String]) -> Question {
                Question("tributary \(definition)", .archive, words + ["--json"])
            }
            let alone = ["--archive", path(stage, "imported")]
            return [
                archive("ls", ["ls"] + place), archive("ls SESSION", ["ls", session] + place),
                archive("show", ["show", session] + place),
                archive("verify", ["verify", session, clip] + place),
                archive("verify --sync", ["verify", "--sync", session] + place),
                archive("inspect", ["inspect", file]),
                archive("export", ["export", session, "-o", path(stage, "a.mp4")] + place),
                archive(
                    "extract",
                    ["extract", session, "--at", "1s", "-o", path(stage, "a.png")] + place),
                archive("remux", ["remux", clip, path(stage, "a.mkv")]),
                archive("import", ["import", clip] + alone),
                archive("retime", ["retime", session] + place),
                archive("index", ["index"] + alone),
                archive("index --check", ["index", "--check"] + alone),
                archive("note", ["note", session, "--name", "Premiere", "--tag", "blue"] + place),
                archive(
                    "mark", ["mark", session, "Goal", "--at", "0.5", "--source", "camera"] + place),
                archive("replay", ["replay", session, "--speed", "max"] + into + place),
                archive(
                    "replay FILE.wire",
                    ["replay", path(stage, "first.wire"), "--speed", "max"] + into),
                archive("top", ["top"] + place),
                archive("agent status", agent + ["status"] + place),
                archive("agent set", agent + ["set", "--video-bitrate", "1M"] + place),
                archive("agent stop", agent + ["stop"] + place),
                archive("agent start", agent + ["start"] + place),
                Question("tributary-agent control status", .agent, ["control", "status"] + onBox),
                Question("tributary-agent devices", .agent, ["devices", "--json"]),
                Question(
                    "tributary-agent doctor", .agent,
                    ["doctor", "--video", "test", "--collector", stage.endpoint, "--json"]),
                archive("lost", ["lost", "west"] + place),
                archive("drain", ["drain"] + place),
                archive("stop", ["stop"] + place),
                archive("keys generate", ["keys", "generate"] + keys),
                archive(
                    "keys enrol", ["keys", "enrol", "door", "--server", "server.example"] + keys),
                archive("keys list", ["keys", "list"] + keys),
            ]
        }

        private func path(_ stage: Stage, _ name: String) -> String {
            stage.directory.appending(path: name).path
        }

        @Test func `names in the schema state their unit, and Booleans their condition`() throws {
            func look(_ schema: AnyJSON, at place: String) {
                for (name, member) in schema["properties"]?.members ?? [:] {
                    let spot = "\(place).\(name)"
                    for unit in ["Nanoseconds", "Milliseconds", "Microseconds", "PartsPerBillion"] {
                        #expect(!name.lowercased().hasSuffix(unit.lowercased()), "\(spot)")
                    }
                    if member["type"]?.text == "boolean" {
                        #expect(
                            ["is", "has", "removes"].contains { name.hasPrefix($0) }, "\(spot)")
                    }
                    look(member, at: spot)
                    if let items = member["items"] { look(items, at: "\(spot)[]") }
                }
                if let items = schema["items"] { look(items, at: "\(place)[]") }
            }
            let definitions = try JSONSchema().definitions
            #expect(definitions.count > 20)
            for (name, schema) in definitions { look(schema, at: name) }
        }

        @Test(arguments: [Executable.archive, .agent])
        func `every command that has --json is in the schema`(_ program: Executable) async throws {
            struct Dump: Decodable {
                struct Command: Decodable {
                    struct Argument: Decodable {
                        struct Name: Decodable { var name: String }
                        var names: [Name]?
                    }

                    var commandName: String
                    var arguments: [Argument]?
                    var subcommands: [Command]?
                }

                var command: Command
            }
            func paths(_ command: Dump.Command, below place: [String]) -> [String] {
                let path = place + [command.commandName]
                let names = (command.arguments ?? []).flatMap { $0.names ?? [] }.map(\.name)
                return (names.contains("json") ? [path.joined(separator: " ")] : [])
                    + (command.subcommands ?? []).flatMap { paths($0, below: path) }
            }
            let answers = try JSONSchema().definitions.keys
            try await Stage.with { stage in
                // The agent program contains several commands.
                let roots = program == .agent ? [["devices"], ["doctor"], ["control"]] : [[]]
                var found: [String] = []
                for words in roots {
                    let dump = try await stage.start(program, words + ["--experimental-dump-help"])
                        .succeeds()
                    let root = try JSONDecoder().decode(Dump.self, from: dump.outputData).command
                    let place = words.isEmpty ? [] : [program.rawValue]
                    found += paths(root, below: place)
                }
                #expect(found.count > 2)
                for path in found {
                    // The same commands and answers as through the collector.
                    let known = path.replacing("tributary-agent control", with: "tributary agent")
                    #expect(
                        answers.contains { $0 == known || $0.hasPrefix("\(known) ") }, "\(path)")
                }
            }
        }
    }
}
