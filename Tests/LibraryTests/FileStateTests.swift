import Archive
import Foundation
import Glibc
import Synchronization
import TestRecordings
import Testing

@testable import Library
@testable import Recordings

/// How often files are opened to identify a range.
@Suite struct FileStateTests {
    private static let second: Int64 = 1_000_000_000
    private static let session = "2026-09-21T14-13-20.000Z"
    private let archive = SmallArchive()

    /// A directory that counts how often media is opened.
    private final class CountingStore: SegmentStore {
        let near: DirectoryStore
        let opened = Mutex<[String]>([])

        init(_ near: DirectoryStore) { self.near = near }

        var name: String { near.name }
        func path(_ file: StoredPath) -> String { near.path(file) }
        func list(_ folder: StoredPath) throws(ArchiveError) -> [StoredEntry] {
            try near.list(folder)
        }
        func open(_ file: StoredPath) throws(ArchiveError) -> any StoredFile {
            if file.name.hasSuffix(".mp4") { opened.withLock { $0.append(file.name) } }
            return try near.open(file)
        }
        func put(_ bytes: [UInt8], at file: StoredPath) throws(ArchiveError) {
            try near.put(bytes, at: file)
        }
        func delete(_ file: StoredPath) throws(ArchiveError) { try near.delete(file) }

        /// The number since the last call.
        func takeOpened() -> Int {
            opened.withLock { opened in
                defer { opened = [] }
                return opened.count
            }
        }
    }

    private func setModified(_ path: String, secondsAgo: Double) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -secondsAgo)], ofItemAtPath: path)
    }

    @Test func `a repeated query of a range opens only changed files`() throws {
        let paths = try archive.addSession(Self.session, segments: 144)
        for path in paths { try setModified(path, secondsAgo: 3_600) }
        let store = CountingStore(DirectoryStore(archive.layout))
        let memory = FileStateMemory()
        func state(
            _ range: Range<Int64>? = nil, remembering memory: FileStateMemory?
        ) throws -> Digest {
            let source = try #require(
                try RecordedSession(Self.session, in: store).sources.first)
            return try source.state(
                from: range.map { $0.lowerBound * Self.second },
                until: range.map { $0.upperBound * Self.second }, remembering: memory)
        }
        let first = try state(remembering: memory)
        #expect(store.takeOpened() == 144)
        for _ in 0..<3 { #expect(try state(remembering: memory) == first) }
        #expect(store.takeOpened() == 0)
        // Another range needs no file either, and has another identity.
        #expect(try state(100..<200, remembering: memory) != first)
        #expect(store.takeOpened() == 0)
        #expect(try state(remembering: nil) == first)
        #expect(store.takeOpened() == 144)
        // A file whose time of change is recent may change again within the clock's resolution: it is opened each time.
        try setModified(paths[7], secondsAgo: 5)
        #expect(try state(remembering: memory) == first)
        #expect(try state(remembering: memory) == first)
        #expect(store.takeOpened() == 2)
        // A removed file no longer belongs to the range; known data does not hide an unreadable file.
        #expect(unlink(paths[8]) == 0)
        #expect(try state(remembering: memory) != first)
        try FileSystem.replace(paths[9], with: Array("nonsense".utf8))
        try setModified(paths[9], secondsAgo: 1_800)
        #expect(throws: ArchiveError.self) { try state(remembering: memory) }
    }
}
