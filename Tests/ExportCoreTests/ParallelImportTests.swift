import Archive
import ExportCore
import Foundation
import TestMedia
import Testing

/// Imports into one archive at one time.
@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media"))
struct ParallelImportTests {
    private static let words =
        "-f lavfi -i testsrc2=s=320x180:r=25:d=1 \(MediaFiles.h264) "
        + "-metadata creation_time=2026-01-01T00:00:00Z"

    @Test func `files of one creation time become separate sessions`() async throws {
        let media = try MediaFiles()
        let path = try media.make("clip.mp4", Self.words)
        let root = media.directory.appending(path: "recordings").path
        let sessions = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    try RecordingImport(
                        [path], into: ArchiveLayout(root: root), options: RecordingImport.Options(),
                        control: WorkControl()
                    ).run().session
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(sessions.count == 6)
        #expect(try FileManager.default.contentsOfDirectory(atPath: root) == ["sessions"])
    }

    @Test func `leftovers of a killed import are removed`() throws {
        let media = try MediaFiles()
        let path = try media.make("clip.mp4", Self.words)
        let root = media.directory.appending(path: "recordings").path
        for name in [".import-4194304", ".import-2026-01-01T00-00-00.000Z"] {
            try FileManager.default.createDirectory(
                atPath: "\(root)/\(name)/sessions/x", withIntermediateDirectories: true)
        }
        _ = try RecordingImport(
            [path], into: ArchiveLayout(root: root), options: RecordingImport.Options(),
            control: WorkControl()
        ).run()
        #expect(try FileManager.default.contentsOfDirectory(atPath: root) == ["sessions"])
    }
}
