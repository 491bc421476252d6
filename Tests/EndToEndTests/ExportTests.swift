import Foundation
import TestMedia
import Testing

extension EndToEnd {
    /// Import and export with the real program.
    @Suite(.serialized, .enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media"))
    struct ExportTests {
        private static let clip =
            "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 2 \(MediaFiles.aac)"

        private static func hash(_ media: borrowing MediaFiles, _ path: String) throws -> String {
            let words = ["-i", path, "-map", "0", "-c", "copy", "-f", "streamhash", "-"]
            return String(decoding: try media.run(words), as: UTF8.self)
        }

        @Test func `a clip is imported, verified and exported unchanged`() async throws {
            let media = try MediaFiles()
            let clip = try media.make("clip.mp4", Self.clip)
            let out = media.directory.appending(path: "out.mp4").path
            try await Stage.with { stage in
                let place = ["--archive", stage.archive]
                func archive(_ words: String...) async throws -> Outcome {
                    try await stage.start(.archive, words + place).succeeds()
                }
                let told = try await archive("import", clip, "--segment", "1s")
                #expect(told.output.contains("clip: video 320×180 H.264"))
                _ = try await archive("verify", "latest")
                let exported = try await archive("export", "latest", "-o", out)
                #expect(exported.output.contains("50 pictures"))
                let again = try await stage.start(
                    .archive, ["export", "latest", "-o", out] + place
                ).outcome()
                #expect(again.status == 1)
                #expect(again.complaints.contains("already exists: use --overwrite to replace it"))
                let picture = "\(out).jpg"
                _ = try await archive("extract", "latest", "--at", "1.5s", "-o", picture)
                let bytes = try Data(contentsOf: URL(filePath: picture))
                #expect(bytes.starts(with: [0xFF, 0xD8, 0xFF]))
                let stream = try await archive("extract", "latest", "--kind", "h264", "-o", "-")
                #expect(stream.outputData.starts(with: [0, 0, 0, 1]))
            }
            #expect(try Self.hash(media, out) == Self.hash(media, clip))
        }

        @Test func `Ctrl-C ends an export, without a file`() async throws {
            let media = try MediaFiles()
            let clip = try media.make(
                "clip.mp4",
                "-f lavfi -i testsrc2=s=1280x720:r=30:d=20 -c:v libx264 -preset ultrafast -g 30")
            let directory = media.directory.path
            let out = "\(directory)/out.mov"
            try await Stage.with { stage in
                let place = ["--archive", stage.archive]
                try await stage.start(.archive, ["import", clip] + place).succeeds()
                let export = try stage.start(
                    .archive, ["export", "latest", "--video-codec", "hevc", "-o", out] + place)
                func names() throws -> [String] {
                    try FileManager.default.contentsOfDirectory(atPath: directory)
                }
                try await eventually("something is written") { try names().count > 1 }
                export.signal(SIGINT)
                let outcome = try await export.outcome()
                #expect(outcome.status == 1)
                #expect(outcome.complaints == "tributary: cancelled; no file was written\n")
                #expect(try names() == ["clip.mp4"])
            }
        }
    }
}
