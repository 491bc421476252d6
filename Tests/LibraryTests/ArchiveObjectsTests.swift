import Archive
import Foundation
import Glibc
import Library
import Media
import ObjectStore
import Recordings
import Synchronization
import Testing
import TestRecordings

/// The files of an archive's directory as a viewer serves them to other readers of the site.
@Suite struct ArchiveObjectsTests {
    /// Reads an archive's objects as a reader does behind a viewer, without HTTP.
    private final class ServedBucket: ReadableBucket {
        let name = "https://west.example/west"
        let objects: ArchiveObjects

        init(_ layout: ArchiveLayout) { objects = ArchiveObjects(layout) }

        func list(
            prefix: String, after: String?, folders: Bool
        ) throws(ObjectStoreError) -> ObjectPage {
            guard let folder = ArchiveObjects.Folder(prefix: prefix, folders: folders) else {
                throw ObjectStoreError(.refused, prefix)
            }
            do throws(ArchiveError) {
                return try objects.list(folder, after: after)
            } catch {
                throw ObjectStoreError(.busy, "\(error)")
            }
        }

        func properties(of key: String) throws(ObjectStoreError) -> ObjectProperties? {
            guard case .object(let object) = try opening(key, nil) else { return nil }
            return ObjectProperties(sizeBytes: object.sizeBytes, tag: "\"\(object.tag)\"")
        }

        func read(
            _ key: String, range: Range<Int64>, tag: String?
        ) throws(ObjectStoreError) -> [UInt8] {
            switch try opening(key, tag) {
            case .absent: throw ObjectStoreError(.gone, key)
            case .changed: throw ObjectStoreError(.changed, key)
            case .object(let object):
                do throws(ArchiveError) {
                    return try object.file.read(at: range.lowerBound, count: range.count)
                } catch {
                    throw ObjectStoreError(.unreachable, "\(error)")
                }
            }
        }

        private func opening(
            _ key: String, _ tag: String?
        ) throws(ObjectStoreError) -> ArchiveObjects.Opening {
            guard let key = ArchiveObjects.Key(key) else { return .absent }
            do throws(ArchiveError) {
                return try objects.open(key, tag: tag)
            } catch {
                throw ObjectStoreError(.busy, "\(error)")
            }
        }
    }

    private func keys(
        _ objects: ArchiveObjects, _ prefix: String, folders: Bool = false, after: String? = nil
    ) throws -> [String] {
        let folder = try #require(ArchiveObjects.Folder(prefix: prefix, folders: folders))
        return try objects.list(folder, after: after).entries.map(\.key)
    }

    @Test func `an archive read through a viewer equals its directory`() throws {
        let recorded = try WrittenSession { _ in 0 }
        let store = ObjectSegmentStore(
            ServedBucket(recorded.layout), cacheBytes: 1 << 20, pause: { _ in })
        let there = try RecordingLibrary(ArchiveReference(bucket: store)) {
            Issue.record("\($0)")
        }
        let here = try RecordingLibrary(recorded.layout.root) { _ in }
        #expect(try there.sessionNames() == [WrittenSession.name])
        #expect(
            try there.segments(of: WrittenSession.name).map(\.start)
                == (try here.segments(of: WrittenSession.name)).map(\.start))
        func bytes(_ library: RecordingLibrary) throws -> [[UInt8]] {
            let session = try library.recording(WrittenSession.name)
            var reader = SampleReader(try #require(session.source("camera")))
            var bytes: [[UInt8]] = []
            while let sample = try reader.next() { bytes.append(try sample.read()) }
            return bytes
        }
        let (far, near) = (try bytes(there), try bytes(here))
        #expect(far == near && !far.isEmpty)
        let report = try there.verification(of: WrittenSession.name)
        let expected = try here.verification(of: WrittenSession.name)
        #expect(report.isIntact == expected.isIntact)
        #expect(report.sources.map(\.recordedSamples) == expected.sources.map(\.recordedSamples))
        let source = SourceKey(session: WrittenSession.name, source: "camera")
        #expect(throws: ArchiveError.self) { try store.put([1], at: .ledger(source)) }
        #expect(throws: ArchiveError.self) { try store.delete(.ledger(source)) }
    }

    @Test func `only the files of an archive exist as keys`() throws {
        let archive = SmallArchive()
        try archive.addSession("one", segments: 1)
        let session = archive.layout.session("one")
        let own = [
            "notes.json", "marks.json", ".protected", "clocks.jsonl", "camera/ledger.jsonl",
            "camera/lost.jsonl",
        ]
        let others = [
            "own.key", ".secret.mp4", "session.json.new", "archive.id", "camera/.hidden.mp4",
            "camera/checkpoint", "camera/note.txt", "camera/session.json", "camera/inner/a.mp4",
            "camera/a b.mp4",
        ]
        try FileManager.default.createDirectory(
            atPath: "\(session)/camera/inner", withIntermediateDirectories: true)
        for name in own + others {
            try Data("x".utf8).write(to: URL(filePath: "\(session)/\(name)"))
        }
        let objects = ArchiveObjects(archive.layout)
        let segment = try #require(
            try archive.layout.segmentPaths("one", "camera").map {
                URL(filePath: $0).lastPathComponent
            }.first { $0.hasPrefix("20") })
        let expected = (own + ["session.json", "camera/\(segment)"]).map { "one/\($0)" }.sorted()
        #expect(try keys(objects, "one/").sorted() == expected)
        for name in own { #expect(ArchiveObjects.Key("one/\(name)") != nil, "\(name)") }
        for name in others { #expect(ArchiveObjects.Key("one/\(name)") == nil, "\(name)") }
    }

    @Test func `a key cannot lead outside the archive`() {
        for text in [
            "", "/", "one", "one/", "../one/session.json", "one/../two/session.json",
            "one/camera/../session.json", "./session.json", "one//session.json",
            "/etc/passwd", "one/camera/../../../archive.id", "one/camera/x/ledger.jsonl",
            "one/camera/ledger.jsonl\0", "one/camera/\u{202E}.mp4", ".one/session.json",
            "one/.camera/ledger.jsonl",
        ] {
            #expect(ArchiveObjects.Key(text) == nil, "\(text)")
        }
        for (prefix, folders) in [
            ("", false), ("one", true), ("../", true), ("one/../", false), ("one//", false),
            ("one/camera/x/", false), ("/", true), (".", true),
        ] {
            #expect(ArchiveObjects.Folder(prefix: prefix, folders: folders) == nil, "\(prefix)")
        }
    }

    @Test func `links and pipes are neither listed nor opened`() throws {
        let archive = SmallArchive()
        let path = try #require(try archive.addSession("one", segments: 1).first)
        let folder = archive.layout.source("one", "camera")
        let outside = archive.directory.path + "/outside"
        try Data("secret".utf8).write(to: URL(filePath: outside))
        #expect(symlink(outside, "\(folder)/2026-01-01T00-00-00.000Z.mp4") == 0)
        #expect(mkfifo("\(folder)/2026-01-01T00-00-01.000Z.mp4", 0o600) == 0)
        #expect(symlink(folder, "\(archive.layout.session("one"))/door") == 0)
        #expect(symlink(archive.layout.session("one"), archive.layout.session("two")) == 0)
        let objects = ArchiveObjects(archive.layout)
        #expect(try keys(objects, "", folders: true) == ["one/"])
        #expect(
            try keys(objects, "one/") == [
                "one/camera/\(URL(filePath: path).lastPathComponent)", "one/session.json",
            ])
        for text in [
            "one/camera/2026-01-01T00-00-00.000Z.mp4", "one/camera/2026-01-01T00-00-01.000Z.mp4",
            "one/door/\(URL(filePath: path).lastPathComponent)", "two/session.json",
        ] {
            let key = try #require(ArchiveObjects.Key(text))
            guard case .absent = try objects.open(key, tag: nil) else {
                Issue.record("\(text) is served")
                continue
            }
        }
    }

    @Test func `pages follow each other in the order of keys, without a key twice`() throws {
        let archive = SmallArchive()
        try archive.addSession("one", segments: 1)
        // '-' and '.' precede the '/' behind a name.
        for source in ["camera", "camera-2", "camera.b", "d"] {
            let folder = archive.layout.source("one", source)
            try FileSystem.makeDirectories(folder)
            for index in 0..<700 {
                try Data().write(to: URL(filePath: "\(folder)/f\(index).mp4"))
            }
        }
        let objects = ArchiveObjects(archive.layout)
        let folder = ArchiveObjects.Folder.session("one", folders: false)
        var all: [String] = []
        var pages = 0
        while true {
            let page = try objects.list(folder, after: all.last)
            #expect(page.entries.count <= 1_000)
            all += page.entries.map(\.key)
            pages += 1
            if !page.isTruncated { break }
            try #require(pages < 10)
        }
        #expect(pages == 3)
        #expect(all.count == 4 * 700 + 2)
        #expect(all == Set(all).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        #expect(
            try keys(objects, "one/", folders: true, after: "one/camera-2/")
                == ["one/camera.b/", "one/camera/", "one/d/", "one/session.json"])
    }

    /// An open object's bytes; nil: absent or changed.
    private func bytes(
        _ objects: ArchiveObjects, _ key: String, tag: String?
    ) throws -> (bytes: [UInt8], tag: String)? {
        let key = try #require(ArchiveObjects.Key(key))
        guard case .object(let object) = try objects.open(key, tag: tag) else { return nil }
        return (try object.file.read(at: 0, count: Int(object.sizeBytes)), object.tag)
    }

    @Test func `a growing file keeps its first bytes as a version, a finished one does not`()
        throws
    {
        let archive = SmallArchive()
        let path = try #require(try archive.addSession("one", segments: 1).first)
        let finished = try FileSystem.read(path, limit: 1 << 20)
        // The placeholder of a file that grows: 'free' behind 'ftyp'.
        var growing = finished
        let start = finished[..<4].reduce(0) { $0 << 8 | Int($1) }
        growing.replaceSubrange(
            start..<(start + 16),
            with: [0, 0, 0, 16] + Array("free".utf8) + [UInt8](repeating: 0, count: 8))
        let name = URL(filePath: path).lastPathComponent
        let key = "one/camera/\(name)"
        let ledger = archive.layout.ledger("one", "camera")
        let objects = ArchiveObjects(archive.layout)

        func append(_ bytes: [UInt8], to path: String) throws {
            let handle = try FileHandle(forWritingTo: URL(filePath: path))
            try handle.seekToEnd()
            try handle.write(contentsOf: Data(bytes))
            try handle.close()
        }
        try Data(growing).write(to: URL(filePath: path))
        let first = try #require(try bytes(objects, key, tag: nil))
        try append([1, 2, 3], to: path)
        let again = try #require(try bytes(objects, key, tag: "\"\(first.tag)\""))
        #expect(again.bytes == growing && again.tag == first.tag)
        #expect(try bytes(objects, key, tag: nil)?.bytes == growing + [1, 2, 3])

        try Data("a\n".utf8).write(to: URL(filePath: ledger))
        let lines = try #require(try bytes(objects, "one/camera/ledger.jsonl", tag: nil))
        try append(Array("b\n".utf8), to: ledger)
        #expect(
            try bytes(objects, "one/camera/ledger.jsonl", tag: lines.tag)?.bytes
                == Array("a\n".utf8))

        // Finishing changes the beginning.
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.write(contentsOf: Data(finished))
        try handle.close()
        #expect(try bytes(objects, key, tag: first.tag) == nil)
        // Shorter, replaced, gone.
        let whole = try #require(try bytes(objects, key, tag: nil))
        #expect(truncate(path, 100) == 0)
        #expect(try bytes(objects, key, tag: whole.tag) == nil)
        try FileSystem.replace(ledger, with: Array("a\nb\nc\n".utf8))
        #expect(try bytes(objects, "one/camera/ledger.jsonl", tag: lines.tag) == nil)
        for tag in ["", "\"\"", "1-2", "x-1-1", "1--1-1", "1-99999999999999999999-1"] {
            #expect(try bytes(objects, key, tag: tag) == nil, "\(tag)")
        }
    }

    @Test func `a size that no file has is an error`() throws {
        /// Lists a segment of an impossible size.
        struct LyingBucket: ReadableBucket {
            let name = "https://west.example/west"

            func list(prefix: String, after: String?, folders: Bool) -> ObjectPage {
                ObjectPage(
                    entries: [
                        ObjectPage.Entry(
                            key: "one/camera/a.mp4", isFolder: false, sizeBytes: .max,
                            tag: "\"t\"", modifiedNanoseconds: nil)
                    ], isTruncated: false)
            }

            func properties(of key: String) -> ObjectProperties? {
                ObjectProperties(sizeBytes: .max, tag: "\"t\"")
            }

            func read(_ key: String, range: Range<Int64>, tag: String?) -> [UInt8] {
                [UInt8](repeating: 0, count: range.count)
            }
        }
        let path = StoredPath.session("one") / "camera" / "a.mp4"
        for isListed in [false, true] {
            let store = ObjectSegmentStore(LyingBucket(), cacheBytes: 1 << 20, pause: { _ in })
            if isListed { #expect(try store.list(.session("one")).count == 1) }
            #expect(throws: ArchiveError.self) { try store.open(path) }
        }
    }

    @Test func `a document that was replaced is read again`() throws {
        let archive = SmallArchive()
        try archive.addSession("one", segments: 1)
        let store = ObjectSegmentStore(
            ServedBucket(archive.layout), cacheBytes: 1 << 20, pause: { _ in })
        #expect(try store.list(.session("one")).count == 2)
        let notes = "\(archive.layout.session("one"))/session.json"
        let longer = try FileSystem.read(notes, limit: 1 << 20) + Array("\n \n".utf8)
        try FileSystem.replace(notes, with: longer)
        // The cached listing is older.
        #expect(try store.contents(.manifest("one"), limit: 1 << 20) == longer)
    }
}
