import Archive
import Containers
import Encoding
import ExportCore
import Foundation
import Media
import Recordings
import TestMedia
import Testing

/// Containers that lose something without saying it. Tests/MediaTests/README.md lists them.
@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media"))
struct OddContainerTests {
    /// Six seconds of ten pictures a second, an IDR picture each second, with sound.
    static let clip =
        "-f lavfi -i testsrc2=s=320x240:r=10:d=6 -f lavfi -i sine=r=48000:d=6 "
        + "-c:v libx264 -g 10 -bf 2 -b:v 800k -c:a aac"

    struct Imported {
        var report: SessionReport
        var notes: [String]
        var gaps: [LedgerEntry]
        var samples: (pictures: Int, sound: Int)
        var decoded: DecodingCheck.Result
    }

    static func `import`(
        _ path: String, in media: borrowing MediaFiles
    ) throws -> Imported {
        CodecLibrary.keepOffTerminal()
        let layout = ArchiveLayout(
            root: media.directory.appending(path: "recordings-\(UUID())").path)
        var options = RecordingImport.Options()
        options.names = ["odd"]
        let result = try RecordingImport(
            [path], into: layout, options: options, control: WorkControl()
        ).run()
        let session = try RecordedSession(result.session, in: layout)
        var decoded = DecodingCheck.Result()
        for file in session.sources[0].files {
            guard let own = try DecodingCheck.check(file.opened(), control: WorkControl()) else {
                continue
            }
            decoded.pictures += own.pictures
            decoded.undecodable += own.undecodable
        }
        let source = result.sources[0]
        return Imported(
            report: try SessionVerifier.verify(result.session, in: layout), notes: source.notes,
            gaps: try Ledger.read(layout.ledger(result.session, "odd")).entries
                .filter { $0.kind == .gap },
            samples: (source.summary.pictures, source.summary.soundPackets), decoded: decoded)
    }

    static func remux(
        _ path: String, to name: String, _ format: ContainerFormat,
        in media: borrowing MediaFiles
    ) throws -> RemuxJob.Result {
        CodecLibrary.keepOffTerminal()
        let output = try OutputFile(
            media.directory.appending(path: name).path, overwrites: true, inputs: [path])
        return try RemuxJob(
            path, to: output, format: format, isFastStart: false, control: WorkControl()
        ).run()
    }

    static func write(
        _ bytes: [UInt8], _ name: String, in media: borrowing MediaFiles
    ) throws -> String {
        let path = media.directory.appending(path: name).path
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }

    static func read(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: path)))
    }

    /// The whole seconds of a file.
    private static func seconds(of name: String, in media: borrowing MediaFiles) throws -> Int64? {
        try ContainerProbe(media.directory.appending(path: name).path)
            .durationNanoseconds.map { $0 / 1_000_000_000 }
    }

    // MARK: Damage

    @Test(arguments: ["mkv", "flv"], [false, true])
    func `zeros or a missing part in a stream are a gap`(
        _ suffix: String, isMissing: Bool
    ) throws {
        let media = try MediaFiles()
        let bytes = try Self.read(try media.make("clip.\(suffix)", Self.clip))
        let whole = try Self.import(
            try Self.write(bytes, "whole.\(suffix)", in: media), in: media)
        #expect(whole.gaps.isEmpty && whole.samples.pictures == 60)
        let hole = bytes.count * 2 / 5..<bytes.count * 3 / 5
        let damaged =
            bytes[..<hole.lowerBound] + (isMissing ? [] : [UInt8](repeating: 0, count: hole.count))
            + bytes[hole.upperBound...]
        let path = try Self.write(Array(damaged), "damaged.\(suffix)", in: media)
        let imported = try Self.import(path, in: media)
        #expect(imported.report.isIntact, "\(imported.report.allFindings)")
        #expect(Set(imported.gaps.map(\.track)) == ["video", "audio"])
        #expect(imported.notes.contains { $0.contains("parts of the file are lost") })
        #expect(imported.samples.pictures < 55)
        #expect(imported.decoded.pictures == imported.samples.pictures)
        #expect(imported.decoded.undecodable == 0)
        #expect(try Self.remux(path, to: "copy.mp4", .mp4, in: media).losses > 0)
    }

    @Test func `zeros instead of pictures in an MP4 are a gap, and a copy is refused`() throws {
        let media = try MediaFiles()
        var bytes = try Self.read(try media.make("clip.mp4", Self.clip))
        for index in bytes.count / 2..<bytes.count / 2 + 20_000 { bytes[index] = 0 }
        let path = try Self.write(bytes, "damaged.mp4", in: media)
        let imported = try Self.import(path, in: media)
        #expect(imported.gaps.contains { $0.track == "video" })
        #expect(imported.decoded.undecodable == 0 && imported.decoded.pictures < 60)
        #expect(throws: ContainerError.self) {
            try Self.remux(path, to: "copy.mkv", .matroska, in: media)
        }
    }

    // MARK: Tracks that change

    @Test(arguments: ["", "-mpegts_pmt_start_pid 0x1050"])
    func `tracks continue where a new program map moves them`(_ table: String) throws {
        let media = try MediaFiles()
        let words = "\(Self.clip) -f mpegts"
        let first = try Self.read(try media.make("a.ts", words))
        let second = try Self.read(
            try media.make(
                "b.ts",
                "\(words) -mpegts_start_pid 0x150 -tables_version 3 -output_ts_offset 6 \(table)"))
        let path = try Self.write(first + second, "moved.ts", in: media)
        let imported = try Self.import(path, in: media)
        #expect(imported.report.isIntact, "\(imported.report.allFindings)")
        // libavformat completes the last pictures of the first part at the end of the file.
        let gaps = imported.gaps.filter { $0.track == "video" }.compactMap(\.samples)
        #expect((1...2).contains(gaps.reduce(0, +)), "\(gaps)")
        #expect(imported.samples.pictures + Int(gaps.reduce(0, +)) == 120)
        #expect(imported.decoded.undecodable == 0)
        #expect(!imported.notes.contains { $0.hasPrefix("stream") }, "\(imported.notes)")
    }

    @Test func `two programs side by side are not joined`() throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", Self.clip)
        let path = try media.make(
            "two.ts",
            "-i \(clip) -i \(clip) -map 0 -map 1 -c copy -program title=a:st=0:st=1 "
                + "-program title=b:st=2:st=3 -f mpegts")
        let imported = try Self.import(path, in: media)
        #expect(imported.samples.pictures == 60 && imported.gaps.isEmpty)
        #expect(imported.notes.count { $0.hasSuffix("is left out") } == 2, "\(imported.notes)")
    }

    @Test func `sound that changes its channels, or ends within a packet, is not copied`() throws {
        let media = try MediaFiles()
        func tone(_ name: String, _ layout: String) throws -> [UInt8] {
            try Self.read(
                try media.make(
                    name,
                    "-f lavfi -i sine=r=48000:d=1 -af aformat=channel_layouts=\(layout) -c:a aac"))
        }
        let (stereo, mono) = (try tone("a.aac", "stereo"), try tone("b.aac", "mono"))
        let changed = try Self.write(stereo + mono, "changed.aac", in: media)
        let cut = try Self.write(stereo.dropLast(20), "cut.aac", in: media)
        for path in [changed, cut] {
            #expect(throws: ContainerError.self) {
                try Self.remux(path, to: "copy.mp4", .mp4, in: media)
            }
        }
    }

    // MARK: Times

    @Test func `a container without presentation times begins with its first picture`() throws {
        let media = try MediaFiles()
        let path = try media.make("clip.asf", Self.clip)
        let imported = try Self.import(path, in: media)
        #expect(imported.samples.pictures == 60)
        // No picture is hidden.
        #expect(imported.decoded.pictures == 60)
    }

    @Test(arguments: [
        // The second of two B pictures has the time of the first.
        "if(eq(N\\,15)\\,PTS-0.04/TB\\,PTS)",
        // The clock is set back behind a keyframe: for some pictures, or for good.
        "if(gte(N\\,26)*lt(N\\,29)\\,PTS-0.05/TB\\,PTS)", "if(gte(N\\,26)\\,PTS-0.05/TB\\,PTS)",
    ])
    func `pictures decode at any presentation times`(_ times: String) throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", ImportedArchive.clip)
        let path = try media.make("odd.mkv", "-i \(clip) -c copy -bsf:v setts=pts=\(times)")
        let imported = try Self.import(path, in: media)
        #expect(imported.decoded.pictures > 145)
        #expect(imported.decoded.undecodable == 0)
        let foreign = try DecodingCheck.findings(inForeign: path, control: WorkControl())
        #expect(foreign.allSatisfy { $0.severity == .note }, "\(foreign)")
    }

    @Test func `a stream that begins with zeros is a transport stream's, too`() throws {
        let media = try MediaFiles()
        let bytes = try Self.read(
            try media.make("clip.h264", "\(Self.clip) -an".replacing(" -c:a aac", with: "")))
        let path = try Self.write([UInt8](repeating: 0, count: 9) + bytes, "zeros.h264", in: media)
        #expect(try Self.remux(path, to: "copy.ts", .mpegTS, in: media).packets == 60)
    }

    @Test(arguments: [
        "mkv -output_ts_offset 100", "flv -output_ts_offset 100",
        "mkv -output_ts_offset 1764000000",
        "mp4 -movflags cmaf+frag_discont -output_ts_offset 1764000000",
    ])
    func `a file whose clock begins late is whole`(_ words: String) throws {
        let media = try MediaFiles()
        let plain = try media.make("clip.mp4", Self.clip)
        let (suffix, options) = (words.prefix(3), words.dropFirst(4))
        let path = try media.make("late.\(suffix)", "-i \(plain) -c copy \(options)")
        let imported = try Self.import(path, in: media)
        #expect(imported.samples.pictures == 60 && imported.gaps.isEmpty)
        #expect(imported.decoded.pictures == 60)
        let copy = try Self.remux(path, to: "copy.mp4", .mp4, in: media)
        #expect(copy.packets == imported.samples.pictures + imported.samples.sound)
        #expect(try Self.seconds(of: "copy.mp4", in: media) == 6)
    }

    // MARK: What only the container says

    @Test func `a colour description of the container is reported as lost`() throws {
        let media = try MediaFiles()
        let plain = try media.make("clip.mp4", Self.clip)
        let path = try media.make(
            "colour.mp4",
            "-i \(plain) -c copy -color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc "
                + "-movflags write_colr")
        let note = "the colour description, which only its container states, is left out"
        #expect(try Self.import(path, in: media).notes == [note])
        #expect(try Self.import(plain, in: media).notes.isEmpty)
        #expect(try Self.remux(path, to: "copy.mkv", .matroska, in: media).leftOut.isEmpty)
        #expect(
            try Self.remux(path, to: "copy.ts", .mpegTS, in: media).leftOut
                == ["the colour description of stream 0"])
    }

    @Test func `a rotation that a container cannot hold is reported as lost`() throws {
        let media = try MediaFiles()
        let plain = try media.make("clip.mp4", Self.clip)
        let path = try media.make("turned.mp4", "-i \(plain) -c copy -metadata:s:v:0 rotate=90")
        #expect(try Self.remux(path, to: "copy.mov", .mov, in: media).leftOut.isEmpty)
        for (name, format) in [("copy.mkv", ContainerFormat.matroska), ("copy.ts", .mpegTS)] {
            #expect(
                try Self.remux(path, to: name, format, in: media).leftOut
                    == ["the rotation of stream 0"])
        }
    }
}
