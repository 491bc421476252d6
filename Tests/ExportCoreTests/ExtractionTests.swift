import Archive
import Encoding
import ExportCore
import Foundation
import Library
import Media
import Recordings
import Testing
import TestMedia

@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media")) struct ExtractionTests {
    @Test
    func `a byte stream has parameter sets at every IDR picture, and the recording's samples`()
        throws
    {
        let archive = try ImportedArchive()
        let path = archive.path("out.h264")
        let summary = try StreamExtraction(
            archive.range(), of: .video, to: .file(OutputFile(path, overwrites: false)),
            control: WorkControl()
        ).run()
        #expect(summary.pictures == 150)
        let bytes = try Data(contentsOf: URL(filePath: path))
        func count(_ type: UInt8) -> Int {
            var found = 0
            for index in bytes.indices.dropFirst(3)
            where bytes[index] & 0x1F == type && bytes[index - 1] == 1 && bytes[index - 2] == 0
                && bytes[index - 3] == 0
            {
                found += 1
            }
            return found
        }
        #expect(count(7) == 6)
        #expect(count(8) == 6)
        #expect(count(5) == 6)
        // The stream has no times: FFmpeg gets the rate as an option and remuxes to MP4 without decoding.
        let back = try archive.media.make("back.mp4", "-r 25 -i \(path) -c copy")
        let words = "-map 0:v -c copy -bsf:v filter_units=remove_types=7-8"
        #expect(try archive.hash(back, words) == archive.hash(archive.clips[0], words))
    }

    @Test func `ADTS has the recording's packets`() throws {
        let archive = try ImportedArchive()
        let path = archive.path("out.aac")
        _ = try StreamExtraction(
            archive.range(), of: .audio, to: .file(OutputFile(path, overwrites: false)),
            control: WorkControl()
        ).run()
        #expect(
            try archive.hash(path, "-c copy -bsf:a aac_adtstoasc")
                == archive.hash(archive.clips[0], "-map 0:a -c copy"))
    }

    @Test func `a WAV file has exactly the sound that was recorded`() throws {
        let archive = try ImportedArchive()
        let path = archive.path("out.wav")
        _ = try WaveExtraction(
            archive.range(), to: .file(OutputFile(path, overwrites: false)), closesGaps: false,
            control: WorkControl()
        ).run()
        let sound = try archive.sound(path)
        #expect(sound.count == 6 * 48_000 * 2)
        #expect(sound == (try archive.sound(archive.clips[0])).prefix(sound.count))
    }

    @Test func `a part of the sound begins and ends at the frame`() throws {
        let archive = try ImportedArchive()
        let path = archive.path("out.wav")
        _ = try WaveExtraction(
            archive.range(from: 2.5, seconds: 1.25),
            to: .file(OutputFile(path, overwrites: false)), closesGaps: false,
            control: WorkControl()
        ).run()
        #expect(
            try archive.sound(path)
                == archive.sound(archive.clips[0], "-af atrim=start=2.5:duration=1.25"))
    }

    @Test(arguments: [3.0, 3.08, 5.96])
    func `a picture is the one that is shown at that time`(_ time: Double) throws {
        let archive = try ImportedArchive()
        let path = archive.path("out.png")
        let summary = try PictureExtraction(
            archive.range(from: time + 0.01), as: .png,
            to: .file(OutputFile(path, overwrites: false))
        ).run()
        #expect(summary.startNanoseconds == Int64((time * 1000).rounded()) * 1_000_000)
        func pixels(_ words: String) throws -> Data {
            try archive.media.run(
                words.split(separator: " ").map(String.init)
                    + ["-frames:v", "1", "-pix_fmt", "gray", "-f", "rawvideo", "-"])
        }
        let found = try pixels("-i \(path)")
        func distance(_ other: Data) -> Double {
            let sum = zip(found, other).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
            return Double(sum) / Double(max(1, found.count))
        }
        #expect(found.count == 320 * 180)
        let wanted = try pixels(
            "-i \(archive.clips[0]) -map 0:v -vf trim=start=\(time - 0.005)")
        let other = try pixels("-i \(archive.clips[0]) -map 0:v -vf trim=start=\(time - 1)")
        #expect(distance(wanted) < 4)
        #expect(distance(other) > 2 * distance(wanted))
    }

    /// As at every end of a growing file, sound is ahead of the next picture.
    @Test(arguments: [5.99, 6.02, 6.4])
    func `the last picture is returned while audio continues`(_ time: Double) throws {
        let clip = ImportedArchive.clip.replacing("s=48000:d=6 ", with: "s=48000:d=6.5 ")
        let archive = try ImportedArchive(["stage.mp4": clip])
        let picture = try PictureExtraction.jpeg(archive.range(from: time), maximumWidth: 64)
        #expect(picture.atNanoseconds == 5_960_000_000)
        #expect(throws: ExportError.self) {
            try PictureExtraction.jpeg(archive.range(from: 6.7), maximumWidth: 64)
        }
    }

    @Test func `a growing file is read to its end`() throws {
        let archive = try ImportedArchive()
        // As after a crash: without an index, and cut in the middle of a fragment.
        let file = try #require(archive.session.source("stage")?.files.first?.path)
        var bytes = Array(try Data(contentsOf: URL(filePath: file)))
        bytes.replaceSubrange(
            32..<48, with: [0, 0, 0, 16] + Array("free".utf8) + [UInt8](repeating: 0, count: 8))
        let growing = archive.path("growing.mp4")
        try Data(bytes.prefix(bytes.count * 3 / 4)).write(to: URL(filePath: growing))
        let session = try RecordedSession(files: [growing])
        let source = try #require(session.sources.first)
        let path = archive.path("out.h264")
        let summary = try StreamExtraction(
            ExportRange(source: source, sessionZero: session.zero), of: .video,
            to: .file(OutputFile(path, overwrites: false)), control: WorkControl()
        ).run()
        #expect((10..<50).contains(summary.pictures))
        let decoded = try archive.media.run([
            "-i", path, "-f", "rawvideo", "-pix_fmt", "gray", "-",
        ])
        #expect(decoded.count == summary.pictures * 320 * 180)
    }
}
