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

@Suite("Turned recordings", .enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media"))
struct OrientationTests {
    /// A white square in the upper left corner of black, in a file rotated by a quarter: it appears in the upper right.
    private static func archive() throws -> ImportedArchive {
        try ImportedArchive([
            "plain.mp4":
                "-f lavfi -i color=black:s=320x180:r=25:d=2,drawbox=w=80:h=80:c=white:t=fill "
                + "-f lavfi -i sine=d=2 -c:v libx264 -preset ultrafast -g 25 -pix_fmt yuv420p -c:a aac"
        ])
    }

    private static func turned() throws -> (ImportedArchive, RecordedSession) {
        let archive = try archive()
        let path = try archive.media.make(
            "stage.mp4", "-i \(archive.clips[0]) -c copy -metadata:s:v rotate=270")
        // FFmpeg measures the angle the other way; the decoded picture decides.
        let seen = try corners(path, archive, width: 180, height: 320)
        try #require(seen.left < 40 && seen.right > 200)
        let layout = ArchiveLayout(root: archive.path("turned"))
        let result = try RecordingImport(
            [path], into: layout, options: RecordingImport.Options(), control: WorkControl()
        ).run()
        return (archive, try RecordedSession(result.session, in: layout))
    }

    private static func range(_ session: RecordedSession) throws -> ExportRange {
        ExportRange(
            source: try #require(session.source("stage")), sessionZero: session.zero,
            startNanoseconds: nil, endNanoseconds: nil)
    }

    /// Brightness of the upper corners of FFmpeg's first picture of the file.
    private static func corners(
        _ path: String, _ archive: ImportedArchive, width: Int, height: Int, _ before: [String] = []
    ) throws -> (left: UInt8, right: UInt8) {
        let pixels = try archive.media.run(
            before + ["-i", path, "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "gray", "-"])
        try #require(pixels.count == width * height)
        return (pixels[20 * width + 20], pixels[20 * width + width - 20])
    }

    @Test func `a rotated file is imported and exported with its rotation`() throws {
        let (archive, session) = try Self.turned()
        let range = try Self.range(session)
        let path = archive.path("copy.mov")
        var export = try MovieExport(
            range, to: OutputFile(path, overwrites: false), options: MovieExport.Options(),
            control: WorkControl())
        _ = try export.run()
        let seen = try Self.corners(path, archive, width: 180, height: 320)
        #expect(seen.left < 40 && seen.right > 200, "\(seen)")
        // Its samples are unchanged.
        let raw = try Self.corners(path, archive, width: 320, height: 180, ["-noautorotate"])
        #expect(raw.left > 200 && raw.right < 40, "\(raw)")
    }

    @Test func `transcoded pictures are rotated themselves`() throws {
        let (archive, session) = try Self.turned()
        let path = archive.path("new.mkv")
        _ = try TranscodeExport(
            try Self.range(session), to: OutputFile(path, overwrites: false), format: .matroska,
            settings: TranscodeSettings(videoCodec: .h264, audioCodec: nil), control: WorkControl()
        ).run()
        let seen = try Self.corners(path, archive, width: 180, height: 320)
        #expect(seen.left < 40 && seen.right > 200, "\(seen)")
    }

    @Test func `MP4 keeps the orientation if only audio is encoded`() throws {
        let (archive, session) = try Self.turned()
        let path = archive.path("sound.mp4")
        _ = try TranscodeExport(
            try Self.range(session), to: OutputFile(path, overwrites: false), format: .mp4,
            settings: TranscodeSettings(videoCodec: nil, audioCodec: .aac), control: WorkControl()
        ).run()
        let seen = try Self.corners(path, archive, width: 180, height: 320)
        #expect(seen.left < 40 && seen.right > 200, "\(seen)")
    }

    @Test func `a container without orientation gets the samples, with a note`() throws {
        let (archive, session) = try Self.turned()
        let path = archive.path("copy.ts")
        let summary = try ContainerExport(
            try Self.range(session), to: OutputFile(path, overwrites: false), format: .mpegTS,
            closesGaps: false, control: WorkControl()
        ).run()
        #expect(summary.notes.contains { $0.contains("rotated by 90°") }, "\(summary.notes)")
    }

    @Test(arguments: [StillFormat.jpeg, .png])
    func `a single picture is as players show it`(_ format: StillFormat) throws {
        let (archive, session) = try Self.turned()
        let path = archive.path("picture.\(format.rawValue)")
        _ = try PictureExtraction(
            try Self.range(session), as: format, to: .file(OutputFile(path, overwrites: false))
        ).run()
        let seen = try Self.corners(path, archive, width: 180, height: 320)
        #expect(seen.left < 40 && seen.right > 200, "\(seen)")
    }
}
