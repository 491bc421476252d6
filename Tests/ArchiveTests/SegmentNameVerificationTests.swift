import Foundation
import Media
import TestRecordings
import Testing

@testable import Archive

/// A segment's name and the session's zero are those that its fragments state.
@Suite struct SegmentNameVerificationTests {
    private let archive = SmallArchive()
    private let paths: [String]

    init() throws { paths = try archive.addSession("s", segments: 3) }

    private func damage() throws -> [Finding] {
        try SessionVerifier.verify("s", in: archive.layout).allFindings
            .filter(\.severity.isDamage)
    }

    private func rename(_ from: String, _ to: String) throws {
        try FileManager.default.moveItem(atPath: from, toPath: to)
    }

    private func describe(_ change: (inout SessionManifest) -> Void) throws {
        let path = archive.layout.manifest("s")
        var manifest = try SessionManifest.read(path)
        change(&manifest)
        try FileSystem.replace(path, with: manifest.encoded())
    }

    @Test func `exchanged names are damage`() throws {
        #expect(try damage().isEmpty)
        try rename(paths[0], paths[0] + ".x")
        try rename(paths[1], paths[0])
        try rename(paths[0] + ".x", paths[1])
        let found = try damage()
        #expect(found.map(\.path) == [paths[0], paths[1]])
        #expect(found.allSatisfy { $0.text.contains("rename it") })
    }

    @Test func `a copy under another name is to be removed`() throws {
        let copy = paths[0].replacing(".mp4", with: " (copy).mp4")
        try FileManager.default.copyItem(atPath: paths[0], toPath: copy)
        let found = try damage().filter { $0.path == copy }
        #expect(found.map(\.text).contains { $0.contains("remove it if it is a copy") })
    }

    @Test(arguments: [SessionNotes.fileName, SessionMarks.fileName])
    func `unreadable labels are damage`(file: String) throws {
        let path = "\(archive.layout.session("s"))/\(file)"
        try FileSystem.replace(path, with: Array("{\"name\" : \"Pre".utf8))
        #expect(try damage().map(\.path) == [path])
        try FileSystem.replace(
            path,
            with: file == SessionNotes.fileName
                ? SessionNotes(name: "Premiere").encoded() : SessionMarks().encoded())
        #expect(try damage().isEmpty)
    }

    @Test func `a source that cannot be read is damaged once`() throws {
        let folder = archive.layout.source("s", "camera")
        try FileManager.default.removeItem(atPath: folder)
        #expect(try damage().map(\.text) == ["the session's source has no recording"])
        let known = Finding(.damage, folder, "cannot be read: Permission denied")
        let found = SessionReport.absenceFindings(["camera", "door"], besides: [known]) {
            archive.layout.source("s", $0)
        }
        #expect(found.map(\.path) == [archive.layout.source("s", "door")])
    }

    @Test func `a description with another zero is damage`() throws {
        try describe {
            let zero = $0.zeroTime.advanced(by: 7_000_000_000)
            $0.zero = zero.description
            $0.zeroUTCNanoseconds = zero.nanoseconds
        }
        let found = try damage()
        #expect(found.map(\.path) == [archive.layout.manifest("s")])
        #expect(found.first?.text.contains("in its files") == true)
    }

    @Test func `two different zeros in a description are damage`() throws {
        try describe { $0.zero = $0.zeroTime.advanced(by: 7_000_000_000).description }
        #expect(
            try damage().map(\.text).first?.hasPrefix("'zero' is") == true)
    }

    @Test func `a zero that recovery read from the session's name has whole milliseconds`() throws {
        try describe {
            $0.zeroUTCNanoseconds -= 999_999
            $0.zero = $0.zeroTime.description
        }
        #expect(try damage().isEmpty)
    }
}
