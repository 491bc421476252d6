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
    private func end(of source: String = "camera", age: Int64) throws -> PresentEnd? {
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
        // Sound may be recorded up to there without pictures.
        let expected = PresentEnd(
            endNanoseconds: 20_000_000_000, oldestPictureNanoseconds: 10_000_000_000)
        #expect(try end(age: 0) == expected)
        #expect(try end(age: 9) == expected)
    }

    /// An agent that was killed leaves its file open: its last picture was the newest one for ever.
    @Test func `a growing file whose end is long before the present is not being recorded`()
        throws
    {
        try open(paths[1])
        for present: Int64 in [21, 30] {
            let expected = PresentEnd(
                endNanoseconds: 20_000_000_000,
                oldestPictureNanoseconds: (present - 10) * 1_000_000_000)
            #expect(try end(ofGrowing: present) == expected)
        }
        #expect(try end(ofGrowing: 31) == nil)
        #expect(try end(ofGrowing: 3_600) == nil)
    }

    /// - Parameter present: seconds of session time.
    private func end(ofGrowing present: Int64) throws -> PresentEnd? {
        let library = try RecordingLibrary(
            ArchiveReference(directory: archive.layout.root), isReadOnly: true
        ) { _ in }
        // A collector runs.
        let lock = try #require(try ArchiveLock.take(archive.layout))
        defer { withExtendedLifetime(lock) {} }
        return try library.presentEnd(
            of: "camera", in: "s", remembering: memory,
            now: SmallArchive.zero.nanoseconds + present * 1_000_000_000)
    }

    /// Makes a finished file one that grows: it has 'free' instead of the index after 'ftyp'.
    private func open(_ path: String) throws {
        var bytes = try FileSystem.read(path, limit: 1 << 20)
        let start = bytes[..<4].reduce(0) { $0 << 8 | Int($1) }
        bytes.replaceSubrange(
            start..<(start + 16),
            with: [0, 0, 0, 16] + Array("free".utf8) + [UInt8](repeating: 0, count: 8))
        try FileSystem.replace(path, with: bytes)
    }

    @Test func `a source whose files have not changed for long is not being recorded`() throws {
        #expect(try end(age: 11) == nil)
        #expect(try end(of: "other", age: 0) == nil)
    }
}
