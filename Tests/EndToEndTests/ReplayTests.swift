import Foundation
import Media
import TestMedia
import Testing

extension EndToEnd {
    /// Recordings replayed by the real programs.
    @Suite(
        .serialized, .enabled(if: Foreign.hasFFmpeg, "ffmpeg and ffprobe make and read the clips"))
    struct ReplayTests {
        private static let sources = ["camera", "clip"]

        /// Records a camera and a clip with B-frames, in segments of two seconds.
        private func record(on stage: Stage, _ options: String...) async throws {
            let media = try MediaFiles()
            let clip = try media.make(
                "clip.mp4",
                "-f lavfi -i testsrc2=s=320x180:r=25:d=5 -f lavfi -i sine=f=440:r=48000:d=5"
                    + " -c:v libx264 -preset veryfast -threads 1 -bf 3 -g 25 -pix_fmt yuv420p -c:a aac"
            )
            let collector = try await stage.collector(["--once", "--segment", "2s"] + options)
            let agents = [
                try stage.testAgent("camera", "--duration", "5s"),
                try stage.agent("clip", "--video", "file:\(clip)", "--encoder", "copy"),
            ]
            for program in agents + [collector] { try await program.succeeds() }
        }

        /// Replays an input into its own collector.
        private func replay(_ input: String, on stage: Stage, _ options: String...) async throws {
            let collector = try await stage.collector("--once", "--segment", "2s")
            let replay = try stage.start(
                .archive, ["replay", input, "--to", stage.endpoint] + options)
            for program in [replay, collector] { try await program.succeeds() }
            try await stage.start(
                .archive, ["verify", "latest", "--archive", stage.archive]
            ).succeeds()
        }

        /// The payloads of all files of a source, as read by FFmpeg.
        private func payloads(_ source: String, on stage: Stage) async throws -> [String] {
            var digests: [String] = []
            for file in try stage.recordings(source) {
                let probe = try await Foreign.probe(file, on: stage)
                for kind in TrackKind.allCases {
                    digests += try probe.packets(kind).map { "\(kind) \($0.digest)" }
                }
            }
            return digests
        }

        @Test func `a replay with kept times sends no clock probes`() async throws {
            let media = try MediaFiles()
            let clip = try media.make("clip.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264)")
            try await Stage.with { stage in
                let source = stage.directory.appending(path: "imported").path
                try await stage.start(.archive, ["import", clip, "--archive", source]).succeeds()
                let collector = try await stage.collector()
                let replay = try stage.start(
                    .archive,
                    [
                        "replay", "latest", "--archive", source, "--to", stage.endpoint, "--speed",
                        "max", "--keep-time",
                    ])
                try await replay.succeeds()
                // The collector would report a connection that never sent now.
                try await collector.says("is finished")
                collector.signal(SIGTERM)
                let told = try await collector.succeeds()
                #expect(!told.complaints.contains("warning"), "\(told.complaints)")
            }
        }

        @Test(arguments: ["8", "max"])
        func `with kept times, files and media have the same times at any speed`(
            _ speed: String
        ) async throws {
            try await Stage.with { stage in
                try await record(on: stage)
                let session = try #require(try stage.sessions.first)
                try await Stage.with { other in
                    try await replay(session.path, on: other, "--speed", speed, "--keep-time")
                    #expect(
                        try other.sessions.map(\.lastPathComponent)
                            == (try stage.sessions.map(\.lastPathComponent)))
                    for source in Self.sources {
                        let originals = try stage.recordings(source)
                        let copies = try other.recordings(source)
                        #expect(
                            copies.map(\.lastPathComponent) == originals.map(\.lastPathComponent))
                        #expect(originals.count >= 3)
                        for (original, copy) in zip(originals, copies) {
                            #expect(
                                try await Foreign.streamHash(copy, on: other)
                                    == (try await Foreign.streamHash(original, on: stage)))
                            let expected = try await Foreign.probe(original, on: stage)
                            let found = try await Foreign.probe(copy, on: other)
                            for kind in TrackKind.allCases {
                                #expect(
                                    try found.packets(kind) == (try expected.packets(kind)),
                                    "\(copy.lastPathComponent) \(kind)")
                            }
                        }
                    }
                }
            }
        }

        @Test
        func `a replay as live has the same media, also of a part and repeatedly`() async throws {
            try await Stage.with { stage in
                try await record(on: stage)
                let session = try #require(try stage.sessions.first)
                try await Stage.with { other in
                    try await replay(session.path, on: other)
                    for source in Self.sources {
                        #expect(
                            try await payloads(source, on: other).sorted()
                                == (try await payloads(source, on: stage).sorted()))
                    }
                    let first = try other.sessions.count
                    try await replay(
                        session.path, on: other, "--speed", "max", "--from", "1.5s", "--until",
                        "3s",
                        "--source", "clip")
                    #expect(try other.sessions.count == first + 1)
                    let part = try #require(try other.sessions.last?.appending(path: "clip"))
                    let files = try FileManager.default.contentsOfDirectory(atPath: part.path)
                        .filter { $0.hasSuffix(".mp4") }.sorted()
                    let probe = try await Foreign.probe(part.appending(path: files[0]), on: other)
                    // From the keyframe before 1.5 s.
                    #expect(try probe.packets(.video).first?.isKeyframe == true)
                    #expect(try (35...55).contains(probe.packets(.video).count))
                }
            }
        }

        @Test func `a recorded wire gives the same recording, and a spool its records`()
            async throws
        {
            try await Stage.with { stage in
                let recording = stage.directory.appending(path: "site.wire").path
                try await record(on: stage, "--record-wire", recording)
                try await Stage.with { other in
                    try await replay(recording, on: other, "--speed", "4")
                    for source in Self.sources {
                        #expect(
                            try await payloads(source, on: other)
                                == (try await payloads(source, on: stage)))
                    }
                }
                // An agent that has no collector and is then killed.
                let agent = try stage.testAgent("lonely", "--collector", "ipc:///nowhere/collector")
                let spool = "\(stage.spool)/lonely"
                try await eventually("the spool holds something") {
                    guard FileManager.default.fileExists(atPath: spool) else { return false }
                    return try size(of: spool) > 100_000
                }
                agent.signal(SIGKILL)
                _ = try await agent.outcome()
                let before = try size(of: spool)
                try await Stage.with { other in
                    try await replay(spool, on: other, "--speed", "max")
                    #expect(try await payloads("lonely", on: other).count > 20)
                }
                #expect(try size(of: spool) == before)
            }
        }

        @Test func `two connections of a source are replayed from a recorded wire`() async throws {
            let media = try MediaFiles()
            let clip = try media.make("clip.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264)")
            try await Stage.with { stage in
                let source = stage.directory.appending(path: "imported").path
                let recording = stage.directory.appending(path: "site.wire").path
                try await stage.start(.archive, ["import", clip, "--archive", source]).succeeds()
                let collector = try await stage.collector("--record-wire", recording)
                for time in 1...2 {
                    try await stage.start(
                        .archive,
                        [
                            "replay", "latest", "--archive", source, "--to", stage.endpoint,
                            "--speed", "max",
                        ]
                    ).succeeds()
                    try await collector.says("is finished", times: time)
                }
                collector.signal(SIGTERM)
                try await collector.succeeds()
                try await Stage.with { other in
                    let again = try await other.collector()
                    let outcome = try await other.start(
                        .archive, ["replay", recording, "--to", other.endpoint, "--speed", "max"]
                    ).succeeds()
                    #expect(!outcome.output.contains("refused"), "\(outcome.output)")
                    try await again.says("is finished", times: 2)
                    again.signal(SIGTERM)
                    try await again.succeeds()
                    #expect(try await payloads("clip", on: other) == payloads("clip", on: stage))
                }
            }
        }

        private func size(of directory: String) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: directory).reduce(0) { sum, name in
                let file = URL(filePath: "\(directory)/\(name)")
                return sum + (try Data(contentsOf: file).count)
            }
        }
    }
}
