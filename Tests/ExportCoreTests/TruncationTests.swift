import Archive
import Devices
import ExportCore
import Foundation
import Library
import Media
import Recordings
import Testing
import TestMedia

/// Our recordings without their end, as after an interrupted copy.
@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media")) struct TruncationTests {
    private let archive: ImportedArchive

    init() throws { archive = try ImportedArchive() }

    /// A copy of the session with its last file truncated.
    private func cut(
        to size: (_ whole: Int, _ index: Int, _ fragment: Int) -> Int
    ) throws -> (session: String, file: String) {
        let session = archive.media.directory.appending(path: "\(UUID())").path
        try FileManager.default.copyItem(
            atPath: archive.layout.session(archive.session.name), toPath: session)
        let last = try #require(archive.session.source("stage")?.files.last)
        let file = "\(session)/stage/\(URL(filePath: last.path).lastPathComponent)"
        let bytes = try Data(contentsOf: URL(filePath: file))
        let index = try #require(bytes.range(of: Data("moov".utf8), options: .backwards))
        // Its last fragment begins there.
        let fragment = try #require(bytes.range(of: Data("moof".utf8), options: .backwards))
        let place = size(bytes.count, index.lowerBound - 4, fragment.lowerBound - 4)
        #expect(truncate(file, place) == 0)
        return (session, file)
    }

    /// All readers of recordings, writing files into a directory of their own.
    private func attempts(_ session: String) throws -> (directory: String, [() throws -> Void]) {
        let directory = archive.media.directory.appending(path: "\(UUID())").path
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        func range() throws -> ExportRange {
            let (layout, name) = try #require(ArchiveLayout.session(directory: session))
            let session = try RecordedSession(name, in: layout)
            return ExportRange(
                source: try #require(session.source("stage")), sessionZero: session.zero,
                startNanoseconds: nil, endNanoseconds: nil)
        }
        func output(_ name: String) throws -> OutputFile {
            try OutputFile("\(directory)/\(name)", overwrites: false)
        }
        let attempts: [() throws -> Void] = [
            {
                var export = try MovieExport(
                    try range(), to: output("out.mp4"), options: MovieExport.Options(),
                    control: WorkControl())
                _ = try export.run()
            },
            {
                _ = try StreamExtraction(
                    range(), of: .video, to: .file(output("out.h264")), control: WorkControl()
                ).run()
            },
            {
                _ = try WaveExtraction(
                    range(), to: .file(output("out.wav")), closesGaps: false,
                    control: WorkControl()
                ).run()
            },
        ]
        return (directory, attempts)
    }

    @Test func `a truncated finished file is refused, and nothing is left`() throws {
        let places: [(_ whole: Int, _ index: Int, _ fragment: Int) -> Int] = [
            { _, _, _ in 0 }, { _, _, _ in 10 }, { _, _, _ in 40 }, { _, _, _ in 100 },
            { whole, _, _ in whole / 10 }, { whole, _, _ in whole / 2 }, { $2 }, { $2 + 20 },
            { _, index, _ in index - 1 }, { _, index, _ in index + 4 },
            { whole, index, _ in (whole + index) / 2 }, { whole, _, _ in whole - 1 },
        ]
        for (number, place) in places.enumerated() {
            let (session, file) = try cut(to: place)
            let (directory, attempts) = try attempts(session)
            for attempt in attempts {
                let error = try #require(throws: (any Error).self, "place \(number)") {
                    try attempt()
                }
                #expect(!"\(error)".contains("\n") && "\(error)".contains(".mp4"), "\(error)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
            let verified = FileVerifier.verify(file)
            #expect(!verified.report.isIntact, "place \(number)")
        }
    }

    @Test func `a file that lost only its index has all media, and verify reports it`() throws {
        let (session, file) = try cut { _, index, _ in index }
        let (directory, attempts) = try attempts(session)
        for attempt in attempts { try attempt() }
        for words in ["-map 0:v -c copy", "-map 0:a -c copy"] {
            #expect(
                try archive.hash("\(directory)/out.mp4", words)
                    == archive.hash(archive.clips[0], words))
        }
        #expect(!FileVerifier.verify(file).report.isIntact)
    }
}
