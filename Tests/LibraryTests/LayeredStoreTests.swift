import Archive
import Glibc
import Library
import ObjectStore
import Recordings
import Synchronization
import Testing
import TestRecordings

/// An archive from which media has moved into a bucket.
@Suite struct LayeredStoreTests {
    private let archive = SmallArchive()
    private let bucket = MemoryBucket()
    private let complaints = Complaints()

    private final class Complaints: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func take(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private func library(isReadOnly: Bool = false) throws -> RecordingLibrary {
        try RecordingLibrary(
            ArchiveReference(
                directory: archive.layout.root,
                bucket: ObjectSegmentStore(bucket, cacheBytes: 1 << 20, pause: { _ in })),
            isReadOnly: isReadOnly
        ) { [complaints] in complaints.take($0) }
    }

    @Test func `moved segments are read from the bucket, others from the directory`() throws {
        let paths = try archive.addSession("one", segments: 3)
        try archive.addSession("two", segments: 1)
        let whole = try SessionVerifier.verify("one", in: archive.layout)
        try bucket.add(archive.layout)
        for path in paths.prefix(2) { unlink(path) }
        try FileSystem.removeTree(archive.layout.session("two"))
        let library = try library()
        #expect(try library.sessionNames() == ["one", "two"])
        #expect(try library.sessions().map(\.segments) == [3, 1])
        let segments = try library.segments(of: "one")
        #expect(segments.count == 3)
        #expect(segments[0].path.hasPrefix("s3://bucket/prefix/one/camera/"))
        #expect(segments[2].path == paths[2])
        let report = try library.verification(of: "one")
        #expect(report.isIntact == whole.isIntact)
        #expect(report.sources.map(\.recordedSamples) == whole.sources.map(\.recordedSamples))
        #expect(try library.recording("two").sources.map(\.files.count) == [1])
        #expect(complaints.all.isEmpty)
    }

    @Test func `a file in both is read from the directory`() throws {
        try archive.addSession("one", segments: 1)
        try bucket.add(archive.layout)
        let library = try library()
        try library.setLabels(SessionNotes(name: "here"), of: "one")
        #expect(library.labels("one").name == "here")
        bucket.add(SessionNotes(name: "there").encoded(), at: "one/notes.json")
        #expect(library.labels("one").name == "here")
    }

    @Test func `without the bucket, a read-only library shows the directory`() throws {
        try archive.addSession("one", segments: 2)
        let library = try library(isReadOnly: true)
        bucket.fail([ObjectStoreError.Kind](repeating: .unreachable, count: 1_000))
        #expect(try library.sessionNames() == ["one"])
        #expect(try library.segments(of: "one").count == 2)
        #expect(complaints.all.count == 1)
        #expect(complaints.all.first?.contains("only what is in") == true)
        // A store that cannot be queried does not make its files missing.
        #expect(throws: ArchiveError.self) { try library.verification(of: "one") }
    }

    @Test func `without the bucket, commands fail instead of leaving something out`() throws {
        try archive.addSession("one", segments: 2)
        let library = try library()
        bucket.fail([ObjectStoreError.Kind](repeating: .denied, count: 1_000))
        #expect(throws: ArchiveError.self) { try library.recording("one") }
        #expect(throws: ArchiveError.self) { try library.files(of: "one", to: "retime a session") }
        #expect(complaints.all.isEmpty)
    }
}
