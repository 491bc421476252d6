import Archive
import Foundation
import Library
import Testing
import TestRecordings

@testable import ViewerCore

/// The end of a source that is being recorded, from its files.
@Suite struct PresentEndTests {
    private let archive = SmallArchive()
    private let memory = CoverageMemory()

    private let paths: [String]

    init() throws {
        paths = try archive.addSession("s", segments: 2, state: .recording)
    }

    /// - Parameter age: of the newest file, seconds.
    private func end(of source: String = "camera", age: Int64) throws -> Int64? {
        let date = try FileManager.default.attributesOfItem(atPath: paths[1])[.modificationDate]
        let modified = try #require(date as? Date).timeIntervalSince1970
        let library = try RecordingLibrary(
            ArchiveReference(directory: archive.layout.root), isReadOnly: true
        ) { _ in }
        return try library.presentEnd(
            of: source, in: "s", remembering: memory,
            now: Int64(modified * 1e9) + age * 1_000_000_000)
    }

    /// Between two files, none grows: the newest picture was not found at each change of segment.
    @Test func `a source is recorded while its last file is finished and the next has no picture`()
        throws
    {
        #expect(try end(age: 0) == 20_000_000_000)
        #expect(try end(age: 9) == 20_000_000_000)
    }

    @Test func `a source whose files have not changed for long is not being recorded`() throws {
        #expect(try end(age: 11) == nil)
        #expect(try end(of: "other", age: 0) == nil)
    }
}
