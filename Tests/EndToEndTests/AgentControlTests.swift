import Foundation
import Media
import TestMedia
import Testing

extension EndToEnd {
    /// Agents that are commanded while they run: through their collector, and on their box.
    @Suite struct AgentControlTests {
        /// A command to the agent through the collector.
        private func ask(_ stage: Stage, _ arguments: String...) async throws -> Outcome {
            try await stage.start(
                .archive, ["agent", "camera"] + arguments + ["--archive", stage.archive]
            ).outcome()
        }

        private struct Status: Decodable {
            var isCapturing: Bool
            var video: String
            var width: Int?
            var height: Int?
            var videoBitrate: Int
            var rotation: Int
            var pictures: Int
        }

        private func status(_ stage: Stage) async throws -> Status {
            let outcome = try await ask(stage, "status", "--json")
            #expect(outcome.status == 0, "\(outcome.complaints)")
            return try JSONDecoder().decode(Status.self, from: outcome.outputData)
        }

        /// Ends agent and collector, and verifies the session.
        private func finish(
            _ stage: Stage, _ agent: Running, _ collector: Running
        ) async throws {
            agent.signal(SIGINT)
            try await agent.succeeds()
            try await collector.succeeds()
            let verification = try await stage.run(
                .archive, "verify", "latest", "--archive", stage.archive)
            #expect(verification.status == 0, "\(verification.output)\(verification.complaints)")
        }

        @Test(
            .enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"),
            .timeLimit(.minutes(2)))
        func
            `ten switches between sources of two sizes are one recording, of which every file decodes`()
            async throws
        {
            try await Stage.with { stage in
                let clip = stage.directory.appending(path: "clip.mp4").path
                _ = try await Foreign.quiet(
                    "ffmpeg",
                    [
                        "-nostdin", "-v", "error", "-f", "lavfi", "-i",
                        "testsrc2=size=480x270:rate=25:duration=20", "-c:v", "libx264", "-preset",
                        "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", clip,
                    ], on: stage)
                let collector = try await stage.collector("--once")
                let agent = try stage.testAgent("camera", "--fps", "15")
                _ = try await stage.holds(1, of: "camera")
                for number in 1...10 {
                    let isFile = number % 2 == 1
                    let outcome = try await ask(
                        stage, "set", "--video", isFile ? "file:\(clip)" : "test", "--size",
                        isFile ? "own" : "320x180")
                    #expect(outcome.status == 0, "\(outcome.complaints)")
                    let before = try await status(stage)
                    #expect(before.width == (isFile ? 480 : 320))
                    try await eventually("pictures come after switch \(number)") {
                        try stage.recordings("camera").count > number
                    }
                }
                try await finish(stage, agent, collector)
                let files = try stage.recordings("camera")
                #expect(files.count == 11)
                var sizes: [Int] = []
                for file in files {
                    try await Foreign.decode(file, on: stage)
                    let probe = try await Foreign.probe(file, on: stage)
                    sizes.append(try probe.stream(.video).width ?? 0)
                    #expect(try probe.packets(.video).first?.isKeyframe == true)
                    if Foreign.hasGStreamer {
                        _ = try await Foreign.quiet(
                            "gst-launch-1.0",
                            [
                                "-q", "filesrc", "location=\(file.path)", "!", "qtdemux", "name=d",
                                "d.video_0", "!", "queue", "!", "h264parse", "!", "avdec_h264",
                                "!", "fakesink", "d.audio_0", "!", "queue", "!", "aacparse", "!",
                                "avdec_aac", "!", "fakesink",
                            ], on: stage)
                    }
                }
                #expect(sizes == (0...10).map { $0 % 2 == 0 ? 320 : 480 })
                #expect(try Numbers(of: "camera", on: stage).missing == [])
            }
        }

        @Test(.enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
        func
            `a rotation is in the file, a keyframe comes when it is asked for, a snapshot is a JPEG`()
            async throws
        {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once")
                let agent = try stage.testAgent(
                    "camera", "--fps", "15", "--keyframe-interval", "30s")
                try await agent.says("connected to")
                try await eventually("the source is there") {
                    FileManager.default.fileExists(atPath: stage.archive + "/sessions")
                }
                _ = try await ask(stage, "keyframe")
                _ = try await stage.holds(1, of: "camera")
                let picture = stage.directory.appending(path: "picture.jpg")
                let snapshot = try await ask(stage, "snapshot", picture.path)
                #expect(snapshot.status == 0, "\(snapshot.complaints)")
                let probe = try await Foreign.quiet(
                    "ffprobe",
                    [
                        "-v", "error", "-show_entries", "stream=codec_name,width,height", "-of",
                        "csv=p=0", picture.path,
                    ], on: stage)
                #expect(String(decoding: probe, as: UTF8.self) == "mjpeg,320,180\n")

                let before = try await status(stage).pictures
                let keyframe = try await ask(stage, "keyframe")
                #expect(keyframe.status == 0, "\(keyframe.complaints)")
                try await Task.sleep(for: .milliseconds(700))
                let rotated = try await ask(stage, "set", "--rotate", "90")
                #expect(rotated.status == 0, "\(rotated.complaints)")
                try await eventually("the rotated file is there") {
                    try stage.recordings("camera").count == 2
                }
                try await finish(stage, agent, collector)
                let files = try stage.recordings("camera")
                let first = try await Foreign.probe(files[0], on: stage).packets(.video)
                let keyframes = first.indices.filter { first[$0].isKeyframe }
                #expect(keyframes.contains { $0 >= before }, "\(keyframes), asked after \(before)")
                let sides = try await files.asyncMap { file in
                    String(
                        decoding: try await Foreign.quiet(
                            "ffprobe",
                            [
                                "-v", "error", "-select_streams", "v", "-show_entries",
                                "stream_side_data=rotation", "-of", "csv=p=0", file.path,
                            ], on: stage), as: UTF8.self
                    ).trimmingCharacters(in: .whitespacesAndNewlines)
                }
                #expect(sides == ["", "-90"])
            }
        }

        @Test func `on the box the same commands are taken, and a refusal changes nothing`()
            async throws
        {
            try await Stage.with { stage in
                let agent = try stage.testAgent("camera", "--fps", "15")
                try await agent.says("no collector at")
                func control(_ arguments: String...) async throws -> Outcome {
                    try await stage.start(
                        .agent,
                        ["control"] + arguments + ["--source", "camera", "--spool", stage.spool]
                    ).outcome()
                }
                let bad = try await control(
                    "set", "--video-bitrate", "1M", "--video", "file:/nowhere.mp4")
                #expect(bad.status == 1)
                #expect(bad.complaintLines.count == 1)
                #expect(bad.complaints.contains("/nowhere.mp4"))
                let before = try await control("status", "--json")
                let status = try JSONDecoder().decode(Status.self, from: before.outputData)
                #expect(status.video == "test" && status.videoBitrate == 4_000_000)

                let good = try await control("set", "--video-bitrate", "1M", "--rotate", "180")
                #expect(good.status == 0, "\(good.complaints)")
                let stopped = try await control("stop")
                #expect(stopped.output.contains("camera: stopped"))
                let started = try await control("start", "--json")
                let after = try JSONDecoder().decode(Status.self, from: started.outputData)
                #expect(after.isCapturing && after.videoBitrate == 1_000_000)
                #expect(after.rotation == 180)

                // Nobody but the agent's user may ask.
                let socket = stage.spool + "/camera.sock"
                let mode = try FileManager.default.attributesOfItem(atPath: socket)[
                    .posixPermissions]
                #expect((mode as? NSNumber)?.intValue == 0o600)

                agent.signal(SIGINT)
                try await agent.says("capture ended (stopped)")
                agent.signal(SIGINT)
                _ = try await agent.outcome()
                let nobody = try await control("status")
                #expect(nobody.status == 1)
                #expect(nobody.complaints.contains("no agent takes commands at"))
            }
        }

        @Test func `a collector knows who is not there`() async throws {
            try await Stage.with { stage in
                let nowhere = try await ask(stage, "status")
                #expect(nowhere.status == 1)
                #expect(nowhere.complaints.contains("no collector is recording into"))
                let collector = try await stage.collector()
                let outcome = try await ask(stage, "status")
                #expect(outcome.status == 1)
                #expect(outcome.complaintLines.count == 1)
                #expect(outcome.complaints.contains("no agent sends the source camera"))
                for nonsense in [
                    ["set"], ["set", "--fps", "x"], ["set", "--rotate", "45"],
                    ["set", "--crop", "1x1"], ["set", "--control", "a"], ["set", "--mirror", "x"],
                    ["dance"], ["snapshot"],
                ] {
                    let outcome = try await stage.start(
                        .archive, ["agent", "camera"] + nonsense + ["--archive", stage.archive]
                    ).outcome()
                    #expect(outcome.status == 64, "\(nonsense): \(outcome.complaints)")
                    #expect(outcome.complaintLines.count == 1, "\(outcome.complaints)")
                }
                collector.signal(SIGTERM)
                try await collector.succeeds()
            }
        }
    }
}

extension Array {
    /// What comes of each element, one after the other.
    fileprivate func asyncMap<Result>(
        _ transform: (Element) async throws -> Result
    ) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
