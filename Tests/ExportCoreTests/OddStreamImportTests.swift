import Archive
import Encoding
import ExportCore
import Foundation
import Library
import Media
import Recordings
import Testing
import TestMedia

/// Tests/MediaTests/README.md describes the streams and the expected results.
struct OddStreamImportTests {
    /// A stream's recording in segments of two seconds.
    private static func record(
        _ stream: OddStream, in media: borrowing MediaFiles
    ) throws -> (report: SessionReport, session: RecordedSession) {
        CodecLibrary.keepOffTerminal()
        let path = media.directory.appending(path: "odd.flv").path
        try Data(stream.file).write(to: URL(filePath: path))
        let layout = ArchiveLayout(root: media.directory.appending(path: "recordings").path)
        var options = RecordingImport.Options()
        options.segmentNanoseconds = 2_000_000_000
        let result = try RecordingImport(
            [path], into: layout, options: options, control: WorkControl()
        ).run()
        return (
            try SessionVerifier.verify(result.session, in: layout),
            try RecordedSession(result.session, in: layout)
        )
    }

    @Test(arguments: OddStream.all)
    func `every file decodes from every access point`(_ stream: OddStream) throws {
        let media = try MediaFiles()
        let (report, session) = try Self.record(stream, in: media)
        #expect(report.isIntact, "\(report.allFindings)")
        let files = session.sources[0].files
        #expect(files.count == stream.files)
        var sum = DecodingCheck.Result()
        for file in files {
            let result = try #require(
                try DecodingCheck.check(file.opened(), control: WorkControl()))
            #expect(result.undecodable == 0, "\(file.path): \(result)")
            sum.pictures += result.pictures
            sum.syncPictures += result.syncPictures
        }
        #expect(sum.pictures == stream.pictures - stream.hiddenPictures)
        #expect(sum.syncPictures == stream.syncPictures)
    }

    @Test(.enabled(if: MediaFiles.canBeMade), arguments: OddStream.all)
    func `FFmpeg decodes every file by itself`(_ stream: OddStream) throws {
        let media = try MediaFiles()
        let (_, session) = try Self.record(stream, in: media)
        var pictures = 0
        for file in session.sources[0].files {
            let hashes = try media.run(
                ["-i", file.path, "-map", "0:v", "-vsync", "passthrough", "-f", "framemd5", "-"])
            pictures += String(decoding: hashes, as: UTF8.self).split(separator: "\n")
                .count { !$0.hasPrefix("#") }
        }
        #expect(pictures == stream.pictures - stream.hiddenPictures)
    }

    @Test func `pictures that do not decode are reported with their time`() throws {
        let media = try MediaFiles()
        let (_, session) = try Self.record(OddStream.accessUnits[0], in: media)
        let file = session.sources[0].files[1]
        // The second picture's slices become those of a picture that refers to a missing parameter set.
        let opened = try file.opened()
        var cursor = try FileCursor(opened)
        let fragment = try #require(try cursor.next())
        let picture = fragment.samples[1]
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: file.path)))
        let start = Int(picture.offset)
        // After a delimiter and an SEI message, the slice is the last NAL unit.
        let slice = start + 4 + 2 + 4 + H264Writer.userData.count + 4
        #expect(bytes[slice] & 0x1F == 1)
        // first_mb_in_slice 0, slice_type 5, pic_parameter_set_id 22
        bytes[slice + 1] = 0b1001_1000
        bytes[slice + 2] = 0b0010_1111
        try Data(bytes).write(to: URL(filePath: file.path))
        let findings = try DecodingCheck.findings(
            in: RecordedFile(opening: file.path), control: WorkControl())
        #expect(findings.count == 1)
        #expect(findings.first?.severity == .damage)
        #expect(findings.first?.text.contains("of 20 pictures do not decode") == true)
        #expect(findings.first?.text.contains("2100 ms") == true)
    }

    /// Marks the pictures of a file's first fragments as no access points.
    private static func withoutAccessPoints(_ path: String, fragments: Int) throws {
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        var cursor = try FileCursor(RecordedFile(opening: path))
        // sample_depends_on and sample_is_non_sync_sample (ISO/IEC 14496-12 §8.8.3.1)
        let (sync, other): ([UInt8], [UInt8]) = ([2, 0, 0, 0], [1, 1, 0, 0])
        for _ in 0..<fragments {
            guard let fragment = try cursor.next(), let first = fragment.samples.first else {
                break
            }
            for place in Int(fragment.range.lowerBound)..<Int(first.offset) - sync.count
            where bytes[place..<place + sync.count].elementsEqual(sync) {
                bytes.replaceSubrange(place..<place + sync.count, with: other)
            }
        }
        try Data(bytes).write(to: URL(filePath: path))
    }

    @Test func `pictures before a file's first access point are not called decodable`() throws {
        let media = try MediaFiles()
        let (_, session) = try Self.record(OddStream.accessUnits[0], in: media)
        let file = session.sources[0].files[1]
        let whole = try #require(
            try DecodingCheck.check(file.opened(), control: WorkControl()))
        #expect(whole.leading == 0 && whole.syncPictures > 1)

        try Self.withoutAccessPoints(file.path, fragments: 1)
        let notes = try DecodingCheck.findings(
            in: RecordedFile(opening: file.path), control: WorkControl())
        #expect(notes.map(\.severity) == [.note, .note])
        #expect(notes.last?.text.contains("need the previous file") == true)

        try Self.withoutAccessPoints(file.path, fragments: .max)
        let findings = try DecodingCheck.findings(
            in: RecordedFile(opening: file.path), control: WorkControl())
        #expect(findings.map(\.severity) == [.damage])
        #expect(findings.first?.text.contains("none of its") == true)
    }
}
