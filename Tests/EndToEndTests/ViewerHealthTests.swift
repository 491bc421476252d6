import Foundation
import Testing

extension EndToEnd {
    /// A viewer under supervision, and attacks by strangers on its admission.
    @Suite(.serialized, .enabled(if: Foreign.curl != nil, "curl asks"))
    struct ViewerHealthTests {
        private static let password = "twelve letters"

        /// A viewer with the account `ann`.
        private func served(on stage: Stage) async throws -> (ServedArchive, users: String) {
            let users = stage.directory.appending(path: "users").path
            try await add("ann", to: users, on: stage)
            return (try await ServedArchive(on: stage, "--users", users), users)
        }

        private func add(
            _ name: String, to users: String, on stage: Stage, _ options: String = ""
        ) async throws {
            let script =
                "printf '\(Self.password)\\n' | '\(Executable.viewer.url.path)' users add \(name)"
                + " --users '\(users)' \(options)"
            try await stage.start(at: URL(filePath: "/bin/bash"), ["-c", script]).succeeds()
        }

        /// The statuses that bytes on one connection are answered with.
        private func statuses(
            of requests: String, from served: ServedArchive, on stage: Stage
        ) async throws -> [String] {
            let port = try #require(served.address.split(separator: ":").last)
            let script = "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '\(requests)' >&3; cat <&3"
            let output = try await stage.start(
                at: URL(filePath: "/bin/bash"), ["-c", script]
            ).succeeds().output
            return output.matches(of: /HTTP\/1\.1 ([0-9]+)/).map { String($0.1) }
        }

        @Test func `a viewer reports readiness, liveness and its stop to systemd`() async throws {
            try await Stage.with { stage in
                let manager = try ServiceListener(on: stage)
                let viewer = try manager.start(
                    .viewer, ["--archive", stage.archive, "--listen", "127.0.0.1:0"], on: stage)
                try await manager.hears("READY=1")
                for _ in 0..<3 { try await manager.hears("WATCHDOG=1") }
                viewer.signal(SIGTERM)
                try await manager.hears("STOPPING=1")
                try await viewer.succeeds()
            }
        }

        @Test func `a viewer is always alive, and ready if it can serve pictures`() async throws {
            try await Stage.with { stage in
                let served = try await ServedArchive(on: stage)
                let before = try await served.get("/readyz")
                #expect(before.status == 503)
                #expect(before.text == "no list of sessions: there is no archive yet\n")
                #expect(try await served.get("/healthz").text == "well\n")

                let collector = try await stage.collector("--once")
                let agent = try stage.testAgent("stage", "--duration", "2s")
                for program in [agent, collector] { try await program.succeeds() }
                // A result is kept for ten seconds.
                try await served.eventually("it is ready", "/readyz") { $0.status == 200 }
                let metrics = try await served.get("/metrics").text
                #expect(metrics.contains("tributary_viewer_ready 1\n"))
                #expect(
                    metrics.contains("tributary_viewer_progress_age_seconds{part=\"reading\"} "))

                let session = try #require(try stage.sessions.first)
                let source = session.appending(path: "stage")
                for name in try FileManager.default.contentsOfDirectory(atPath: source.path)
                where name.hasSuffix(".mp4") {
                    try Data(repeating: 7, count: 100_000).write(
                        to: source.appending(path: name))
                }
                let damaged = try await served.eventually("it is not", "/readyz") {
                    $0.status == 503
                }
                #expect(damaged.text.hasPrefix("no picture: "), "\(damaged.text)")
                #expect(!damaged.text.contains(stage.archive))
                #expect(try await served.get("/healthz").status == 200)
            }
        }

        @Test func `a probe needs no log-in, and learns no name`() async throws {
            try await Stage.with { stage in
                let (served, _) = try await served(on: stage)
                #expect(try await served.get("/metrics").status == 401)
                #expect(try await served.get("/readyz").status == 503)
                #expect(try await served.get("/healthz").status == 200)
                #expect(try await served.get("/readyz", "--head").status == 503)
            }
        }

        @Test func `a request needs exactly one host, and a valid one`() async throws {
            try await Stage.with { stage in
                let served = try await ServedArchive(on: stage)
                let cases = [
                    (#"Host: localhost\r\n"#, "200"), (#"hOst: localhost:1\r\n"#, "200"),
                    ("", "400"), (#"Host: localhost\r\nHost: localhost\r\n"#, "400"),
                    (#"Host: localhost\r\nHost: elsewhere.example\r\n"#, "400"),
                    (#"Host: elsewhere.example\r\nhost: localhost\r\n"#, "400"),
                    (#"Host: localhost, elsewhere.example\r\n"#, "400"),
                    (#"Host: ann@localhost\r\n"#, "400"), (#"Host:\r\n"#, "400"),
                    (#"Host: elsewhere.example\r\n"#, "421"),
                ]
                for (fields, status) in cases {
                    let request = #"GET /healthz HTTP/1.1\r\n\#(fields)Connection: close\r\n\r\n"#
                    let answers = try await statuses(of: request, from: served, on: stage)
                    #expect(answers == [status], "\(fields)")
                }
                // The target's host counts, and not the field.
                for (target, status) in [
                    ("http://localhost/healthz", "200"),
                    ("http://elsewhere.example/healthz", "421"),
                ] {
                    let request =
                        #"GET \#(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"#
                    let answers = try await statuses(of: request, from: served, on: stage)
                    #expect(answers == [status], "\(target)")
                }
                // The next request of the connection is answered.
                let two =
                    #"GET /healthz HTTP/1.1\r\n\r\n"#
                    + #"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"#
                #expect(try await statuses(of: two, from: served, on: stage) == ["400", "200"])
            }
        }

        @Test func `wrong passwords from elsewhere do not lock out an account`() async throws {
            try await Stage.with { stage in
                let (served, _) = try await served(on: stage)
                @Sendable func logIn(_ password: String, from address: String) async throws -> Int {
                    try await served.post(
                        "/api/v1/login", #"{"name": "ann", "password": "\#(password)"}"#,
                        "--interface", address
                    ).status
                }
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<10 {
                        group.addTask { try await logIn("wrong letters", from: "127.0.0.2") }
                    }
                    return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
                }
                #expect(statuses == [401, 429])
                // So many addresses that the name is verified slowly.
                for number in 3...6 {
                    for _ in 0..<5 {
                        let status = try await logIn("wrong letters", from: "127.0.0.\(number)")
                        #expect(status == 401)
                    }
                }
                #expect(try await logIn(Self.password, from: "127.0.0.1") == 200)
            }
        }

        @Test func `a link ends with the account that made it`() async throws {
            try await Stage.with { stage in
                let (served, users) = try await served(on: stage)
                try await add("ben", to: users, on: stage)
                let collector = try await stage.collector("--once")
                let agent = try stage.testAgent("stage", "--duration", "1s")
                for program in [agent, collector] { try await program.succeeds() }
                let session = try #require(try stage.sessions.first).lastPathComponent
                let clip = "/api/v1/sessions/\(session)/sources/stage/media.mp4"
                struct Link: Decodable { var address: String }
                func link(of name: String) async throws -> String {
                    let jar = stage.directory.appending(path: "\(name).cookies").path
                    let logIn = #"{"name": "\#(name)", "password": "\#(Self.password)"}"#
                    try await served.eventually(
                        "\(name) can log in", "/api/v1/login", "--header",
                        "Content-Type: application/json", "--cookie-jar", jar, "--data", logIn
                    ) { $0.status == 200 }
                    let made = try await served.post(
                        "/api/v1/links", #"{"address": "\#(clip)", "seconds": 600}"#, "--cookie",
                        jar)
                    return try JSONDecoder().decode(Link.self, from: made.body).address
                }
                let (ofAnn, ofBen) = try await (link(of: "ann"), link(of: "ben"))
                for link in [ofAnn, ofBen] { #expect(try await served.get(link).status == 200) }
                try await stage.start(
                    .viewer, ["users", "remove", "ann", "--users", users]
                ).succeeds()
                let ended = try await served.eventually("her link has ended", ofAnn) {
                    $0.status == 403
                }
                #expect(ended.text.hasPrefix("this link has ended"))
                // The same name and password, and another account.
                try await add("ann", to: users, on: stage)
                _ = try await link(of: "ann")
                #expect(try await served.get(ofAnn).status == 403)
                #expect(try await served.get(ofBen).status == 200)
            }
        }
    }
}
