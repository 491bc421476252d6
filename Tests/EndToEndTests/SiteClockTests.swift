import Archive
import Foundation
import TestDatabases
import Testing

extension EndToEnd {
    /// Two collectors of a site whose clocks are minutes apart and differ in rate.
    @Suite(
        .serialized, .alone,
        .enabled(if: PostgreSQLServer.absence == nil, "\(PostgreSQLServer.absence ?? "")"),
        .enabled(
            if: OddClock.areThere,
            "unshare -T, faketime and python3 make the clocks; the first needs to be run as root"))
    struct SiteClockTests {
        /// A collector with a clock of its own.
        private struct Member {
            let name: String
            let offsetSeconds: Int
            /// As `faketime` writes it.
            let rate: String

            func endpoint(on stage: Stage) -> String { "ipc://\(stage.directory.path)/\(name)" }
            func archive(on stage: Stage) -> String {
                stage.directory.appending(path: "archive-\(name)").path
            }

            func start(_ catalog: String, on stage: Stage) async throws -> Running {
                let collector = try stage.start(
                    at: URL(filePath: "/usr/bin/env"),
                    [
                        // Not by `faketime` itself, which would keep signals to itself; ld.so knows $LIB.
                        "LD_PRELOAD=/usr/$LIB/faketime/libfaketime.so.1",
                        "FAKETIME=+0 x\(rate)", "unshare", "-T", "--monotonic",
                        "\(offsetSeconds)", Executable.collector.url.path, "--listen",
                        endpoint(on: stage), "--archive", archive(on: stage), "--name", name,
                        "--catalog", catalog, "--segment", "10s", "--idle-timeout", "0s",
                    ])
                try await collector.says("listening on")
                return collector
            }

            func size(of source: String, on stage: Stage) throws -> Int {
                let layout = ArchiveLayout(root: archive(on: stage))
                guard FileManager.default.fileExists(atPath: layout.sessions) else { return 0 }
                var size = 0
                for session in try layout.sessionNames() {
                    for path in try layout.segmentPaths(session, source)
                    where FileManager.default.fileExists(atPath: path) {
                        size += Int(try FileSystem.size(path))
                    }
                }
                return size
            }
        }

        private static let east = Member(name: "east", offsetSeconds: 300, rate: "0.9998")
        private static let west = Member(name: "west", offsetSeconds: 900, rate: "1.0002")

        /// A part of `tributary top --site --json`.
        private struct Overview: Decodable {
            struct Collector: Decodable {
                struct Clock: Decodable {
                    var collector: String
                    var boundSeconds: Double?
                    var skewPPM: Double?
                    var trouble: String?
                }

                var name: String
                var clocks: [Clock]?
            }

            var collectors: [Collector]

            /// Whether each has measured the other.
            var isMeasured: Bool {
                collectors.count == 2
                    && collectors.allSatisfy { collector in
                        collector.clocks?.count == 1
                            && collector.clocks?.first?.boundSeconds ?? 1 < 0.01
                    }
            }
        }

        /// A part of `tributary show --json`.
        private struct Shown: Decodable {
            struct Part: Decodable {
                var name: String
                var boundSeconds: Double
                var skewPPM: Double?
                var isMeasured: Bool
            }

            var archives: [Part]
        }

        /// A part of `tributary verify --sync --json`.
        private struct Verdict: Decodable {
            struct Measured: Decodable {
                struct Report: Decodable {
                    struct Pair: Decodable {
                        struct Spread: Decodable {
                            var minSeconds: Double
                            var maxSeconds: Double
                        }

                        var first: String
                        var second: String
                        var alignment: Spread
                        var recordedBoundSeconds: Double?
                        var picturesBeyondBound: Int?
                    }

                    var pairs: [Pair]
                    var failures: [String]
                }

                var report: Report
            }

            var isAccepted: Bool
            var measured: [Measured]
        }

        private func agent(
            _ source: String, at members: [Member], on stage: Stage
        ) throws -> Running {
            try stage.start(
                .agent,
                [
                    "--collector",
                    members.map { $0.endpoint(on: stage) }.joined(separator: ","), "--source",
                    source, "--video", "test", "--audio", "test", "--size", "320x180", "--fps",
                    "10", "--keyframe-interval", "1s", "--late", "keep", "--spool", stage.spool,
                    "--linger", "60s",
                ])
        }

        @Test(.timeLimit(.minutes(5)))
        func `a session on two collectors is on one timeline, within the summed bounds`()
            async throws
        {
            try await Stage.with { stage in
                let server = try PostgreSQLServer()
                let catalog = server.text()
                let (east, west) = (Self.east, Self.west)
                let first = try await east.start(catalog, on: stage)
                let agents = [
                    try agent("door", at: [east], on: stage),
                    try agent("hall", at: [east, west], on: stage),
                ]
                try await eventually("east records both") {
                    try ["door", "hall"].allSatisfy { try east.size(of: $0, on: stage) > 50_000 }
                }
                let second = try await west.start(catalog, on: stage)
                var overview: Overview?
                let deadline = ContinuousClock.now + Running.patience
                while overview?.isMeasured != true, ContinuousClock.now < deadline {
                    let outcome = try await stage.run(
                        .archive, "top", "--site", "--catalog", catalog, "--json")
                    let answer = try JSONDecoder().decode(AnyJSON.self, from: outcome.outputData)
                    let flaws = try JSONSchema().flaws(answer, as: "tributary top --site")
                    #expect(flaws.isEmpty, "\(flaws)")
                    overview = try JSONDecoder().decode(Overview.self, from: outcome.outputData)
                    try await Task.sleep(for: .milliseconds(300))
                }
                #expect(overview?.isMeasured == true, "\(String(describing: overview))")
                let screen = try await stage.run(
                    .archive, "top", "--site", "--once", "--catalog", catalog)
                #expect(screen.output.contains("CLOCK ±"), "\(screen.output)")

                // One source moves, and takes the session along; the other one cannot.
                let drain = try stage.start(
                    .archive, ["drain", "east", "--archive", east.archive(on: stage)])
                try await eventually("hall is recorded at west") {
                    try west.size(of: "hall", on: stage) > 150_000
                }
                drain.signal(SIGINT)
                for agent in agents { agent.signal(SIGINT) }
                for agent in agents { try await agent.succeeds() }
                for collector in [first, second] {
                    collector.signal(SIGINT)
                    try await collector.succeeds()
                }

                let names = try [east, west].map {
                    try ArchiveLayout(root: $0.archive(on: stage)).sessionNames()
                }
                #expect(names[0] == names[1], "\(names)")
                let session = try #require(names[0].first)
                let show = try await stage.run(
                    .archive, "show", session, "--catalog", catalog, "--json")
                let whole = try JSONDecoder().decode(AnyJSON.self, from: show.outputData)
                #expect(try JSONSchema().flaws(whole, as: "tributary show") == [])
                let shown = try JSONDecoder().decode(Shown.self, from: show.outputData)
                #expect(shown.archives.map(\.name) == ["east", "west"])
                let part = try #require(shown.archives.last)
                #expect(part.isMeasured)
                #expect(part.boundSeconds > 0 && part.boundSeconds < 0.01, "\(part)")
                #expect(abs(abs(part.skewPPM ?? 0) - 400) < 100, "\(part)")
                let text = try await stage.run(.archive, "show", session, "--catalog", catalog)
                #expect(text.output.contains("times moved by"), "\(text.output)")

                let verify = try await stage.run(
                    .archive, "verify", "--sync", session, "--catalog", catalog, "--json")
                #expect(verify.status == 0, "\(verify.output)\(verify.complaints)")
                let verdict = try JSONDecoder().decode(Verdict.self, from: verify.outputData)
                let pairs = verdict.measured.flatMap(\.report.pairs)
                let across = try #require(
                    pairs.first { [$0.first, $0.second] == ["door", "hall (west)"] }, "\(pairs)")
                #expect(across.picturesBeyondBound == 0, "\(across)")
                print(
                    "across: \(across.alignment), recorded ± \(across.recordedBoundSeconds ?? -1), \(part)"
                )

                // Each archive is retimed with what the other one has measured.
                for (own, other) in [(east, west), (west, east)] {
                    let retimed = try await stage.run(
                        .archive, "retime", session, "--archive", own.archive(on: stage),
                        "--archive", other.archive(on: stage))
                    #expect(retimed.status == 0, "\(retimed.complaints)")
                    #expect(
                        retimed.output.contains("\(other.name): its exchanges with hall"),
                        "\(retimed.output)")
                    print(retimed.output)
                }
                let again = try await stage.run(
                    .archive, "verify", "--sync", session, "--catalog", catalog, "--json")
                #expect(again.status == 0, "\(again.output)\(again.complaints)")
                let better = try JSONDecoder().decode(Verdict.self, from: again.outputData)
                let measured = try #require(
                    better.measured.flatMap(\.report.pairs).first {
                        [$0.first, $0.second] == ["door", "hall (west)"]
                    })
                #expect(measured.picturesBeyondBound == 0, "\(measured)")
                #expect(
                    measured.recordedBoundSeconds ?? 1 <= across.recordedBoundSeconds ?? 0,
                    "\(measured)")
            }
        }
    }
}
