import Archive
import ExportCore
import HTTPTypes
import Library
import MP4
import TestRecordings
import Testing

@testable import ViewerCore

/// What errors are for who has asked.
@Suite struct ViewerSiteTests {
    private struct Unknown: Error {}

    private static let errors: [(any Error, Int)] = [
        (MP4Error.noBox(offset: 7), 503),
        (MP4Error.shortRead(offset: 7, wanted: 2, got: 1), 503),
        (Unknown(), 503),
        (ArchiveError.malformed(path: "/secret/a.mp4", reason: "its index is cut"), 503),
        (ArchiveError.system(operation: "read", path: "/secret/a.mp4", errno: 5), 503),
        (ArchiveError.system(operation: "read", path: "/secret/a.mp4", errno: 2), 404),
        (ArchiveError.badName("a/b"), 404),
        (LibraryError.noArchive("/secret"), 503),
        (LibraryError.noCatalog, 503),
        (LibraryError.noSession("a", archive: "/secret"), 404),
        (ExportError.noSource("a", available: ["secret"]), 404),
        (ExportError.nothingThere("stage"), 404),
        (ExportError.tooLong, 413),
        (ExportError.damaged(path: "/secret/a.mp4", reason: "a box is too long"), 503),
        (ExportError.refused(path: "/secret/a.mp4", reason: "it is a directory"), 503),
    ]

    @Test func `an error of reading is an answer of one line, without paths`() throws {
        for (error, status) in Self.errors {
            let problem = try #require(ViewerSite.answer(to: error) as? Problem)
            #expect(problem.status.code == status, "\(error)")
            #expect(!problem.text.contains("secret") && !problem.text.contains("\n"), "\(error)")
        }
        let own = Problem(.conflict, "it is running")
        #expect((ViewerSite.answer(to: own) as? Problem)?.status == .conflict)
        #expect(ViewerSite.answer(to: CancellationError()) is CancellationError)
    }

    @Test func `a session of other people's sources is like one that is not there`() throws {
        let archive = SmallArchive()
        try archive.addSession("one", segments: 1)
        let library = try RecordingLibrary(readingOnly: archive.layout.root) { _ in }
        let source = try #require(try library.sourceNames("one").first)
        let own = Rights(role: .viewer, sources: .named([source]))
        #expect(try library.sources(of: "one", for: own) == [source])
        #expect(try library.sources(of: "two", for: .everything).isEmpty)
        let other = Rights(role: .operator, sources: .named(["other"]))
        for session in ["one", "two"] {
            let problem = #expect(throws: Problem.self) {
                try library.sources(of: session, for: other)
            }
            #expect(problem?.status == .notFound && problem?.text == ViewerSite.noRecording.text)
        }
    }
}
