import Archive
import Containers
import Devices
import Encoding
import ExportCore
import Foundation
import Library
import Media
import Recordings
import Testing
import TestMedia

/// The time that is burnt in, read back from the pixels.
@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media")) struct TimeStampTests {
    private static let width = 320
    private static let height = 180

    /// The letters at the lower edge of a gray picture, by the nearest glyph of those that a time has.
    private func words(in picture: Data, count: Int) -> String {
        let letters = Array("0123456789-:. UTCSAGE".utf8)
        let pixels = [UInt8](picture)
        let top = Self.height - 12
        return String(
            decoding: (0..<count).map { index -> UInt8 in
                let rows = (0..<BitmapFont.height).map { row in
                    (0..<BitmapFont.width).reduce(0 as UInt8) { dots, dot in
                        let x = index * (BitmapFont.width + 1) + dot + 2
                        let value = pixels[(top + row + 2) * Self.width + x]
                        return dots | (value > 125 ? 0x10 >> UInt8(dot) : 0)
                    }
                }
                func distance(_ letter: UInt8) -> Int {
                    zip(BitmapFont.rows(of: letter), rows).reduce(0) {
                        $0 + ($1.0 ^ $1.1).nonzeroBitCount
                    }
                }
                return letters.min { distance($0) < distance($1) } ?? 0
            }, as: UTF8.self)
    }

    @Test func `each picture shows its own capture time in UTC, and the rest stays as it was`()
        throws
    {
        let archive = try ImportedArchive()
        var settings = TranscodeSettings(videoCodec: .h264, audioCodec: nil)
        settings.burnsTime = true
        let path = archive.path("burnt.mp4")
        _ = try TranscodeExport(
            try archive.range(from: 1.32, seconds: 1), to: OutputFile(path, overwrites: true),
            format: .mp4, settings: settings, control: WorkControl()
        ).run()
        let size = Self.width * Self.height
        func pictures(_ path: String, _ words: [String]) throws -> Data {
            try archive.media.run(
                words + ["-i", path, "-map", "0:v", "-f", "rawvideo", "-pix_fmt", "gray", "-"])
        }
        let burnt = try pictures(path, [])
        #expect(burnt.count == 25 * size)
        for number in [0, 1, 24] {
            let time = archive.session.zero.advanced(by: 1_320_000_000 + Int64(number) * 40_000_000)
            let expected = time.description.replacing("T", with: " ").replacing("Z", with: " UTC")
            let picture = burnt.subdata(in: number * size..<(number + 1) * size)
            #expect(words(in: picture, count: expected.utf8.count) == expected)
        }
        // Above the line, the pictures are the recorded ones, but for what encoding changes.
        let recorded = try pictures(archive.clips[0], ["-ss", "1.32", "-t", "1"])
        let top = size - 16 * Self.width
        let differences = zip(burnt.prefix(top), recorded.prefix(top)).map {
            abs(Int($0) - Int($1))
        }
        #expect(differences.reduce(0, +) / differences.count < 8)
    }
}
