import Archive
import Foundation
import SyncCheck
import Testing

extension EndToEnd {
    /// Real agents whose clocks are days and hundreds of ppm apart: their recordings align within the stated bounds.
    /// `RUN_LONG_TESTS=1` records for a minute, as for the figures in SyncCheck's article.
    @Suite(
        .serialized, .alone,
        .enabled(
            if: OddClock.areThere,
            "unshare -T, faketime and python3 make the clocks; the first needs to be run as root"))
    struct OddClockTests {
        private static let isLong = ProcessInfo.processInfo.environment["RUN_LONG_TESTS"] == "1"
        private static let duration = isLong ? "60s" : "12s"

        /// Output of `tributary verify --sync --json`.
        private struct Verdict: Decodable {
            struct Measured: Decodable {
                struct Report: Decodable {
                    struct Source: Decodable {
                        var name: String
                        var soundSkew: Spread?
                    }

                    struct Pair: Decodable {
                        var first: String
                        var second: String
                        var alignment: Spread
                        var picturesBeyondBound: Int?
                    }

                    struct Spread: Decodable {
                        var minSeconds: Double
                        var p99Seconds: Double
                        var maxSeconds: Double
                    }

                    var sources: [Source]
                    var pairs: [Pair]
                    var failures: [String]
                }

                var report: Report
            }

            var isAccepted: Bool
            var measured: [Measured]
        }

        @Test func `recordings with different clocks are aligned on a quiet link`() async throws {
            // Other tests share the two cores: the target itself applies to the long run.
            try await record(delay: nil, p99: Self.isLong ? 250_000 : 1_000_000)
        }

        @Test func `recordings with different clocks align through random delay`() async throws {
            // Estimates cannot be better in the first seconds: see Timing's article.
            try await record(delay: .milliseconds(20), p99: Self.isLong ? 1_000_000 : 4_000_000)
        }

        private func record(delay: Duration?, p99: Int64) async throws {
            try await Stage.with { stage in
                let port = try DelayProxy.freePort()
                let collector = try await stage.collector(
                    "--listen", "tcp://127.0.0.1:\(port)", "--once")
                let proxy = try delay.map { try DelayProxy(to: port, atMost: $0, seed: 7) }
                let agents = try OddClock.all.map {
                    try $0.startAgent(
                        to: "tcp://127.0.0.1:\(proxy?.port ?? port)", for: Self.duration, on: stage)
                }
                for program in agents + [collector] {
                    try await program.succeeds(within: .seconds(120))
                }
                try withExtendedLifetime(proxy) { try checkBounds(on: stage) }
                try await checkAlignment(on: stage, p99: p99)
            }
        }

        /// Checks with the tool that no two sources differ by more.
        private func checkAlignment(on stage: Stage, p99: Int64) async throws {
            let clocks = try OddClock.all.flatMap { try $0.option(on: stage) }
            let outcome = try await stage.start(
                .archive, ["verify", "--archive", stage.archive, "--sync", "--json"] + clocks
            ).outcome()
            let verdict = try JSONDecoder().decode(Verdict.self, from: outcome.outputData)
            let report = try #require(verdict.measured.first?.report)
            #expect(verdict.isAccepted, "\(report.failures)")
            #expect(report.pairs.count == 3)
            for pair in report.pairs {
                print("\(pair.first) - \(pair.second): \(pair.alignment)")
                #expect(pair.alignment.p99Seconds <= Double(p99) / 1e9, "\(pair)")
                #expect(pair.picturesBeyondBound == 0)
            }
            for source in report.sources {
                let skew = try #require(source.soundSkew)
                #expect(max(-skew.minSeconds, skew.maxSeconds) <= 0.001, "\(source.name): \(skew)")
            }
        }

        /// Checks with the machine's own clock, which is the collector's: each picture is within its recording's bound
        /// of its time.
        private func checkBounds(on stage: Stage) throws {
            let layout = ArchiveLayout(root: stage.archive)
            let session = try #require(try layout.sessionNames().first)
            let zero = try SessionManifest.read(layout.manifest(session)).zeroMonotonicNanoseconds
            for clock in OddClock.all {
                let truth = try clock.truth(on: stage)
                var pictures = 0
                for path in try layout.segmentPaths(session, clock.name) {
                    let bounds = try RecordedBounds(readingFile: path)
                    var seen = Observations()
                    try RecordingReader.read(
                        path, originNanoseconds: try #require(bounds.originNanoseconds), into: &seen
                    )
                    pictures += seen.pictures.count
                    let beyond = seen.pictures.filter { picture in
                        let error =
                            picture.presentationNanoseconds + zero
                            - truth.nanoseconds(at: picture.codedNanoseconds)
                        let bound = bounds.bound(at: picture.presentationNanoseconds) ?? 0
                        return error.magnitude > bound.magnitude
                    }
                    #expect(beyond.isEmpty, "\(clock.name): \(beyond.count) pictures")
                }
                // A box that begins later than the start window has a file before zero.
                #expect(pictures >= 300)
            }
        }
    }
}
