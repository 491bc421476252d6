import Foundation
import TestMedia
import Testing

extension EndToEnd {
    /// Segments joined in order equal a recording in one file.
    @Suite(.serialized, .enabled(if: Foreign.hasFFmpeg, "ffmpeg makes, joins and decodes"))
    struct ConcatenationTests {
        private static let seconds = 11
        private static let pictures = 25 * seconds

        /// A decoder's output: the digest of each picture, and all sound (S16, two bytes a frame).
        private struct Decoded: Equatable {
            var pictures: [Substring]
            var sound: Data

            init(_ input: [String], on stage: Stage) async throws {
                // It warns that it has no decoder for timecode tracks.
                let quietly = ["-nostdin", "-v", "error"] + input
                let hashes = try await Foreign.quiet(
                    "ffmpeg",
                    quietly + [
                        "-map", "0:v", "-fps_mode", "passthrough", "-enc_time_base", "-1", "-f",
                        "framemd5", "-",
                    ], on: stage)
                pictures = String(decoding: hashes, as: UTF8.self).split(separator: "\n")
                    .filter { !$0.hasPrefix("#") }
                    .compactMap { $0.split(separator: ",").last }
                sound = try await Foreign.quiet(
                    "ffmpeg", quietly + ["-map", "0:a", "-ac", "1", "-f", "s16le", "-"], on: stage)
            }

            var loudnessOfFirstFrame: Int {
                sound.withUnsafeBytes { abs(Int($0.loadUnaligned(as: Int16.self))) }
            }
        }

        @Test func `ten segments after each other are the recording in one piece, to the sample`()
            async throws
        {
            let media = try MediaFiles()
            // A tone that never repeats, and pictures with references within one second only.
            let clip = try media.make(
                "clip.mp4",
                "-f lavfi -i testsrc2=s=320x180:r=25:d=\(Self.seconds)"
                    + " -f lavfi -i aevalsrc=0.3*sin(2*PI*(300+40*t)*t):s=48000:d=\(Self.seconds)"
                    + " -c:v libx264 -preset veryfast -threads 1 -bf 3 -g 25 -pix_fmt yuv420p"
                    + " -x264-params open-gop=0:scenecut=0 -c:a aac")
            try await Stage.with { stage in
                try await Stage.with { other in
                    let programs = [
                        try await stage.collector("--once", "--segment", "10m"),
                        try await other.collector("--once", "--segment", "1s"),
                        try stage.agent("clip", "--video", "file:\(clip)", "--encoder", "copy"),
                        try other.agent("clip", "--video", "file:\(clip)", "--encoder", "copy"),
                    ]
                    for program in programs.reversed() { try await program.succeeds() }
                    let segments = try other.recordings("clip")
                    #expect(segments.count >= 10)
                    let whole = try await Decoded(
                        ["-i", try stage.recording("clip").path], on: stage)
                    #expect(whole.pictures.count == Self.pictures)
                    #expect(whole == (try await Decoded(["-i", clip], on: stage)))
                    let list = stage.directory.appending(path: "segments.txt")
                    try segments.map { "file '\($0.path)'\n" }.joined()
                        .write(to: list, atomically: true, encoding: .utf8)
                    let joined = try await Decoded(
                        ["-f", "concat", "-safe", "0", "-i", list.path], on: stage)
                    #expect(joined.pictures == whole.pictures)
                    #expect(joined.sound == whole.sound)
                    try await checkAlone(segments, whole, on: stage)
                }
            }
        }

        /// Opened alone, a segment has its own pictures and as much sound, which fades in without a click.
        private func checkAlone(
            _ segments: [URL], _ whole: Decoded, on stage: Stage
        ) async throws {
            var pictures: [Substring] = []
            var soundBytes = 0
            for segment in segments {
                let alone = try await Decoded(["-i", segment.path], on: stage)
                pictures += alone.pictures
                soundBytes += alone.sound.count
                #expect(alone.loudnessOfFirstFrame < 300, "\(segment.lastPathComponent)")
            }
            #expect(pictures == whole.pictures)
            #expect(soundBytes == whole.sound.count)
        }
    }
}
