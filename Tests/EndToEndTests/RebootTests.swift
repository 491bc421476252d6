import Archive
import Foundation
import SyncCheck
import Testing

extension EndToEnd {
    /// A server that is started again with another monotonic clock and a wrong wall clock, while agents go on: real processes in
    /// time namespaces. The codes in the pictures say when they were captured.
    @Suite(
        .serialized, .alone,
        .enabled(
            if: OddClock.areThere,
            "unshare -T, faketime and python3 make the clocks; the first needs to be run as root"))
    struct RebootTests {
        /// What the server's clocks show beyond the machine's: seconds.
        private struct Boot {
            var monotonic: Int
            var wall: Int
        }

        private static let boots = [
            Boot(monotonic: 50_000, wall: 0), Boot(monotonic: 900, wall: 31),
            Boot(monotonic: 7_000, wall: -29), Boot(monotonic: 20, wall: -34),
            Boot(monotonic: 300, wall: 27),
        ]
        private static let names = ["one", "two"]

        @Test func `after each reboot of the server, time goes on where it was`() async throws {
            try await Stage.with { stage in
                var collector = try await start(Self.boots[0], on: stage)
                let agents = try Self.names.map { try stage.testAgent($0, "--fps", "10") }
                for name in Self.names { try await stage.grows(name) }
                let layout = ArchiveLayout(root: stage.archive)
                let session = try #require(try layout.sessionNames().first)
                // Zero on this machine's clock, which is the agents'.
                let zero =
                    try SessionManifest.read(layout.manifest(session)).zeroMonotonicNanoseconds
                    - Int64(Self.boots[0].monotonic) * 1_000_000_000
                for boot in Self.boots.dropFirst() {
                    try await Task.sleep(for: .seconds(4))
                    collector.signal(SIGKILL)
                    _ = try await collector.outcome()
                    try await Task.sleep(for: .seconds(1))
                    collector = try await start(boot, on: stage)
                    for name in Self.names { try await stage.grows(name) }
                }
                try await Task.sleep(for: .seconds(4))
                for agent in agents { agent.signal(SIGINT) }
                for agent in agents { try await agent.succeeds() }
                try await collector.succeeds(within: .seconds(60))
                #expect(try layout.sessionNames() == [session])
                try expectTruth(zero, session, layout)
                let before = try contents(session, layout)
                try await tributary("verify", on: stage)
                try await tributary("retime", "latest", on: stage)
                #expect(try contents(session, layout) != before)
                try expectTruth(zero, session, layout)
                try await tributary("verify", on: stage)
                try await tributary("retime", "latest", "--undo", on: stage)
                #expect(try contents(session, layout) == before)
            }
        }

        private func start(_ boot: Boot, on stage: Stage) async throws -> Running {
            let clocks = [
                "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1", "unshare", "-T",
                "--monotonic", "\(boot.monotonic)", "--boottime", "\(boot.monotonic)", "faketime",
                "-f", "\(boot.wall < 0 ? "" : "+")\(boot.wall)s",
            ]
            let collector = try stage.start(
                at: URL(filePath: "/usr/bin/env"),
                clocks + [
                    Executable.collector.url.path, "--listen", stage.endpoint, "--archive",
                    stage.archive, "--once", "--segment", "10s", "--idle-timeout", "0s",
                ])
            try await collector.says("listening on")
            return collector
        }

        private func tributary(_ words: String..., on stage: Stage) async throws {
            try await stage.start(.archive, words + ["--archive", stage.archive]).succeeds()
        }

        private func contents(_ session: String, _ layout: ArchiveLayout) throws -> [Data] {
            try Self.names.flatMap { try layout.segmentPaths(session, $0) }
                .map { try Data(contentsOf: URL(filePath: $0)) }
        }

        /// No picture is further from its place than its recording says; and no recording says much.
        private func expectTruth(
            _ zero: Int64, _ session: String, _ layout: ArchiveLayout
        ) throws {
            for name in Self.names {
                var pictures = 0
                var greatest: (error: Int64, bound: Int64) = (0, 0)
                var last: (coded: Int64, presented: Int64)?
                for path in try layout.segmentPaths(session, name) {
                    let bounds = try RecordedBounds(readingFile: path)
                    var seen = Observations()
                    try RecordingReader.read(
                        path, originNanoseconds: try #require(bounds.originNanoseconds), into: &seen
                    )
                    pictures += seen.pictures.count
                    for picture in seen.pictures {
                        let error =
                            picture.presentationNanoseconds + zero - picture.codedNanoseconds
                        let bound = bounds.bound(at: picture.presentationNanoseconds) ?? 0
                        greatest.error = max(greatest.error, abs(error))
                        greatest.bound = max(greatest.bound, bound)
                        #expect(
                            abs(error) <= bound + 1_000_000,
                            "\(name): \(error) ns off, the bound is \(bound) ns")
                        if let last {
                            let captured = picture.codedNanoseconds - last.coded
                            let shown = picture.presentationNanoseconds - last.presented
                            #expect(
                                abs(shown - captured) <= 1_000_000 + abs(captured) / 900,
                                "\(name): \(captured) ns became \(shown) ns")
                        }
                        last = (picture.codedNanoseconds, picture.presentationNanoseconds)
                    }
                }
                #expect(pictures >= 150)
                #expect(greatest.error < 5_000_000)
                print(
                    "\(name): \(pictures) pictures, at most \(greatest.error) ns off, "
                        + "bounds up to \(greatest.bound) ns")
            }
        }
    }
}
