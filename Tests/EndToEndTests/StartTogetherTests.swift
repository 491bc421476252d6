import Foundation
import Testing

extension EndToEnd {
    /// Files of one name start together in FFmpeg, which starts every input at its first track.
    @Suite(.serialized, .enabled(if: Foreign.hasFFmpeg, "ffmpeg is not installed"))
    struct StartTogetherTests {
        private static let size = (width: 320, height: 180)

        @Test(arguments: [true, false])
        func `files of one name start together, also of a late camera, with and without audio`(
            _ hasAudio: Bool
        ) async throws {
            try await Stage.with { stage in
                let collector = try await stage.collector("--once", "--segment", "2s")
                func agent(_ name: String, _ duration: String) throws -> Running {
                    try stage.agent(
                        name, "--video", "test", "--audio", hasAudio ? "test" : "none", "--size",
                        "320x180", "--fps", "15", "--keyframe-interval", "800ms", "--duration",
                        duration)
                }
                let first = try agent("first", "6s")
                try await Task.sleep(for: .milliseconds(600))
                let second = try agent("second", "5s")
                for program in [first, second, collector] { try await program.succeeds() }
                let files = try stage.recordings("first")
                let others = try stage.recordings("second")
                let pairs = files.compactMap { file in
                    others.first { $0.lastPathComponent == file.lastPathComponent }
                        .map { [file, $0] }
                }
                var compared = 0
                for pair in pairs {
                    var areNear = true
                    for file in pair {
                        let probe = try await Foreign.probe(file, on: stage)
                        let start = try #require(Double(probe.format.startTime))
                        let first =
                            probe.streams.filter { $0.codecType != "data" }
                            .compactMap { Double($0.startTime) }.min() ?? 0
                        // FFmpeg's limit: from a greater distance, it starts with either picture or sound.
                        areNear = areNear && first < 1
                        // Within the limit no further track is needed.
                        let expected = first < 1 ? 0 : first
                        #expect(abs(start - expected) <= 0.001, "\(file.path)")
                    }
                    let options = areNear ? [] : ["-copyts"]
                    let codes = try await SideBySide.codes(
                        pair, options, size: Self.size, on: stage)
                    #expect(codes.count >= 10)
                    SideBySide.expectEqualCodes(codes, picturesPerSecond: 15)
                    if areNear { compared += 1 }
                }
                #expect(compared >= 2)
                try await stage.start(.archive, ["verify", "--archive", stage.archive]).succeeds()
            }
        }
    }
}
