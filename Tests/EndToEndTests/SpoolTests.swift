import Archive
import Foundation
import Media
import Testing

extension EndToEnd {
    /// Samples saved by an agent's spool, and the reports of lost ones.
    @Suite(.serialized, .long) struct SpoolTests {
        /// Length of the collector's outage; `TRIBUTARY_LONG_TESTS=1` uses two minutes.
        private static let outage: Int =
            ProcessInfo.processInfo.environment["TRIBUTARY_LONG_TESTS"] == "1" ? 120 : 20

        /// Capture times of the pictures of all of a source's files, in order. No file has a picture twice; two files
        /// may share pictures that a killed collector had written and not acknowledged.
        private func captures(_ stage: Stage) async throws -> [Int64] {
            var all: Set<Int64> = []
            for file in try stage.recordings("camera") {
                let captures = try await PictureCodes(of: file, on: stage).captureNanoseconds
                #expect(Set(captures).count == captures.count, "a picture is there twice")
                all.formUnion(captures)
            }
            return all.sorted()
        }

        /// The losses in a source's ledgers.
        private func losses(_ stage: Stage) throws -> [LedgerEntry] {
            let layout = ArchiveLayout(root: stage.archive)
            return try layout.sessionNames().flatMap { session in
                try Ledger.read(layout.ledger(session, "camera")).entries.filter {
                    $0.kind == .gap
                }
            }
        }

        /// Pictures that are not recorded because of `cause`.
        private func samples(lostBy cause: String, _ losses: [LedgerEntry]) -> Int {
            losses.filter { $0.cause == cause }.reduce(0) { $0 + Int($1.samples ?? 0) }
        }

        /// The cause of pictures that a busy machine could not encode in time. Tests count them with the recorded ones.
        private static let overload = "encoder overload"

        private func spoolFiles(_ stage: Stage) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: stage.spool + "/camera").filter {
                $0 != "lock"
            }
        }

        @Test(.enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
        func `a killed agent's samples are sent by the next one, into the same recording`()
            async throws
        {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once")
                let agent = try stage.testAgent("camera", "--fps", "25")
                _ = try await stage.holds(3, of: "camera")
                agent.signal(SIGKILL)
                _ = try await agent.outcome()
                #expect(try !spoolFiles(stage).isEmpty)
                let again = try stage.testAgent("camera", "--fps", "25", "--duration", "3s")
                for program in [again, collector] { try await program.succeeds() }
                try await expectAudio(stage)
                #expect(try stage.sessions.count == 1)
                let numbers = try Numbers(of: "camera", on: stage)
                #expect(numbers.spools == 1)
                #expect(numbers.missing == [])
                let captures = try await captures(stage)
                #expect(captures.count >= 75 + 50)
                #expect(
                    try losses(stage).contains {
                        $0.text?.hasPrefix("the agent was not running") == true
                    })
                #expect(try spoolFiles(stage) == [])
            }
        }

        @Test(.enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
        func `samples captured without a collector survive a killed agent`() async throws {
            try await Stage.with { stage in
                let agent = try stage.testAgent("camera", "--fps", "25")
                try await agent.says("no collector at")
                try await Task.sleep(for: .seconds(4))
                agent.signal(SIGKILL)
                _ = try await agent.outcome()
                let again = try stage.testAgent("camera", "--fps", "25", "--duration", "3s")
                let collector = try await stage.collector("--once")
                for program in [again, collector] { try await program.succeeds() }
                try await expectAudio(stage)
                #expect(try Numbers(of: "camera", on: stage).missing == [])
                let captures = try await captures(stage)
                #expect(captures.count >= 75 + 75)
                // One gap: from the last batch before the kill to the next agent's first picture.
                let steps = zip(captures, captures.dropFirst()).map { $1 - $0 }
                #expect(steps.filter { $0 > 60_000_000 }.count == 1)
            }
        }

        @Test(.enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
        func `no sample is missing after the collector was away`() async throws {
            try await Stage.with { stage in
                let seconds = Self.outage + 12
                let collector = try await stage.collector()
                let agent = try stage.testAgent(
                    "camera", "--fps", "25", "--duration", "\(seconds)s")
                // Some records must be acknowledged, so that the next collector's session begins at another time.
                _ = try await stage.holds(6, of: "camera")
                collector.signal(SIGKILL)
                _ = try await collector.outcome()
                try await Task.sleep(for: .seconds(Self.outage))
                let next = try await stage.collector("--once")
                for program in [agent, next] { try await program.succeeds() }
                try await expectAudio(stage)
                let losses = try losses(stage)
                #expect(losses.allSatisfy { $0.cause == Self.overload }, "\(losses)")
                let late = samples(lostBy: Self.overload, losses)
                #expect(try await captures(stage).count + late == seconds * 25)
                #expect(try Numbers(of: "camera", on: stage).missing == [])
                #expect(try spoolFiles(stage) == [])
            }
        }

        @Test(.enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
        func `a small spool keeps the newest, and the ledger lists the rest`() async throws {
            try await Stage.with { stage in
                let seconds = Self.outage
                let agent = try stage.testAgent(
                    "camera", "--audio", "none", "--fps", "25", "--video-bitrate", "8M", "--size",
                    "640x352", "--keyframe-interval", "100ms", "--spool-limit", "1MB",
                    "--duration", "\(seconds)s")
                try await agent.says("capture ended")
                #expect(try agent.complaints.contains("(1 MB) is full"))
                let collector = try await stage.collector("--once")
                for program in [agent, collector] { try await program.succeeds() }
                try await expectAudio(stage)
                #expect(try Numbers(of: "camera", on: stage).missing == [])
                let captures = try await captures(stage)
                let losses = try losses(stage)
                let dropped = samples(lostBy: "spool full", losses)
                let late = samples(lostBy: Self.overload, losses)
                #expect(dropped > 0)
                #expect(captures.count + dropped + late == seconds * 25, "\(losses)")
                // The newest pictures are present, without other gaps than a busy machine's.
                #expect(captures.count > 50)
                let gaps = zip(captures, captures.dropFirst()).filter { $1 - $0 >= 60_000_000 }
                #expect(gaps.count <= losses.count { $0.cause == Self.overload })
            }
        }

        @Test func `a spool has one agent`() async throws {
            try await Stage.with { stage in
                let agent = try stage.testAgent("camera")
                try await agent.says("no collector at")
                let other = try await stage.testAgent("camera").outcome()
                #expect(other.status == 1)
                #expect(other.complaintLines.last?.contains("in use by another agent") == true)
                #expect(other.complaintLines.count == 1)
            }
        }

        @Test func `an agent whose spool cannot be made reports it, and records`() async throws {
            try await Stage.with { stage in
                let file = stage.directory.appending(path: "file")
                try Data().write(to: file)
                let collector = try await stage.collector("--once")
                let agent = try stage.testAgent(
                    "camera", "--spool", file.path, "--duration", "1s")
                let outcome = try await agent.succeeds()
                try await collector.succeeds()
                #expect(outcome.complaints.contains("samples are kept in memory only"))
                try await expectAudio(stage)
            }
        }
    }
}
