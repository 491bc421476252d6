import Foundation
import Media
import TestMedia
import Testing

extension EndToEnd {
    /// A clip of H.265 with open groups and two slices in each picture, through the programs and read by others.
    @Suite(
        .serialized, .enabled(if: Foreign.hasFFmpeg, "ffmpeg and ffprobe make and read the clips"))
    struct H265Tests {
        private static let pictures = 200
        private static let clip =
            "-f lavfi -i testsrc2=s=320x180:r=25:d=8 -f lavfi -i sine=f=440:r=48000:d=8"
            + " -c:v libx265 -preset ultrafast -x265-params"
            + " log-level=none:keyint=25:min-keyint=25:scenecut=0:open-gop=1:bframes=3:slices=2"
            + " \(MediaFiles.aac)"

        /// Digests of decoded pictures, in order.
        private static func digests(
            _ path: String, _ words: String, _ media: borrowing MediaFiles
        ) throws -> [String] {
            let output = try media.run(
                ["-i", path] + words.split(separator: " ").map(String.init) + ["-map", "0:v"]
                    + ["-f", "framemd5", "-"])
            return String(decoding: output, as: UTF8.self).split(separator: "\n")
                .filter { !$0.hasPrefix("#") }
                .compactMap { $0.split(separator: ",").last.map(String.init) }
        }

        @Test func `it is imported, verified, decoded, cut, extracted and served`() async throws {
            let media = try MediaFiles()
            let clip = try media.make("clip.mp4", Self.clip)
            try await Stage.with { stage in
                let place = ["--archive", stage.archive]
                func file(_ name: String) -> String { stage.directory.appending(path: name).path }
                func run(_ arguments: String...) async throws -> Outcome {
                    try await stage.start(.archive, arguments + place).succeeds()
                }
                _ = try await run("import", clip, "--segment", "2s")
                let recordings = try stage.recordings("clip")
                #expect(recordings.count == 4)
                let verified = try await run("verify", "latest", "--decode")
                #expect(verified.output.contains("pictures decode"))
                #expect(try await run("show", "latest").output.contains("320×180 H.265"))
                for recording in recordings { try await Foreign.decode(recording, on: stage) }
                let entry = try await Foreign.quiet(
                    "ffprobe",
                    [
                        "-v", "error", "-select_streams", "v", "-show_entries",
                        "stream=codec_tag_string", "-of", "csv=p=0", recordings[0].path,
                    ], on: stage)
                #expect(String(decoding: entry, as: UTF8.self).hasPrefix("hvc1"))

                // All of it, and a part that begins within a group of pictures.
                let all = try Self.digests(clip, "", media)
                #expect(all.count == Self.pictures)
                _ = try await run("export", "latest", "-o", file("all.mp4"))
                try await Foreign.decode(URL(filePath: file("all.mp4")), on: stage)
                #expect(try Self.digests(file("all.mp4"), "", media) == all)
                _ = try await run(
                    "export", "latest", "--start", "3.4s", "--duration", "2s", "-o", file("cut.mp4")
                )
                try await Foreign.decode(URL(filePath: file("cut.mp4")), on: stage)
                #expect(try Self.digests(file("cut.mp4"), "", media) == Array(all[85..<135]))

                _ = try await run("extract", "latest", "-o", file("all.h265"))
                #expect(try Self.digests(file("all.h265"), "", media) == all)
                let wrong = try await stage.start(
                    .archive, ["extract", "latest", "-o", file("all.h264")] + place
                ).outcome()
                #expect(wrong.status == 1)
                #expect(wrong.complaints.contains("clip has H.265: use .h265"))
                for name in ["all.ts", "all.mkv"] {
                    _ = try await run("replay", "latest", "--to", file(name))
                    #expect(try Self.digests(file(name), "", media) == all)
                }
            }
        }

        @Test(.enabled(if: Foreign.curl != nil, "curl is not installed"))
        func `a playlist names the codec, and a picture and a clip are served`() async throws {
            let media = try MediaFiles()
            let clip = try media.make("clip.mp4", Self.clip)
            try await Stage.with { stage in
                try await stage.start(.archive, ["import", clip, "--archive", stage.archive])
                    .succeeds()
                let served = try await ServedArchive(on: stage)
                let playlist = try await served.get("/hls/latest/index.m3u8", "--location")
                #expect(playlist.status == 200)
                #expect(playlist.text.contains(/CODECS="hvc1\.1\.6\.L\d+\.90,mp4a\.40\.2"/))
                #expect(playlist.text.contains("FRAME-RATE=25"))
                let sources = "/api/v1/sessions/latest/sources/clip"
                let picture = try await served.get(
                    "\(sources)/picture.jpg?at=3.4&width=160", "--location")
                #expect(picture.status == 200)
                #expect(picture.body.starts(with: [0xFF, 0xD8]))
                let part = try await served.get(
                    "\(sources)/media.mp4?from=3.4&until=5.4", "--location")
                #expect(part.status == 200)
                let path = stage.directory.appending(path: "part.mp4")
                try part.body.write(to: path)
                try await Foreign.decode(path, on: stage)
                let all = try Self.digests(clip, "", media)
                #expect(try Self.digests(path.path, "", media) == Array(all[85..<135]))
            }
        }

        @Test func `an agent encodes it, and copies it from a file`() async throws {
            let media = try MediaFiles()
            let clip = try media.make("clip.mp4", Self.clip)
            try await Stage.with { stage in
                let collector = try await stage.collector("--once")
                let agents = try [
                    stage.agent(
                        "encoded", "--video", "test", "--encoder", "libx265", "--size", "320x180",
                        "--encoder-preset", "ultrafast", "--late", "keep", "--audio", "none",
                        "--duration", "3s"),
                    stage.agent("copied", "--video", "file:\(clip)", "--encoder", "copy"),
                ]
                for agent in agents { try await agent.succeeds() }
                try await collector.succeeds()
                try await stage.start(
                    .archive, ["verify", "latest", "--decode", "--archive", stage.archive]
                ).succeeds()
                for (source, pictures) in [("encoded", 90), ("copied", Self.pictures)] {
                    let recording = try stage.recording(source)
                    try await Foreign.decode(recording, on: stage)
                    let probe = try await Foreign.probe(recording, on: stage)
                    #expect(try probe.stream(.video).codecName == "hevc")
                    #expect(try probe.packets(.video).count == pictures)
                }
            }
        }
    }
}
