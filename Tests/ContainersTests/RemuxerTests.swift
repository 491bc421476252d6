import Foundation
import TestMedia
import Testing

@testable import Containers

@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media")) struct RemuxerTests {
    /// Copies all of a file's packets; returns their number.
    @discardableResult
    private static func remux(
        _ path: String, to output: String, _ format: ContainerFormat
    ) throws -> Int {
        var remuxer = try Remuxer(path, to: output, named: output, format: format)
        while try remuxer.step() {}
        let packets = remuxer.packets
        try remuxer.finish()
        return packets
    }

    private static func hash(
        _ media: borrowing MediaFiles, _ path: String, _ words: String
    ) throws -> String {
        let arguments =
            ["-i", path] + words.split(separator: " ").map(String.init) + ["-f", "streamhash", "-"]
        return String(decoding: try media.run(arguments), as: UTF8.self)
    }

    /// A container and the properties compared.
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var arguments: String
        /// Streams that are compared as they are decoded, and as packets.
        var maps = ["-map 0:v"]
        var testDescription: String { name }
    }

    private static let cases = [
        Case(
            name: "b-frames.mp4",
            arguments: "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 3 \(MediaFiles.aac)"),
        Case(
            name: "vfr.mkv",
            arguments:
                "-f lavfi -i testsrc2=s=320x180:r=25:d=2,select=not(eq(mod(n\\,7)\\,3)) -vsync vfr "
                + "\(MediaFiles.h264) -bf 2"),
        Case(
            name: "sound.m4a", arguments: "-f lavfi -i sine=d=2:r=44100 -c:a aac",
            maps: ["-map 0:a -c copy"]),
        Case(
            name: "vp9.webm",
            arguments:
                "-f lavfi -i testsrc2=s=320x180:r=25:d=1 -f lavfi -i sine=d=1:r=48000 "
                + "-c:v libvpx-vp9 -cpu-used 8 -c:a libopus"),
        Case(
            name: "stream.ts",
            arguments:
                "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 2 \(MediaFiles.aac)"),
    ]

    @Test(arguments: cases)
    func `a file's media are the same in Matroska`(_ file: Case) throws {
        let media = try MediaFiles()
        let path = try media.make(file.name, file.arguments)
        let copy = media.directory.appending(path: "copy.mkv").path
        let packets = try Self.remux(path, to: copy, .matroska)
        #expect(packets > 20)
        for map in file.maps {
            #expect(try Self.hash(media, copy, map) == Self.hash(media, path, map))
        }
    }

    @Test func `remuxing to MPEG-TS and back gives the same bytes and duration`() throws {
        let media = try MediaFiles()
        let path = try media.make("clip.mp4", Self.cases[0].arguments)
        let there = media.directory.appending(path: "there.ts").path
        let back = media.directory.appending(path: "back.mp4").path
        try Self.remux(path, to: there, .mpegTS)
        try Self.remux(there, to: back, .mp4)
        #expect(try Self.hash(media, back, "-map 0:v") == Self.hash(media, path, "-map 0:v"))
        let durations = try [path, back].map { try ContainerProbe($0).durationNanoseconds ?? 0 }
        #expect(abs(durations[0] - durations[1]) < 100_000_000)
    }

    @Test func `an index at the front leaves the media unchanged`() throws {
        let media = try MediaFiles()
        let path = try media.make("clip.mp4", Self.cases[0].arguments)
        let copy = media.directory.appending(path: "copy.mp4").path
        var remuxer = try Remuxer(
            path, to: copy, named: copy, format: .mp4,
            muxerOptions: ["movflags": "+faststart"])
        while try remuxer.step() {}
        try remuxer.finish()
        for words in ["-map 0:v", "-map 0 -c copy"] {
            #expect(try Self.hash(media, copy, words) == Self.hash(media, path, words))
        }
        let bytes = try Data(contentsOf: URL(filePath: copy))
        let index = try #require(bytes.range(of: Data("moov".utf8)))
        let content = try #require(bytes.range(of: Data("mdat".utf8)))
        #expect(index.lowerBound < content.lowerBound)
    }

    @Test func `a turned picture stays turned`() throws {
        let media = try MediaFiles()
        let plain = try media.make("plain.mp4", Self.cases[0].arguments)
        let turned = try media.make(
            "turned.mp4", "-i \(plain) -c copy -metadata:s:v rotate=90")
        let copy = media.directory.appending(path: "copy.mov").path
        try Self.remux(turned, to: copy, .mov)
        func size(_ path: String) throws -> Int {
            try media.run([
                "-i", path, "-map", "0:v", "-frames:v", "1", "-f", "image2pipe", "-c:v", "bmp", "-",
            ]).withUnsafeBytes {
                Int($0.loadUnaligned(fromByteOffset: 18, as: Int32.self))
            }
        }
        // FFmpeg applies the rotation when it decodes: 180 wide, not 320.
        #expect(try size(turned) == 180)
        #expect(try size(copy) == 180)
    }

    @Test func `damaged files are refused with one line`() throws {
        let media = try MediaFiles()
        let path = try media.make(
            "clip.mp4", Self.cases[0].arguments + " -movflags +faststart")
        let output = media.directory.appending(path: "out.mkv").path
        let cut = try media.cut(path, to: "cut.mp4") { $0 * 2 / 3 }
        let truncated = #expect(throws: ContainerError.self) {
            try Self.remux(cut, to: output, .matroska)
        }
        #expect(truncated?.description.contains("is truncated") == true)
        let head = try media.cut(path, to: "head.mp4") { _ in 200 }
        let empty = try media.cut(path, to: "empty.mp4") { _ in 0 }
        for bad in [head, empty, "/nowhere/a.mp4"] {
            let error = #expect(throws: ContainerError.self) {
                try Self.remux(bad, to: output, .matroska)
            }
            guard case .cannotRead(bad, _) = error else {
                Issue.record("\(bad): \(String(describing: error))")
                continue
            }
        }
    }

    @Test func `a codec that MPEG-TS would carry as private data is refused`() throws {
        let media = try MediaFiles()
        let path = try media.make("sound.wav", "-f lavfi -i sine=d=1")
        let output = media.directory.appending(path: "out.ts").path
        let error = #expect(throws: ContainerError.self) {
            try Self.remux(path, to: output, .mpegTS)
        }
        #expect(error?.description.contains("MPEG-TS does not support PCM_S16LE") == true)
    }

    @Test func `an encrypted file is refused`() throws {
        let media = try MediaFiles()
        let path = try media.make(
            "secret.mp4",
            Self.cases[0].arguments
                + " -encryption_scheme cenc-aes-ctr -encryption_key 76a6c65c5ea762046bd749a2e632ccbb"
                + " -encryption_kid a7e61c373e219033c21091fa607bf3b8")
        let output = media.directory.appending(path: "out.mkv").path
        let error = #expect(throws: ContainerError.self) {
            try Self.remux(path, to: output, .matroska)
        }
        #expect(error?.description.contains("encrypted") == true)
    }
}
