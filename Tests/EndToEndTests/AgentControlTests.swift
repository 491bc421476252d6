import Devices
import Foundation
import Media
import TestMedia
import Testing

extension EndToEnd {
    /// Commands to running agents, through their collector and on their box.
    @Suite(.serialized) struct AgentControlTests {
        /// Sends a command to the agent through the collector.
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
            var videoBitsPerSecond: Int
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
                    // Before the file's start there is only the encoder's priming packet, hidden by the edit list.
                    let hidden = try probe.packets(.audio).filter {
                        $0.ptsNanoseconds < -500_000
                    }
                    #expect(hidden.count <= 1)
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
                try await isKnown(agent, stage)
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

        @Test(.enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
        func `crop and rotation given at the start are in the file`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once")
                let agent = try stage.testAgent(
                    "camera", "--duration", "500ms", "--crop", "160x90+80+44", "--rotate", "180")
                try await agent.succeeds()
                try await collector.succeeds()
                let shown = try await Foreign.quiet(
                    "ffprobe",
                    [
                        "-v", "error", "-select_streams", "v", "-show_entries",
                        "stream=width,height:stream_side_data=rotation", "-of", "csv=p=0",
                        try stage.recording("camera").path,
                    ], on: stage)
                #expect(String(decoding: shown, as: UTF8.self).hasPrefix("160,90,-180"))
            }
        }

        @Test(.enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
        func `a requested keyframe is one of the next two pictures`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once")
                let agent = try stage.testAgent(
                    "camera", "--fps", "15", "--keyframe-interval", "60s")
                try await isKnown(agent, stage)
                try await captures(10, more: 0, stage)
                let keyframe = try await ask(stage, "keyframe")
                let asked = MonotonicClock().nowNanoseconds
                #expect(keyframe.status == 0, "\(keyframe.complaints)")
                try await captures(10, more: try await status(stage).pictures, stage)
                try await finish(stage, agent, collector)
                let file = try stage.recording("camera")
                let keyframes = try await Foreign.probe(file, on: stage).packets(.video)
                    .enumerated()
                    .filter(\.element.isKeyframe).map(\.offset)
                // The second keyframe comes from this test's request alone.
                #expect(keyframes.count == 2 && keyframes.first == 0, "\(keyframes)")
                let times = try await PictureCodes(of: file, on: stage).captureNanoseconds
                let next = try #require(times.firstIndex { $0 > asked })
                #expect(try #require(keyframes.last) <= next + 1, "asked before \(next)")
            }
        }

        @Test(
            .enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"),
            .timeLimit(.minutes(2)))
        func `a changed bitrate applies to what is recorded from then on`() async throws {
            try await Stage.with { stage in
                // Noise uses the whole bitrate.
                let clip = try await clip(
                    "color=gray:size=320x180:rate=15:duration=4,noise=alls=60:allf=t", on: stage)
                let collector = try await stage.collector("--once")
                let agent = try stage.agent(
                    "camera", "--video", "file:\(clip)", "--loop", "--encoder", "libx264",
                    "--encoder-preset", "ultrafast", "--video-bitrate", "2M", "--video-max-bitrate",
                    "2M")
                try await isKnown(agent, stage)
                // The new rate is reached this many pictures after a change.
                let (settling, measured) = (20, 30)
                var begins: [Int] = []
                let rates = [2_000_000, 500_000, 3_000_000]
                for (place, rate) in rates.enumerated() {
                    if place > 0 {
                        let set = try await ask(stage, "set", "--video-bitrate", "\(rate)")
                        #expect(set.status == 0, "\(set.complaints)")
                    }
                    begins.append(
                        (place == 0 ? 0 : try await status(stage).pictures) + settling)
                    try await captures(measured + 1, more: begins[place], stage)
                }
                try await finish(stage, agent, collector)
                var sizes: [Int] = []
                for file in try stage.recordings("camera") {
                    let listed = try await Foreign.quiet(
                        "ffprobe",
                        [
                            "-v", "error", "-select_streams", "v", "-show_entries", "packet=size",
                            "-of", "csv=p=0", file.path,
                        ], on: stage)
                    sizes += String(decoding: listed, as: UTF8.self)
                        .split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) }
                }
                for (begin, rate) in zip(begins, rates) {
                    let bytes = sizes[begin..<begin + measured].reduce(0, +)
                    let recorded = bytes * 8 * 15 / measured
                    #expect(
                        abs(recorded - rate) < rate * 3 / 10,
                        "\(recorded) bit/s recorded where \(rate) were asked for")
                }
            }
        }

        @Test(.enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
        func `changes that need an encoder are refused for copied pictures`() async throws {
            try await Stage.with { stage in
                let clip = try await clip("testsrc2=size=320x180:rate=15:duration=4", on: stage)
                let collector = try await stage.collector("--once")
                let agent = try stage.agent(
                    "camera", "--video", "file:\(clip)", "--loop", "--encoder", "copy")
                try await isKnown(agent, stage)
                try await captures(5, more: 0, stage)
                let picture = stage.directory.appending(path: "picture.jpg").path
                for (words, reason) in [
                    (["set", "--video-bitrate", "1M", "--rotate", "90"], "keeps its bitrate"),
                    (["snapshot", picture], "no snapshot is possible"),
                    (["keyframe"], "keyframes cannot be requested"),
                ] {
                    let outcome = try await stage.start(
                        .archive, ["agent", "camera"] + words + ["--archive", stage.archive]
                    ).outcome()
                    #expect(outcome.status == 1 && outcome.complaintLines.count == 1)
                    #expect(outcome.complaints.contains(reason), "\(outcome.complaints)")
                    #expect(outcome.complaints.contains("--encoder libx264"))
                }
                let after = try await status(stage)
                #expect(after.rotation == 0 && after.isCapturing)
                try await finish(stage, agent, collector)
                #expect(try stage.recordings("camera").count == 1)
            }
        }

        /// Waits until the collector accepts commands to the agent.
        private func isKnown(_ agent: Running, _ stage: Stage) async throws {
            try await agent.says("connected to")
            try await eventually("the source is there") {
                FileManager.default.fileExists(atPath: stage.archive + "/sessions")
            }
        }

        /// Waits until `count` more pictures than `before` have been captured.
        private func captures(_ count: Int, more before: Int, _ stage: Stage) async throws {
            let deadline = ContinuousClock.now + Running.patience
            while try await status(stage).pictures < before + count {
                guard ContinuousClock.now < deadline else {
                    throw StageFailure(description: "waited too long for \(count) pictures")
                }
                try await Task.sleep(for: .milliseconds(200))
            }
        }

        /// A file encoded from a libavfilter source.
        private func clip(_ source: String, on stage: Stage) async throws -> String {
            let path = stage.directory.appending(path: "clip.mp4").path
            _ = try await Foreign.quiet(
                "ffmpeg",
                [
                    "-nostdin", "-v", "error", "-f", "lavfi", "-i", source, "-c:v", "libx264",
                    "-preset", "ultrafast", "-g", "15", "-bf", "0", "-pix_fmt", "yuv420p", path,
                ], on: stage)
            return path
        }

        @Test func `control accepts the same commands, and refusals change nothing`() async throws {
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
                #expect(status.video == "test" && status.videoBitsPerSecond == 4_000_000)

                let good = try await control("set", "--video-bitrate", "1M", "--rotate", "180")
                #expect(good.status == 0, "\(good.complaints)")
                let stopped = try await control("stop")
                #expect(stopped.output.contains("camera: stopped"))
                let started = try await control("start", "--json")
                let after = try JSONDecoder().decode(Status.self, from: started.outputData)
                #expect(after.isCapturing && after.videoBitsPerSecond == 1_000_000)
                #expect(after.rotation == 180)

                // Only the agent's user may connect.
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
                #expect(nobody.complaints.contains("no agent is listening at"))
            }
        }

        @Test func `a control socket replaces no file, and a snapshot no device`() async throws {
            try await Stage.with { stage in
                let file = stage.directory.appending(path: "precious")
                try Data("mine".utf8).write(to: file)
                let deaf = try stage.testAgent("camera", "--control-socket", file.path)
                try await deaf.says(
                    "no control socket, so this agent takes no local commands: \(file.path): ipc://\(file.path) exists and is not a socket"
                )
                deaf.signal(SIGKILL)
                _ = try await deaf.outcome()
                let collector = try await stage.run(
                    .collector, "--listen", "ipc://\(file.path)", "--archive", stage.archive)
                #expect(collector.status == 1 && collector.complaintLines.count == 1)
                #expect(collector.complaints.contains("not a socket: choose another path"))
                #expect(try String(contentsOf: file, encoding: .utf8) == "mine")

                let fifo = stage.directory.appending(path: "fifo").path
                #expect(mkfifo(fifo, 0o600) == 0)
                let agent = try stage.testAgent("camera")
                try await agent.says("no collector at")
                let snapshot = try await stage.run(
                    .agent, "control", "snapshot", fifo, "--source", "camera", "--spool",
                    stage.spool)
                #expect(snapshot.status == 1)
                #expect(snapshot.complaints.contains("it is not a regular file"))
                var status = stat()
                #expect(lstat(fifo, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
                agent.signal(SIGKILL)
                _ = try await agent.outcome()
            }
        }

        private struct View: Decodable {
            struct Source: Decodable {
                var isStopped: Bool
                var lagSeconds: Double?
                var spoolBytes: Double?
                var persistedAgeSeconds: Double
            }
            var sources: [Source]
        }

        private func top(_ stage: Stage) async throws -> View.Source? {
            let json = try await stage.start(
                .archive, ["top", "--json", "--archive", stage.archive]
            ).succeeds()
            return try JSONDecoder().decode(View.self, from: json.outputData).sources.first
        }

        @Test func `a camera stopped by command is shown as stopped, not late`() async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once")
                let agent = try stage.testAgent("camera")
                _ = try await stage.holds(1, of: "camera")
                #expect(try await top(stage)?.isStopped == false)
                let unknown = try await stage.run(
                    .archive, "agent", "door", "status", "--archive", stage.archive)
                #expect(
                    unknown.complaints.contains("is sending the source door; connected: camera")
                )
                let other = try await stage.run(
                    .agent, "control", "status", "--spool", stage.spool, "--source", "door")
                #expect(
                    other.complaints.contains("running with this spool: camera; choose one with"))
                let stopped = try await ask(stage, "stop")
                #expect(stopped.status == 0)
                #expect(stopped.output.contains("camera: stopped (pictures: test, sound: test)"))
                var shown: View.Source?
                let deadline = ContinuousClock.now + Running.patience
                repeat {
                    shown = try await top(stage)
                } while (shown?.isStopped != true || shown?.spoolBytes != 0)
                    && ContinuousClock.now < deadline
                let source = try #require(shown)
                #expect(source.isStopped)
                #expect(source.lagSeconds == nil)
                // The spool's file exists; the collector has all its records.
                #expect(source.spoolBytes == 0)
                #expect(source.persistedAgeSeconds == 0)
                #expect(try await ask(stage, "status").output.contains("0 B kept on the box"))
                let table = try await stage.run(.archive, "top", "--archive", stage.archive)
                #expect(table.output.contains("\ncamera  stopped"), "\(table.output)")
                let started = try await ask(stage, "start")
                #expect(started.status == 0)
                try await stage.grows("camera")
                #expect(try await top(stage)?.isStopped == false)
                try await finish(stage, agent, collector)
            }
        }

        @Test func `commands for an absent agent or collector are refused`() async throws {
            try await Stage.with { stage in
                let nowhere = try await ask(stage, "status")
                #expect(nowhere.status == 1)
                #expect(nowhere.complaints.contains("no collector is running on \(stage.archive)"))
                let collector = try await stage.collector()
                let outcome = try await ask(stage, "status")
                #expect(outcome.status == 1)
                #expect(outcome.complaintLines.count == 1)
                #expect(outcome.complaints.contains("no agent is sending the source camera"))
                #expect(outcome.complaints.contains("no agent is connected"))
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
    /// Results of the elements, transformed in order.
    fileprivate func asyncMap<Result>(
        _ transform: (Element) async throws -> Result
    ) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
