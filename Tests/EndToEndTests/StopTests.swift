import Foundation
import Media
import Testing

extension EndToEnd {
    /// Recordings when programs end early.
    @Suite(.serialized) struct StopTests {
        @Test func `SIGTERM leaves the session open, and the next collector continues it`()
            async throws
        {
            try await Stage.with { stage in
                let collector = try await stage.collector()
                let agent = try stage.testAgent("camera")
                let file = try await stage.holds(3, of: "camera")
                collector.signal(SIGTERM)
                let outcome = try await collector.succeeds()
                #expect(outcome.complaints.contains("stays open"), "\(outcome.complaints)")
                #expect(try !TopLevelBoxes(of: file, grows: true).areOrdinary)
                if Foreign.hasFFmpeg { try await Foreign.decode(file, on: stage) }
                let session = try #require(try stage.sessions.first).lastPathComponent
                for words in [["verify", session], ["ls"], ["show", session]] {
                    let told = try await stage.start(
                        .archive, words + ["--archive", stage.archive]
                    ).outcome()
                    #expect(told.status == 0, "\(words): \(told.output)\(told.complaints)")
                    if words[0] != "verify" {
                        #expect(told.output.contains("no collector is running"))
                    }
                }

                let next = try await stage.collector()
                try await next.says("resuming session \(session)")
                try await Task.sleep(for: .seconds(2))
                agent.signal(SIGINT)
                try await agent.succeeds()
                try await next.says("session \(session) is finished")
                next.signal(SIGTERM)
                try await next.succeeds()
                let names = try stage.sessions.map(\.lastPathComponent)
                #expect(names == [session])
                #expect(try stage.recordings("camera") == [file])
                #expect(try TopLevelBoxes(of: file).areOrdinary)
                #expect(try Numbers(of: "camera", on: stage).missing == [])
                let verified = try await stage.run(
                    .archive, "verify", "latest", "--archive", stage.archive)
                #expect(verified.status == 0, "\(verified.output)")
                #expect(!verified.output.contains("lost"), "\(verified.output)")
            }
        }

        @Test(.enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
        func `a growing file plays, and Ctrl-C at the collector finishes it`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector()
                let agent = try stage.testAgent("camera")
                let file = try await stage.holds(3, of: "camera")
                #expect(try !TopLevelBoxes(of: file, grows: true).areOrdinary)
                try await Foreign.decode(file, on: stage)
                #expect(try await Foreign.probe(file, on: stage).packets(.video).count >= 30)

                collector.signal(SIGINT)
                try await collector.succeeds()
                #expect(try TopLevelBoxes(of: file).areOrdinary)
                try await Foreign.decode(file, on: stage)
                try await expectAudio(stage)

                // Without a collector the agent lingers, or ends at the second interrupt.
                try await agent.says("keeping samples, trying again")
                agent.signal(SIGINT)
                try await agent.says("capture ended (stopped)")
                agent.signal(SIGINT)
                let outcome = try await agent.outcome()
                #expect(outcome.status == 1)
                #expect(outcome.complaintLines.last?.contains("given up: ") == true)
            }
        }

        @Test(.enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
        func `a collector is killed, and the next one has every picture that it had not`()
            async throws
        {
            try await Stage.with { stage in
                let collector = try await stage.collector()
                let agent = try stage.testAgent("camera", "--fps", "25", "--duration", "6s")
                let left = try await stage.holds(3, of: "camera")
                collector.signal(SIGKILL)
                #expect(try await collector.outcome().status == SIGKILL - 256)
                try await agent.says("lost the collector")
                try await Foreign.decode(left, on: stage)

                let next = try await stage.collector("--once")
                try await agent.succeeds()
                try await next.succeeds()
                #expect(try stage.sessions.count == 1)
                try await expectAudio(stage)
                let codes = try await PictureCodes(of: try stage.recording("camera"), on: stage)
                #expect(codes.captureNanoseconds.count == 150)
                #expect(Set(codes.captureNanoseconds).count == 150)
                #expect(try Numbers(of: "camera", on: stage).missing == [])
            }
        }

        @Test(.enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
        func `a killed agent returns to the same session`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once")
                let agent = try stage.testAgent("camera")
                let left = try await stage.holds(2, of: "camera")
                agent.signal(SIGKILL)
                _ = try await agent.outcome()
                try await collector.says("waiting for it")
                #expect(
                    try collector.complaints.split(separator: "\n").contains {
                        $0.contains("warning") && $0.contains("camera")
                    })
                try await Foreign.decode(left, on: stage)

                let again = try stage.testAgent("camera", "--duration", "2s")
                for program in [again, collector] { try await program.succeeds() }
                #expect(try stage.sessions.count == 1)
                for file in try stage.recordings("camera") {
                    #expect(try TopLevelBoxes(of: file).areOrdinary)
                    try await Foreign.decode(file, on: stage)
                }
                try await expectAudio(stage)
            }
        }

        @Test func `a second agent of one name is refused, and the first continues`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once")
                // The second agent makes three more attempts, with pauses of up to a second and a half.
                let first = try stage.testAgent("camera", "--duration", "10s")
                _ = try await stage.holds(1, of: "camera")
                let other = stage.directory.appending(path: "other").path
                let third = try stage.testAgent("camera", "--spool", other)
                let second = try await stage.testAgent("camera", "--spool", "none").outcome()
                #expect(second.status == 1)
                #expect(second.complaintLines.last?.contains("camera is being sent by") == true)
                #expect(second.complaintLines.last?.hasSuffix("are lost here") == true)
                let kept = try await third.outcome()
                #expect(kept.status == 1)
                #expect(kept.complaintLines.last?.contains("camera is being sent by") == true)
                #expect(
                    kept.complaintLines.last?.hasSuffix(
                        "stay in \(other)/camera and are sent at the next start") == true)
                #expect(try collector.complaints.contains("refused: the source camera"))
                for program in [first, collector] { try await program.succeeds() }
                try await expectAudio(stage)
                #expect(try collector.complaints.contains("300 pictures"))
                #expect(try stage.recordings("camera").count == 1)
            }
        }
    }
}

/// Checks with `tributary verify` that a stage's archive is intact.
func expectAudio(_ stage: Stage, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let outcome = try await stage.run(.archive, "verify", "--archive", stage.archive)
    #expect(
        outcome.status == 0, "\(outcome.output)\(outcome.complaints)",
        sourceLocation: sourceLocation)
}
