import Foundation
import Media
import TestMedia
import Testing

extension EndToEnd {
    /// A recording whose picture size changes.
    @Suite(
        .serialized, .enabled(if: Foreign.hasFFmpeg, "ffmpeg and ffprobe make and read the clips"))
    struct FormatChangeTests {
        /// Two seconds of 320×180, then two of 640×360: 25 pictures a second.
        private static func clip(_ media: borrowing MediaFiles) throws -> String {
            var bytes = Data()
            for (size, offset) in [("320x180", 0), ("640x360", 2)] {
                let part = try media.make(
                    "\(size).ts",
                    "-f lavfi -i testsrc2=s=\(size):r=25:d=2 -f lavfi -i sine=f=440:r=48000:d=2 "
                        + "\(MediaFiles.h264) \(MediaFiles.aac) -output_ts_offset \(offset)")
                bytes += try Data(contentsOf: URL(filePath: part))
            }
            let whole = media.directory.appending(path: "both.ts")
            try bytes.write(to: whole)
            return whole.path
        }

        /// The width of every decoded picture.
        private static func widths(_ file: URL, on stage: Stage) async throws -> [Int] {
            let output = try await Foreign.quiet(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", "v", "-show_entries", "frame=width", "-of",
                    "csv=p=0", file.path,
                ], on: stage)
            return String(decoding: output, as: UTF8.self).split(whereSeparator: \.isNewline)
                .compactMap { Int($0.prefix { $0.isNumber }) }
        }

        private static let both =
            Array(repeating: 320, count: 50) + Array(repeating: 640, count: 50)

        @Test func `at a change of format, MPEG-TS continues, others begin a new file`()
            async throws
        {
            let media = try MediaFiles()
            let clip = try Self.clip(media)
            try await Stage.with { stage in
                let place = ["--archive", stage.archive]
                func replay(_ name: String) async throws -> Outcome {
                    try await stage.start(
                        .archive,
                        ["replay", "latest", "--to", stage.directory.appending(path: name).path]
                            + place
                    ).outcome()
                }
                try await stage.start(.archive, ["import", clip] + place).succeeds()
                try await stage.start(.archive, ["verify", "latest"] + place).succeeds()
                #expect(try stage.recordings("both").count == 2)
                func file(_ name: String) -> URL { stage.directory.appending(path: name) }

                #expect(try await replay("out.ts").status == 0)
                #expect(try await Self.widths(file("out.ts"), on: stage) == Self.both)
                let sound = try await Foreign.probe(file("out.ts"), on: stage).packets(.audio)
                #expect(sound.count > 180)

                let told = try await replay("out.mkv")
                #expect(told.status == 0)
                #expect(told.output.contains("continued in \(file("out-2.mkv").path)"))
                #expect(
                    try await Self.widths(file("out.mkv"), on: stage) == Array(Self.both.prefix(50))
                )
                #expect(
                    try await Self.widths(file("out-2.mkv"), on: stage)
                        == Array(Self.both.suffix(50)))
                // The second file's own time starts at zero.
                let begin = try await Foreign.probe(file("out-2.mkv"), on: stage)
                #expect(try begin.firstPictureNanoseconds < 100_000_000)

                try Data().write(to: file("new-2.mp4"))
                let refused = try await replay("new.mp4")
                #expect(refused.status == 1)
                #expect(refused.complaintLines.count == 1)
                #expect(refused.complaints.contains("new-2.mp4 already exists"))
            }
        }

        @Test func `one MP4 holds both formats, other copies are refused`() async throws {
            let media = try MediaFiles()
            let clip = try Self.clip(media)
            try await Stage.with { stage in
                let place = ["--archive", stage.archive]
                let out = stage.directory.appending(path: "out.mp4")
                try await stage.start(.archive, ["import", clip] + place).succeeds()
                try await stage.start(
                    .archive, ["export", "latest", "-o", out.path] + place
                ).succeeds()
                #expect(try await Self.widths(out, on: stage) == Self.both)
                // Import detects its second format again.
                try await stage.start(
                    .archive, ["import", out.path, "--at", "2026-11-20T22:40:00Z"] + place
                ).succeeds()
                let again = "2026-11-20T22-40-00.000Z"
                try await stage.start(.archive, ["verify", again] + place).succeeds()
                let second = stage.directory.appending(path: "again.mp4")
                try await stage.start(
                    .archive, ["export", again, "-o", second.path] + place
                ).succeeds()
                #expect(try await Self.widths(second, on: stage) == Self.both)
                #expect(
                    try await Foreign.streamHash(second, on: stage)
                        == (try await Foreign.streamHash(out, on: stage)))
                for name in ["copy.mkv", "copy.mp4", "copy.ts"] {
                    let copy = stage.directory.appending(path: name).path
                    let refused = try await stage.run(.archive, "remux", out.path, copy)
                    #expect(refused.status == 1)
                    #expect(refused.complaintLines.count == 1)
                    #expect(refused.complaints.contains("changes its format at"))
                    #expect(!FileManager.default.fileExists(atPath: copy))
                }
            }
        }

        @Test func `audio that changes its rate is refused`() async throws {
            let media = try MediaFiles()
            var bytes = Data()
            for rate in [48_000, 32_000] {
                let part = try media.make(
                    "\(rate).aac", "-f lavfi -i sine=f=440:r=\(rate):d=2 \(MediaFiles.aac)")
                bytes += try Data(contentsOf: URL(filePath: part))
            }
            let whole = media.directory.appending(path: "both.aac")
            try bytes.write(to: whole)
            try await Stage.with { stage in
                let outcome = try await stage.run(
                    .archive, "import", whole.path, "--archive", stage.archive)
                #expect(outcome.status == 1)
                #expect(outcome.complaintLines.count == 1)
                #expect(outcome.complaints.contains("changes its coding at"))
            }
        }
    }
}
