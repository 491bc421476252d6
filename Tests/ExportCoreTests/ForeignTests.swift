import Archive
import Containers
import ExportCore
import Foundation
import Recordings
import TestMedia
import Testing

@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media")) struct ForeignTests {
    private static func bring(
        _ path: String, _ directory: URL
    ) throws -> SessionReport {
        let layout = ArchiveLayout(root: directory.appending(path: "recordings").path)
        let result = try RecordingImport(
            [path], into: layout, options: RecordingImport.Options(), control: WorkControl()
        ).run()
        return try SessionVerifier.verify(result.session, in: layout)
    }

    /// Foreign files, by the name that selects the container.
    private static let files = [
        "b-frames.mkv": "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 3 \(MediaFiles.aac)",
        "stream.ts": "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 2 \(MediaFiles.aac)",
        "video-only.mp4": "-f lavfi -i testsrc2=s=320x180:r=25:d=2 \(MediaFiles.h264)",
        "sound-only.m4a": "-f lavfi -i sine=d=2:r=44100 -c:a aac",
        "vfr.mkv":
            "-f lavfi -i testsrc2=s=320x180:r=25:d=2,select=not(eq(mod(n\\,7)\\,3)) -vsync vfr "
            + "\(MediaFiles.h264) -bf 2",
        "fragmented.mp4": "\(MediaFiles.inputs) \(MediaFiles.h264) \(MediaFiles.aac) "
            + "-movflags frag_keyframe+empty_moov",
    ]

    @Test(arguments: files.keys.sorted())
    func `foreign files become sound sessions`(_ name: String) throws {
        let media = try MediaFiles()
        let path = try media.make(name, Self.files[name] ?? "")
        let directory = media.directory
        let report = try Self.bring(path, directory)
        #expect(report.isIntact, "\(report.allFindings)")
        #expect(report.sources[0].recordedSamples > 40)
    }

    @Test(arguments: [0, 1, 2])
    func `a lost file of an import is damage`(index: Int) throws {
        let archive = try ImportedArchive()
        let name = archive.session.name
        let paths = try archive.layout.segmentPaths(name, "stage")
        try #require(paths.count == 3)
        try FileManager.default.removeItem(atPath: paths[index])
        #expect(!(try SessionVerifier.verify(name, in: archive.layout).isIntact))
    }

    @Test func `an unsupported file is refused, and nothing of it is left`() throws {
        let media = try MediaFiles()
        let plain = try media.make("plain.mp4", Self.files["b-frames.mkv"] ?? "")
        let cases = [
            (try media.make("vp9.webm", "-f lavfi -i testsrc2=s=64x64:d=1 -c:v libvpx-vp9"), "vp9"),
            (
                try media.make(
                    "secret.mp4",
                    "-i \(plain) -c copy -encryption_scheme cenc-aes-ctr"
                        + " -encryption_key 76a6c65c5ea762046bd749a2e632ccbb"
                        + " -encryption_kid a7e61c373e219033c21091fa607bf3b8"), "encrypted"
            ),
            (try media.make("sound.wav", "-f lavfi -i sine=d=1"), "pcm_s16le"),
            (try media.make("picture.jpg", "-f lavfi -i testsrc2=s=64x64 -frames:v 1"), "mjpeg"),
            (try media.cut(plain, to: "cut.mp4") { $0 / 2 }, "truncated"),
            (try media.cut(plain, to: "empty.mp4") { _ in 0 }, "not a media file"),
        ]
        let directory = media.directory
        for (path, word) in cases {
            let error = #expect(throws: (any Error).self) { _ = try Self.bring(path, directory) }
            #expect(error.map { "\($0)".contains(word) } == true, "\(String(describing: error))")
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: media.directory.path)
            .filter { $0 == "recordings" }
        if !left.isEmpty {
            let root = media.directory.appending(path: "recordings").path
            #expect(try FileManager.default.contentsOfDirectory(atPath: root).isEmpty)
        }
    }

    @Test func `media after the fourth gigabyte are imported and exported`() throws {
        let media = try MediaFiles()
        let plain = try media.make(
            "plain.mp4",
            (Self.files["fragmented.mp4"] ?? "") + "+default_base_moof+skip_trailer")
        let bytes = try Data(contentsOf: URL(filePath: plain))
        let fragment = try #require(bytes.range(of: Data("moof".utf8))).lowerBound - 4
        // Five gigabytes of nothing in front of the first fragment.
        let path = media.directory.appending(path: "sparse.mp4")
        let hole: UInt64 = 5 << 30
        let size = (0..<8).map { UInt8(truncatingIfNeeded: hole >> (56 - 8 * UInt64($0))) }
        try (bytes.prefix(fragment) + Data([0, 0, 0, 1] + Array("free".utf8) + size)).write(
            to: path)
        let file = try FileHandle(forWritingTo: path)
        try file.seek(toOffset: UInt64(fragment) + hole)
        try file.write(contentsOf: bytes.suffix(from: fragment))
        try file.close()
        let report = try Self.bring(path.path, media.directory)
        #expect(report.isIntact)
        let out = media.directory.appending(path: "out.mkv").path
        let result = try RemuxJob(
            path.path, to: OutputFile(out, overwrites: false), format: .matroska,
            isFastStart: false, control: WorkControl()
        ).run()
        // The format's changes and the goodbye have numbers too.
        #expect(result.packets == Int(report.sources[0].recordedSamples))
    }

    @Test func `remuxing keeps an edit list of one part, and refuses one of several`() throws {
        let media = try MediaFiles()
        let path = try media.make("clip.mp4", Self.files["b-frames.mkv"] ?? "")
        let out = media.directory.appending(path: "out.mkv").path
        func remux(_ input: String) throws {
            _ = try RemuxJob(
                input, to: OutputFile(out, overwrites: true), format: .matroska,
                isFastStart: false, control: WorkControl()
            ).run()
        }
        try remux(path)
        // The same edit twice: the free space behind it must go, so the file is rebuilt.
        var bytes = Array(try Data(contentsOf: URL(filePath: path)))
        let place = try #require(Data(bytes).range(of: Data("elst".utf8))).lowerBound
        func number(_ offset: Int) -> Int {
            bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        func grow(_ box: String, by count: Int) {
            guard let at = Data(bytes).range(of: Data(box.utf8))?.lowerBound else { return }
            let size = number(at - 4) + count
            for index in 0..<4 {
                bytes[at - 4 + index] = UInt8(truncatingIfNeeded: size >> (24 - 8 * index))
            }
        }
        for box in ["moov", "trak", "edts", "elst"] { grow(box, by: 12) }
        bytes[place + 11] += 1
        bytes.insert(contentsOf: bytes[place + 12..<place + 24], at: place + 12)
        let several = media.directory.appending(path: "several.mp4")
        try Data(bytes).write(to: several)
        let error = #expect(throws: ExportError.self) { try remux(several.path) }
        #expect(error?.description.contains("edit list has 2 parts") == true)
    }
}
