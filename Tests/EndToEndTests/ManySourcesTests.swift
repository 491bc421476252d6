import Foundation
import TestMedia
import Testing

extension EndToEnd {
    /// More sources than one agent may have, replayed concurrently.
    @Suite(
        .serialized, .alone,
        .enabled(if: Foreign.hasFFmpeg, "ffmpeg and ffprobe make and read the clips"))
    struct ManySourcesTests {
        @Test func `forty sources are played on one timeline, over several connections`()
            async throws
        {
            let media = try MediaFiles()
            let clip = try media.make("clip.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264)")
            let names = (1...40).map { "camera\($0)" }
            try await Stage.with { stage in
                try await stage.start(
                    .archive,
                    ["import", "--archive", stage.archive, "--segment", "1s"]
                        + Array(repeating: clip, count: 40)
                        + names.flatMap { ["--source", $0] }
                ).succeeds()
                let session = try #require(try stage.sessions.first)
                try await Stage.with { other in
                    let collector = try await other.collector("--once", "--segment", "1s")
                    let replay = try other.start(
                        .archive,
                        [
                            "replay", session.path, "--to", other.endpoint, "--speed", "max",
                            "--keep-time",
                        ])
                    for program in [replay, collector] { try await program.succeeds() }
                    try await other.start(
                        .archive, ["verify", "latest", "--archive", other.archive]
                    ).succeeds()
                    #expect(
                        try other.sessions.map(\.lastPathComponent) == [session.lastPathComponent])
                    for name in names {
                        let (originals, copies) = (
                            try stage.recordings(name), try other.recordings(name)
                        )
                        #expect(
                            copies.map(\.lastPathComponent) == originals.map(\.lastPathComponent))
                    }
                    let last = try (stage.recordings("camera40"), other.recordings("camera40"))
                    for (original, copy) in zip(last.0, last.1) {
                        #expect(
                            try await Foreign.streamHash(copy, on: other)
                                == (try await Foreign.streamHash(original, on: stage)))
                    }
                }
            }
        }
    }
}
