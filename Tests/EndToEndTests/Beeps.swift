import Foundation
import Media

/// Start times of the beeps in a recording's test sound.
struct Beeps {
    private static let sampleRate = 48_000
    private static let beepNanoseconds: Int64 = 20_000_000
    /// Half the amplitude of a beep, far above coding noise in silence.
    private static let threshold: Float = 0.25

    /// Start times on the file's timeline.
    private(set) var startsNanoseconds: [Int64] = []

    /// Decodes a recording's sound with FFmpeg and finds the beeps.
    init(of file: URL, on stage: Stage) async throws {
        let first = try await Self.firstPresented(of: file, on: stage)
        let data = try await Foreign.ffmpeg(
            file, "-map", "0:a", "-ac", "1", "-ar", "\(Self.sampleRate)", "-f", "f32le", "-",
            on: stage)
        let samples = data.withUnsafeBytes { bytes in
            (0..<bytes.count / 4).map {
                Float(
                    bitPattern: UInt32(
                        littleEndian: bytes.loadUnaligned(
                            fromByteOffset: 4 * $0, as: UInt32.self)))
            }
        }
        var index = 0
        while let loud = samples[index...].firstIndex(where: { abs($0) > Self.threshold }) {
            // Coding smears a beep symmetrically, so its energy's centre is more stable than its rise.
            let around = max(0, loud - 2_400)..<min(samples.count, loud + 2_400)
            let energy = around.map { Double(samples[$0] * samples[$0]) }
            let weighted = zip(around, energy).reduce(0) { $0 + Double($1.0) * $1.1 }
            let middle = weighted / energy.reduce(0, +)
            let nanoseconds = Int64(middle * 1_000_000_000 / Double(Self.sampleRate))
            // A beep cut by the recording's edge has another centre.
            if around.count == 4_800 {
                startsNanoseconds.append(first + nanoseconds - Self.beepNanoseconds / 2)
            }
            index = around.upperBound
            guard index < samples.count else { break }
        }
    }

    /// Presentation time of the first sound after priming.
    private static func firstPresented(of file: URL, on stage: Stage) async throws -> Int64 {
        let output = try await Foreign.quiet(
            "ffprobe",
            [
                "-v", "error", "-select_streams", "a", "-read_intervals", "%+#4",
                "-show_entries", "frame=pts_time", "-of", "csv=p=0", file.path,
            ], on: stage)
        let text = String(decoding: output, as: UTF8.self)
        guard let line = text.split(whereSeparator: { "\n,".contains($0) }).first,
            let seconds = Double(line)
        else { throw StageFailure(description: "ffprobe sees no sound in \(file.path)") }
        return Int64(seconds * 1_000_000_000)
    }
}
