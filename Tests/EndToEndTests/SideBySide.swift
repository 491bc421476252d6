import Foundation
import Testing

/// FFmpeg's pictures of recordings played side by side: `ffmpeg -i a.mp4 -i b.mp4`.
enum SideBySide {
    /// The capture times of both files' pictures at the same times.
    static func codes(
        _ files: [URL], _ options: [String] = [], size: (width: Int, height: Int),
        on stage: Stage
    ) async throws -> [[Int64?]] {
        let band = size.height / 8
        let tops = "crop=iw:ih/8:0:0,extractplanes=y"
        let luma = try await Foreign.quiet(
            "ffmpeg",
            ["-nostdin", "-v", "warning"] + options + files.flatMap { ["-i", $0.path] }
                + [
                    "-filter_complex", "[0:v]\(tops)[a];[1:v]\(tops)[b];[a][b]vstack=shortest=1",
                    "-fps_mode",
                    "passthrough", "-enc_time_base", "1:90000", "-f", "rawvideo", "-",
                ], on: stage)
        let half = size.width * band
        return stride(from: 0, to: luma.count - 2 * half + 1, by: 2 * half).map { start in
            [start, start + half].map { top in
                PictureCodes.read(
                    luma[top..<top + half], width: size.width, pictureHeight: size.height)
            }
        }
    }

    /// Each pair differs by one picture at most, since a picture that was late on a busy machine repeats the previous
    /// one.
    static func expectEqualCodes(
        _ pairs: [[Int64?]], picturesPerSecond: Int64,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var longest = 1_000_000_000 / picturesPerSecond
        for side in 0..<2 {
            let codes = pairs.compactMap { $0[side] }
            for (earlier, later) in zip(codes, codes.dropFirst()) {
                longest = max(longest, later - earlier)
            }
        }
        #expect(
            longest < 2_000_000_000 / picturesPerSecond, "a picture is missing",
            sourceLocation: sourceLocation)
        let distances = pairs.map { pair in
            guard let first = pair[0], let second = pair[1] else { return Int64.max }
            return abs(first - second)
        }
        #expect(distances.max() ?? .max <= longest + 100_000, sourceLocation: sourceLocation)
    }
}
