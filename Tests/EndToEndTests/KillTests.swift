import Archive
import Foundation
import Testing

extension EndToEnd {
    /// Programs killed at random: delivered samples are recorded once, and missing ones are in the ledger.
    @Suite(.serialized) struct KillTests {
        private static let names = ["door", "hall", "stage"]

        /// Number of kills: a few, or hundreds with `KILLS=200`.
        private static let kills =
            ProcessInfo.processInfo.environment["KILLS"].flatMap(Int.init) ?? 5

        private enum Victim: CaseIterable {
            case collector, agent, both
        }

        @Test
        func `after random kills, every missing sample is in a ledger`() async throws {
            try await Stage.with { stage in
                var collector = try await start(on: stage)
                var agents: [String: Running] = [:]
                for name in Self.names { agents[name] = try agent(name, on: stage) }
                try await stage.grows(Self.names[0])
                var killed = Dictionary(uniqueKeysWithValues: Self.names.map { ($0, 0) })
                for round in 1...Self.kills {
                    try await Task.sleep(for: .milliseconds(Int.random(in: 50...2_000)))
                    let victim = Victim.allCases.randomElement() ?? .both
                    let name = Self.names.randomElement() ?? Self.names[0]
                    if victim != .agent { collector.signal(SIGKILL) }
                    if victim != .collector { agents[name]?.signal(SIGKILL) }
                    if victim != .collector {
                        _ = try await agents[name]?.outcome()
                        killed[name, default: 0] += 1
                    }
                    if victim != .agent {
                        _ = try await collector.outcome()
                        try await expectPlayable(stage, decoding: round % 20 == 1)
                        try await Task.sleep(for: .milliseconds(Int.random(in: 0...700)))
                        collector = try await start(on: stage)
                    }
                    if victim != .collector { agents[name] = try agent(name, on: stage) }
                }
                // A program that is only just starting would end with the signal's status.
                for agent in agents.values { try await agent.says("connected to") }
                try await Task.sleep(for: .seconds(2))
                for agent in agents.values { agent.signal(SIGINT) }
                for agent in agents.values { try await agent.succeeds() }
                try await collector.succeeds()
                try await expectAudio(stage)
                #expect(try stage.sessions.count == 1)
                for name in Self.names {
                    #expect(try Numbers(of: name, on: stage).missing == [], "\(name)")
                    try await expectExplained(name, kills: killed[name] ?? 0, on: stage)
                }
            }
        }

        private func start(on stage: Stage) async throws -> Running {
            try await stage.collector("--once", "--segment", "10s", "--idle-timeout", "0s")
        }

        private func agent(_ name: String, on stage: Stage) throws -> Running {
            // Late pictures are kept: on a busy machine an encoder may stall for a second, independent of any kill.
            try stage.testAgent(name, "--fps", "10", "--late", "keep")
        }

        /// Every file of an archive plays after its collector was killed.
        private func expectPlayable(_ stage: Stage, decoding: Bool) async throws {
            for name in Self.names {
                let files = try stage.recordings(name)
                for file in files {
                    let report = FileVerifier.verify(file.path).report
                    #expect(report.fragments > 0, "\(file.path)")
                    #expect(
                        report.findings.allSatisfy { $0.severity == .note }, "\(report.findings)")
                }
                if decoding, Foreign.hasFFmpeg, let newest = files.last {
                    // While a file is being finished, both its first index and the final one exist; both are right.
                    try await Foreign.decode(newest, ignoring: "duplicated MOOV", on: stage)
                }
            }
        }

        /// Where pictures are missing, the ledger says that the agent was not running; nothing else is missing.
        private func expectExplained(_ name: String, kills: Int, on stage: Stage) async throws {
            let layout = ArchiveLayout(root: stage.archive)
            let session = try #require(try layout.sessionNames().first)
            let gaps = try Ledger.read(layout.ledger(session, name)).entries.filter {
                $0.kind == .gap
            }
            #expect(gaps.allSatisfy { $0.cause == "restart" }, "\(gaps)")
            // An agent killed before its first sample leaves no gap to report. Tracks may have gaps of their own.
            for (_, own) in Dictionary(grouping: gaps, by: \.track) {
                #expect(own.count <= kills, "\(name)")
            }
            #expect(kills == 0 || !gaps.isEmpty, "\(name)")
            guard Foreign.hasFFmpeg else { return }
            let zero = try SessionManifest.read(layout.manifest(session)).zeroMonotonicNanoseconds
            var captures: [Int64] = []
            for file in try stage.recordings(name) {
                captures += try await PictureCodes(of: file, on: stage).captureNanoseconds
            }
            #expect(Set(captures).count == captures.count, "a picture is there twice")
            captures.sort()
            for (before, after) in zip(captures, captures.dropFirst())
            where after - before > 150_000_000 {
                let isExplained = gaps.contains { gap in
                    guard let start = gap.startNanoseconds else { return false }
                    let end = start + Int64(gap.durationNanoseconds ?? 0)
                    // The ledger's times are of the estimated clock.
                    return start - 150_000_000 <= before - zero && after - zero <= end + 150_000_000
                }
                #expect(isExplained, "\(name): nothing from \(before - zero) to \(after - zero) ns")
            }
        }
    }
}
