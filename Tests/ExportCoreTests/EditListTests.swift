import Archive
import Containers
import ExportCore
import Foundation
import Library
import Media
import MP4
import Recordings
import Testing
import TestMedia

/// Foreign files whose edit lists hide or delay samples.
@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media")) final class EditListTests {
    private let media: MediaFiles
    private var directory: URL { media.directory }

    init() throws { media = try MediaFiles() }

    /// Six seconds with B-frames; a keyframe every four.
    private static let clip =
        "-f lavfi -i testsrc2=s=160x90:r=25:d=6 -f lavfi -i sine=f=440:r=48000:d=6 "
        + "-c:v libx264 -preset ultrafast -threads 1 -g 100 -bf 2 -pix_fmt yuv420p "
        + "-c:a aac -b:a 64k"

    /// The edit that hides a part of the media.
    enum Edit: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case none, hiddenStart, hiddenStartBehindKeyframe, lateStart, latePictures, hiddenEnd

        var testDescription: String { rawValue }

        func words(_ clip: String) -> String {
            switch self {
            case .none, .hiddenEnd: "-i \(clip) -c copy"
            case .hiddenStart: "-ss 3.7 -i \(clip) -c copy"
            case .hiddenStartBehindKeyframe: "-ss 4.02 -i \(clip) -c copy"
            case .lateStart: "-itsoffset 2 -i \(clip) -c copy"
            case .latePictures: "-i \(clip) -itsoffset 1.5 -i \(clip) -map 0:a -map 1:v -c copy"
            }
        }
    }

    private func make(_ edit: Edit) throws -> String {
        let clip = try media.make("clip.mp4", Self.clip)
        let path = directory.appending(path: "\(edit).mp4").path
        _ = try media.run(edit.words(clip).split(separator: " ").map(String.init) + [path])
        if edit == .hiddenEnd {
            // Milliseconds of the movie: three pictures less than there are, and a packet of sound that is cut.
            try Self.change(path, "elst", at: 8, to: [0, 0, 0x11, 0x94])
        }
        return path
    }

    /// Changes bytes of every box of a type, counted from behind its version and flags.
    private static func change(
        _ path: String, _ type: String, at offset: Int, to bytes: [UInt8]
    ) throws {
        var data = try Data(contentsOf: URL(filePath: path))
        var start = data.startIndex
        while let found = data.range(of: Data(type.utf8), in: start..<data.endIndex) {
            let place = found.upperBound + offset
            data.replaceSubrange(place..<place + bytes.count, with: bytes)
            start = found.upperBound
        }
        try data.write(to: URL(filePath: path))
    }

    /// A player's output: each picture's time and hash, and the sound after priming and cuts.
    private func shown(_ path: String) throws -> (pictures: [String], sound: Data) {
        let pictures = try media.run(
            "-copyts -i \(path) -map 0:v -fps_mode passthrough -enc_time_base 1/90000 -f framemd5 -"
                .split(separator: " ").map(String.init))
        let sound = try media.run(
            "-i \(path) -map 0:a -f s16le -".split(separator: " ").map(String.init))
        let lines = String(decoding: pictures, as: UTF8.self).split(separator: "\n")
            .filter { !$0.hasPrefix("#") }
            .map { line in
                let fields = line.split(separator: ",")
                return "\(fields[2]) \(fields[5])"
            }
        return (lines, sound)
    }

    private func bring(_ paths: [String]) throws -> (RecordedSession, ArchiveLayout) {
        let layout = ArchiveLayout(root: directory.appending(path: "\(UUID())").path)
        let result = try RecordingImport(
            paths, into: layout, options: RecordingImport.Options(), control: WorkControl()
        ).run()
        #expect(try SessionVerifier.verify(result.session, in: layout).isIntact)
        return (try RecordedSession(result.session, in: layout), layout)
    }

    @Test(arguments: Edit.allCases)
    func `a recording shows the file's pictures at the same times`(_ edit: Edit) throws {
        let path = try make(edit)
        let (session, _) = try bring([path])
        let source = try #require(session.sources.first)
        let files = source.files.map(\.path)
        #expect(files.count == 1)
        let (expected, own) = try (shown(path), shown(files[0]))
        #expect(own.pictures == expected.pictures)
        #expect(own.sound.count == expected.sound.count)
        let extent = try #require(try source.extent())
        let first = try #require(expected.pictures.first?.split(separator: " ").first)
        // Sound may begin before the pictures, and within a packet.
        #expect(extent.startNanoseconds <= (Int64(first) ?? 0) * 100_000 / 9)
        #expect(extent.startNanoseconds > -22_000_000)

        let copy = directory.appending(path: "copy.mp4").path
        var export = try MovieExport(
            ExportRange(source: source, sessionZero: session.zero, startNanoseconds: 0),
            to: OutputFile(copy, overwrites: true), options: MovieExport.Options(),
            control: WorkControl())
        _ = try export.run()
        #expect(try shown(copy).pictures == expected.pictures)
    }

    @Test func `files that begin at different times keep their distance`() throws {
        let (session, _) = try bring([make(.none), make(.lateStart)])
        func start(_ edit: Edit) throws -> Int64 {
            try #require(try session.source("\(edit)")?.extent()?.startNanoseconds)
        }
        #expect(try abs(start(.none)) < 1_000_000)
        #expect(try abs(start(.lateStart) - 2_000_000_000) < 23_000_000)
    }

    @Test(arguments: Edit.allCases)
    func `a copy in another container shows the same, or reports the difference`(
        _ edit: Edit
    ) throws {
        let path = try make(edit)
        let expected = try shown(path)
        func remux(_ name: String, _ format: ContainerFormat) throws -> (String, RemuxJob.Result) {
            let out = directory.appending(path: name).path
            return (
                out,
                try RemuxJob(
                    path, to: OutputFile(out, overwrites: true), format: format,
                    isFastStart: false, control: WorkControl()
                ).run()
            )
        }
        let (movie, result) = try remux("out.mp4", .mp4)
        #expect(result.earlierNanoseconds == 0)
        // A file with a late start starts at zero: times count from the earliest one.
        let own = try shown(movie)
        #expect(own.pictures.map(Self.hash) == expected.pictures.map(Self.hash))
        #expect(own.sound.count == expected.sound.count)

        let (matroska, told) = try remux("out.mkv", .matroska)
        let hashes = try shown(matroska).pictures.map(Self.hash)
        #expect(hashes.suffix(expected.pictures.count) == expected.pictures.map(Self.hash)[...])
        let extra = Int64(hashes.count - expected.pictures.count)
        #expect(abs(told.earlierNanoseconds - extra * 40_000_000) < 40_000_000)
        #expect((extra > 0) == (edit == .hiddenStart || edit == .hiddenStartBehindKeyframe))
        #expect(told.packets + told.hidden == result.packets + result.hidden)
    }

    private static func hash(_ line: String) -> String {
        String(line.split(separator: " ").last ?? "")
    }

    @Test func `an edit list that changes the speed is refused`() throws {
        let path = try make(.none)
        // Half as fast.
        try Self.change(path, "elst", at: 16, to: [0, 0, 0x80, 0])
        let error = #expect(throws: ExportError.self) { _ = try bring([path]) }
        #expect(error?.description.contains("changes the speed") == true)
    }

    /// A file with parameter sets in its pictures only.
    private func makeInBand(_ type: String) throws -> String {
        let stream = try media.make(
            "stream.ts", "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 2 \(MediaFiles.aac)")
        let path = directory.appending(path: "\(type).mp4").path
        _ = try media.run(["-i", stream, "-c", "copy", path])
        var data = try Data(contentsOf: URL(filePath: path))
        let record = try #require(data.range(of: Data("avcC".utf8)))
        let size = data[record.lowerBound - 4..<record.lowerBound].reduce(0) { $0 << 8 | Int($1) }
        let rest = size - 15
        var box: [UInt8] = [0, 0, 0, 15] + Array("avcC".utf8)
        box += data[record.upperBound..<record.upperBound + 4] + [0xFF, 0xE0, 0]
        box += [0, 0, 0, UInt8(rest)] + Array("free".utf8) + [UInt8](repeating: 0, count: rest - 8)
        data.replaceSubrange(record.lowerBound - 4..<record.lowerBound - 4 + size, with: box)
        let description = try #require(data.range(of: Data("stsd".utf8)))
        let entry = try #require(
            data.range(of: Data("avc1".utf8), in: description.upperBound..<data.endIndex))
        data.replaceSubrange(entry, with: Data(type.utf8))
        try data.write(to: URL(filePath: path))
        return path
    }

    @Test(arguments: ["avc1", "avc3"])
    func `parameter sets that are only in the pictures are found there`(_ type: String) throws {
        let path = try makeInBand(type)
        let expected = try shown(path)
        #expect(expected.pictures.count == 50)
        let (session, _) = try bring([path])
        let recorded = try #require(session.sources.first?.files.first?.path)
        #expect(try shown(recorded).pictures == expected.pictures)
        for format in [ContainerFormat.mp4, .matroska, .mpegTS] {
            let out = directory.appending(path: "out").path
            _ = try RemuxJob(
                path, to: OutputFile(out, overwrites: true), format: format, isFastStart: false,
                control: WorkControl()
            ).run()
            #expect(
                try shown(out).pictures.map(Self.hash) == expected.pictures.map(Self.hash),
                "\(format)")
            if format == .mp4 {
                let movie = try DescriptorSource.withFile(out) { try Movie.read(from: $0) }
                guard case .video(let described)? = movie.track(.video)?.format else {
                    Issue.record("no H.264")
                    continue
                }
                #expect(!described.sets(.sequence).isEmpty)
            }
        }
    }

    @Test func `pictures without decodable parameter sets are refused`() throws {
        let path = try makeInBand("avc1")
        // The first parameter set becomes an unknown one.
        var data = try Data(contentsOf: URL(filePath: path))
        let content = try #require(data.range(of: Data("mdat".utf8))).upperBound
        // Its first four bytes are also those of the record.
        let record = try #require(data.range(of: Data("avcC".utf8))).upperBound
        let beginning = Data([0x67] + data[record + 1..<record + 4])
        var start = content
        while let set = data.range(of: beginning, in: start..<data.endIndex) {
            data[set.lowerBound] = 0x7E
            start = set.upperBound
        }
        #expect(start > content)
        try data.write(to: URL(filePath: path))
        let imported = #expect(throws: ExportError.self) { _ = try bring([path]) }
        #expect(imported?.description.contains("no parameter sets") == true)
        let out = directory.appending(path: "out.mkv").path
        let copied = #expect(throws: ContainerError.self) {
            _ = try RemuxJob(
                path, to: OutputFile(out, overwrites: true), format: .matroska,
                isFastStart: false, control: WorkControl()
            ).run()
        }
        #expect(copied?.description.contains("no parameter sets") == true)
        #expect(!FileManager.default.fileExists(atPath: out))
    }
}
