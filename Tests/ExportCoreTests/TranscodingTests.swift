import Archive
import Containers
import Encoding
import ExportCore
import Foundation
import Library
import Media
import Recordings
import Testing
import TestMedia

@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media")) struct TranscodingTests {
    private static func export(
        _ archive: ImportedArchive, _ range: ExportRange, to name: String,
        _ format: ContainerFormat, _ settings: TranscodeSettings
    ) throws -> ExportSummary {
        try TranscodeExport(
            range, to: OutputFile(archive.path(name), overwrites: true), format: format,
            settings: settings, control: WorkControl()
        ).run()
    }

    @Test func `H.264 in MP4 becomes HEVC in MOV that Apple's players take`() throws {
        let archive = try ImportedArchive()
        var settings = TranscodeSettings(videoCodec: .hevc, audioCodec: nil)
        settings.isFastStart = true
        let summary = try Self.export(
            archive, try archive.range(from: 1.32, seconds: 1), to: "out.mov", .mov, settings)
        #expect(summary.startNanoseconds == 1_320_000_000)
        let path = archive.path("out.mov")
        #expect(try Data(contentsOf: URL(filePath: path)).range(of: Data("hvc1".utf8)) != nil)
        #expect(try ContainerProbe(path).videoCodecs == ["hevc"])
        let pictures = try archive.media.run([
            "-i", path, "-map", "0:v", "-f", "rawvideo", "-pix_fmt", "gray", "-",
        ])
        #expect(pictures.count == 25 * 320 * 180)
        let expected = try archive.sound(archive.clips[0], "-af atrim=start=1.32:duration=1")
        #expect(try archive.sound(path).prefix(80_000) == expected.prefix(80_000))
    }

    @Test func `sound that is encoded again stays where it was, and as long`() throws {
        let archive = try ImportedArchive()
        for (name, format, codec) in [
            ("out.mkv", ContainerFormat.matroska, SoundCodec.opus),
            ("out.mp4", .mp4, .aac),
        ] {
            let settings = TranscodeSettings(videoCodec: nil, audioCodec: codec)
            _ = try Self.export(archive, try archive.range(), to: name, format, settings)
            let path = archive.path(name)
            #expect(try ContainerProbe(path).audioCodecs == [codec.rawValue])
            #expect(
                try archive.hash(path, "-map 0:v -c copy")
                    == archive.hash(archive.clips[0], "-map 0:v -c copy"))
            let frames = try archive.sound(path).count / 2
            #expect(abs(frames - 6 * 48_000) <= 1_024)
        }
    }

    @Test func `AV1 and a smaller size`() throws {
        let archive = try ImportedArchive()
        var settings = TranscodeSettings(videoCodec: .av1, audioCodec: .opus)
        settings.size = PictureSize(width: 160, height: 90)
        _ = try Self.export(
            archive, try archive.range(seconds: 1), to: "out.webm", .webM, settings)
        let pictures = try archive.media.run([
            "-i", archive.path("out.webm"), "-map", "0:v", "-f", "rawvideo", "-pix_fmt", "gray",
            "-",
        ])
        #expect(pictures.count == 25 * 160 * 90)
    }

    @Test func `a grid shows several sources at the same instants`() throws {
        let archive = try ImportedArchive([
            "stage.mp4": ImportedArchive.clip,
            "door.mp4":
                "-f lavfi -i color=white:s=320x240:r=10:d=3 -c:v libx264 -preset ultrafast -g 10",
        ])
        var ranges: [ExportRange] = []
        for source in archive.session.sources {
            ranges.append(ExportRange(source: source, sessionZero: archive.session.zero))
        }
        var options = GridExport.Options()
        options.size = PictureSize(width: 640, height: 180)
        options.audioSource = "stage"
        let path = archive.path("grid.mp4")
        let summary = try GridExport(
            ranges, to: OutputFile(path, overwrites: false), format: .mp4, options: options,
            settings: TranscodeSettings(videoCodec: nil, audioCodec: nil), control: WorkControl()
        ).run()
        #expect(summary.pictures == 150)
        let pictures = try archive.media.run([
            "-i", path, "-map", "0:v", "-f", "rawvideo", "-pix_fmt", "gray", "-",
        ])
        #expect(pictures.count == 150 * 640 * 180)
        func luma(_ picture: Int, _ x: Int, _ y: Int) -> UInt8 {
            pictures[picture * 640 * 180 + y * 640 + x]
        }
        // The door's cell is white at its centre while it has media, and grey a second later.
        #expect(luma(10, 160, 90) > 220)
        #expect(luma(70, 160, 90) > 220)
        #expect(luma(120, 160, 90) < 80)
        let frames = try archive.sound(path).count / 2
        #expect(abs(frames - 6 * 48_000) <= 2_048)
    }

    @Test func `a grid's size follows from the number of its sources`() throws {
        let clip = "-f lavfi -i color=white:s=320x180:r=10:d=1 -c:v libx264 -preset ultrafast"
        let archive = try ImportedArchive(["stage.mp4": clip, "door.mp4": clip])
        let ranges = archive.session.sources.map {
            ExportRange(source: $0, sessionZero: archive.session.zero)
        }
        for (sources, width, height) in [(1, 1280, 720), (2, 1280, 360)] {
            let path = archive.path("grid-\(sources).mp4")
            _ = try GridExport(
                Array(ranges.prefix(sources)), to: OutputFile(path, overwrites: false),
                format: .mp4, options: GridExport.Options(),
                settings: TranscodeSettings(videoCodec: nil, audioCodec: nil),
                control: WorkControl()
            ).run()
            let pictures = try archive.media.run([
                "-i", path, "-map", "0:v", "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "gray",
                "-",
            ])
            #expect(pictures.count == width * height)
            // White except under the text.
            let middle = pictures[(pictures.startIndex + height / 2 * width)...].prefix(width)
            #expect(middle.allSatisfy { $0 > 220 })
        }
    }
}
