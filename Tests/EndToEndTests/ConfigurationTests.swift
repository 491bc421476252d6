import Foundation
import Messaging
import Testing
import Trust

extension EndToEnd {
    /// Options from files: the packaged ones, and changes while a collector runs.
    @Suite(.serialized) struct ConfigurationTests {
        /// `deploy/config` of this checkout.
        private static let packaged = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "deploy/config")

        /// A packaged file's options with all commented-out ones enabled, each once.
        private func everything(of name: String) throws -> [(option: String, value: String)] {
            let text = try String(
                contentsOf: Self.packaged.appending(path: "\(name).yaml"), encoding: .utf8)
            var found: [(option: String, value: String)] = []
            for line in text.split(separator: "\n") {
                guard let match = line.wholeMatch(of: /#?([a-z][a-z-]*): ([^ ].*)/),
                    !found.contains(where: { $0.option == match.1 })
                else { continue }
                found.append((String(match.1), String(match.2)))
            }
            return found
        }

        /// The long options in a program's help.
        private func options(of program: Executable, on stage: Stage) async throws -> Set<String> {
            let help = try await stage.run(program, "--help").output
            return Set(
                help.matches(of: /^ +(?:-., )?--([a-z0-9-]+)/.anchorsMatchLineEndings())
                    .map { String($0.1) })
        }

        @Test(arguments: [
            (Executable.collector, "collector"), (.agent, "agent"), (.viewer, "viewer"),
        ])
        func `the packages' configuration has every option, and is valid`(
            program: Executable, name: String
        ) async throws {
            try await Stage.with { stage in
                let options = try everything(of: name)
                let known = try await self.options(of: program, on: stage)
                #expect(
                    Set(options.map(\.option))
                        == known.subtracting(["help", "version", "config", "check-config"]))
                // Excludes a key that the box may lack, and options of other kinds of capture.
                let given = options.filter { $0.option != "collector-key" && $0.option != "preset" }
                let file = stage.directory.appending(path: "options.yaml")
                // As the package creates it, without an account.
                let users = stage.directory.appending(path: "users")
                try Data().write(to: users)
                chmod(users.path, 0o600)
                let token = stage.directory.appending(path: "site.token")
                try Data(String(repeating: "t", count: 44).utf8).write(to: token)
                chmod(token.path, 0o600)
                try given.map { option, value in
                    switch option {
                    case "keys", "tls-certificate", "tls-key", "site-ca-file": ""
                    // For network cameras only; the configuration has one of the box.
                    case "camera-login", "camera-transport", "camera-ca", "camera-fingerprint",
                        "delay":
                        ""
                    // It needs a file, and one archive.
                    case "forward": ""
                    // Without the certificate.
                    case "rtsp": "rtsp: 127.0.0.1:8554"
                    // On an address for other machines it would require a key.
                    case "listen" where program != .viewer: "listen: tcp://127.0.0.1:5550"
                    case "feed" where program == .collector: "feed: tcp://127.0.0.1:5560"
                    case "users": "users: \(users.path)"
                    case "site-token-file": "site-token-file: \(token.path)"
                    default: "\(option): \(value)"
                    }
                }.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
                // A feed of another machine requires it.
                let key = try SecretKey.generate().publicKey.text
                let outcome = try await stage.start(
                    program,
                    ["--config", file.path, "--check-config"]
                        + (program == .viewer ? ["--collector-key", key] : [])
                ).outcome()
                #expect(outcome.status == 0, "\(outcome.complaints)")
                #expect(outcome.output == "the options are valid\n")
            }
        }

        @Test func `an invalid option in a file is reported with its line`() async throws {
            try await Stage.with { stage in
                let file = stage.directory.appending(path: "options.yaml")
                func complaint(_ text: String) async throws -> String {
                    try text.write(to: file, atomically: true, encoding: .utf8)
                    let outcome = try await stage.run(
                        .collector, "--config", file.path, "--check-config")
                    #expect(outcome.status == 64)
                    #expect(outcome.complaintLines.count == 1)
                    return outcome.complaints
                }
                let misspelt = try await complaint("segmant: 10m")
                #expect(misspelt.contains("did you mean 'segment'?"))
                let short = try await complaint("\nsegment: 0s")
                #expect(short.contains("(from \(file.path), line 2)"))
                let broken = try await complaint("listen: 'a")
                #expect(broken.contains("is not valid YAML"))
            }
        }

        @Test func `a running collector applies what may change, and logs the rest`() async throws {
            try await Stage.with { stage in
                let file = stage.directory.appending(path: "options.yaml")
                func write(_ text: String) throws {
                    try text.write(to: file, atomically: true, encoding: .utf8)
                }
                try write("keep-age: 30d")
                let collector = try await stage.collector("--config", file.path)
                try write("keep-age: 7d\nsegment: 5m\nverbose: yes")
                collector.signal(SIGHUP)
                try await collector.says(
                    "keep-age, verbose changed; segment will change at the next start")
                try write("keep-age: soon")
                collector.signal(SIGHUP)
                try await collector.says("the configuration was not changed")
                try write("keep-age: 7d\nsegment: 5m\nverbose: yes")
                collector.signal(SIGHUP)
                try await collector.says(
                    "configuration reloaded: segment will change at the next start")
                // As at the start.
                try write("keep-age: 7d\nverbose: yes")
                collector.signal(SIGHUP)
                try await collector.says("nothing has changed")
                collector.signal(SIGTERM)
                try await collector.succeeds()
            }
        }
    }
}
