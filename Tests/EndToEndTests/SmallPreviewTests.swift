import Foundation
import Media
import TestMedia
import Testing

extension EndToEnd {
    /// `--preview small`: a second encoding of the same pictures, from the agent to the recordings.
    @Suite(.serialized) struct SmallPreviewTests {
        /// Checks that a session has no flaw; its report.
        private func verify(_ stage: Stage) async throws -> String {
            try await stage.start(
                .archive, ["verify", "latest", "--archive", stage.archive]
            ).succeeds().output
        }

        /// Encodes a clip with B-frames.
        private func clip(_ stage: Stage) async throws -> String {
            let clip = stage.directory.appending(path: "clip.mp4").path
            _ = try await Foreign.quiet(
                "ffmpeg",
                [
                    "-nostdin", "-v", "error", "-f", "lavfi", "-i",
                    "testsrc2=size=960x540:rate=25:duration=4", "-c:v", "libx264", "-preset",
                    "ultrafast", "-bf", "2", "-g", "25", "-pix_fmt", "yuv420p", clip,
                ], on: stage)
            return clip
        }

        @Test(.enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
        func `the preview shows pictures of the source, at their times`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once")
                try await stage.agent(
                    "door", "--video", "test", "--size", "1280x720", "--encoder-preset",
                    "ultrafast", "--preview", "small:512x512", "--duration", "4s"
                ).succeeds()
                try await collector.succeeds()
                #expect(try await verify(stage).contains("1 sources and 1 preview"))
                let main = try await PictureCodes(of: stage.recording("door"), on: stage)
                let small = try await PictureCodes(of: stage.recording("door.preview"), on: stage)
                // Every code is read, and is that of a picture of the source.
                #expect(main.captureNanoseconds.count == main.codes.count)
                #expect(small.captureNanoseconds.count == small.codes.count)
                // On a busy machine the preview begins late and has gaps, which `verify` accounts for.
                #expect(small.codes.count > 1)
                #expect(small.codes.count < main.codes.count * 6 / 10)
                #expect(
                    Set(small.captureNanoseconds).isSubset(of: main.captureNanoseconds))
                // The files begin together, so a picture has the same time in both.
                let times = Dictionary(
                    main.codes.map { ($0.captureNanoseconds, $0.presentationNanoseconds) },
                    uniquingKeysWith: { first, _ in first })
                let distances = small.codes.compactMap { code in
                    times[code.captureNanoseconds].map { abs($0 - code.presentationNanoseconds) }
                }
                #expect(try #require(distances.max()) <= 1_000_000)
                let probe = try await Foreign.probe(stage.recording("door.preview"), on: stage)
                #expect(try probe.stream(.video).width == 512)
                #expect(try probe.stream(.video).height == 288)
            }
        }

        @Test(.enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
        func `cameras of a list have previews, also of copied pictures`() async throws {
            try await Stage.with { stage in
                let file = stage.directory.appending(path: "cameras.yaml")
                try """
                collector: \(stage.endpoint)
                spool: \(stage.spool)
                encoder-preset: ultrafast
                duration: 4s
                cameras:
                  - source: hall
                    video: file:\(try await clip(stage))
                    encoder: copy
                    loop: yes
                    preview: small
                  - source: yard
                    video: test
                    audio: none
                    size: 240x426
                    fps: 10
                    preview: small
                """.write(to: file, atomically: true, encoding: .utf8)
                let collector = try await stage.collector("--once")
                try await stage.start(.agent, ["--config", file.path]).succeeds()
                try await collector.succeeds()
                #expect(try await verify(stage).contains("2 sources and 2 previews"))
                func probe(_ source: String) async throws -> Probe {
                    try await Foreign.probe(stage.recording(source), on: stage)
                }
                let hall = try await probe("hall.preview")
                #expect(try hall.stream(.video).width == 640)
                #expect(try hall.stream(.video).height == 360)
                let pictures = try hall.packets(.video).count
                let sources = try await probe("hall").packets(.video).count
                #expect(pictures > 1 && pictures < sources * 6 / 10)
                let yard = try await probe("yard.preview")
                // Never larger than its source, and never more pictures.
                #expect(try yard.stream(.video).width == 240)
                #expect(try yard.stream(.video).height == 426)
                let source = try await probe("yard")
                #expect(try yard.packets(.video).count <= source.packets(.video).count)
            }
        }

        @Test func `a preview is asked and changed by its own name, and follows its source`()
            async throws
        {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once")
                let agent = try stage.testAgent("door", "--preview", "small:160x160")
                _ = try await stage.holds(1, of: "door.preview")
                func control(_ source: String, _ words: String...) async throws -> Outcome {
                    try await stage.start(
                        .agent, ["control"] + words + ["--source", source, "--spool", stage.spool]
                    ).outcome()
                }
                let status = try await control("door.preview", "status").output
                #expect(status.contains("video 160×90 at 15 fps"), "\(status)")
                #expect(
                    try await control("door.preview", "set", "--video-bitrate", "100k").status == 0)
                let refused = try await control("door.preview", "set", "--size", "320x180")
                #expect(refused.status == 1)
                #expect(refused.complaints.contains("change the source 'door'"))
                // A narrow picture: the preview has its shape.
                #expect(try await control("door", "set", "--size", "180x320").status == 0)
                let deadline = ContinuousClock.now + Running.patience
                while try await !control("door.preview", "status").output.contains("90×160") {
                    try #require(ContinuousClock.now < deadline, "the preview keeps its shape")
                }
                agent.signal(SIGTERM)
                try await agent.succeeds()
                try await collector.succeeds()
                let report = try await verify(stage)
                #expect(report.contains("1 sources and 1 preview"), "\(report)")
            }
        }
    }
}
