import Archive
import Catalog
import Foundation
import Library
import Media
import Recordings
import Synchronization
import Testing
import TestRecordings

/// Lookups by word, ID and time.
@Suite struct LibraryTests {
    private let archive = SmallArchive()

    /// Complaints while something is read.
    private final class Complaints: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func take(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private let complaints = Complaints()

    private var finder: SessionFinder {
        SessionFinder(archive.layout.root) { [complaints] in complaints.take($0) }
    }

    private func library() throws -> RecordingLibrary { try finder.library() }

    /// The meaning of a word, in one line.
    private func meaning(_ word: String) -> String {
        do {
            switch try finder.subject(word) {
            case .file(let path): return "file \(path)"
            case .session(let place): return "session \(place.name)"
            case .archive(let library): return "archive \(library.name)"
            }
        } catch {
            return "\(error)".replacing(archive.layout.root, with: "ARCHIVE")
        }
    }

    @Test func `marks that are added concurrently are all kept`() throws {
        try archive.addSession("one", segments: 1)
        let root = archive.layout.root
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 24) { index in
            do {
                let mark = SessionMarks.Mark(
                    id: SessionMarks.Mark.newIdentity(), atNanoseconds: Int64(index),
                    text: "\(index)")
                let library = try SessionFinder(root, complain: { _ in }).library()
                _ = try library.apply(SessionEdit(addedMarks: [mark]), to: "one")
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(try library().marks("one").marks.map(\.text) == (0..<24).map { "\($0)" })
    }

    @Test func `sessions are found by ID, name, tag, directory and age`() throws {
        #expect(meaning("latest").hasPrefix("no archive at ARCHIVE"))
        for name in ["one", "two", "three"] { try archive.addSession(name, segments: 1) }
        let library = try library()
        try library.setLabels(SessionNotes(name: "rehearsal", tags: ["red"]), of: "one")
        try library.setLabels(SessionNotes(name: "three", tags: ["red", "blue"]), of: "two")
        #expect(meaning("latest") == "session two")
        #expect(meaning("rehearsal") == "session one")
        // A stray folder is not a session; a damaged session is.
        try FileSystem.makeDirectories(archive.layout.session("zz"))
        #expect(meaning("latest") == "session two")
        try FileSystem.replace(archive.layout.manifest("zz"), with: Array("{".utf8))
        #expect(meaning("latest") == "session zz")
        try FileSystem.removeTree(archive.layout.session("zz"))
        // A name may look like a path.
        try library.setLabels(SessionNotes(name: "act/2"), of: "three")
        #expect(meaning("act/2") == "session three")
        try library.setLabels(SessionNotes(), of: "three")
        #expect(meaning("blue") == "session two")
        // An ID takes precedence over a name.
        #expect(meaning("three") == "session three")
        #expect(
            meaning("red")
                == "2 sessions have the name or tag 'red': one, two; give one of these IDs")
        #expect(try finder.subjects("red").sessions.map(\.name) == ["one", "two"])
        #expect(meaning("green").hasPrefix("no session 'green' in ARCHIVE, by ID, name or tag"))
        let root = archive.layout.root
        #expect(meaning(root) == "archive \(root)")
        #expect(meaning(archive.layout.session("one")) == "session one")
        #expect(meaning("\(root)/nothing") == "no file 'ARCHIVE/nothing'")
        #expect(
            meaning(archive.layout.source("one", "camera"))
                == "'ARCHIVE/sessions/one/camera' is neither a session directory (it has no session.json) nor an archive "
                + "(it has no sessions)")
        #expect(complaints.all.isEmpty)
    }

    @Test(arguments: [" ", "latest", "a\nb"])
    func `a name that cannot be used is refused`(name: String) {
        #expect(throws: SessionEdit.Flaw.self) { try SessionEdit(name: name) }
    }

    @Test func `a change is made although the catalog cannot be told of it`() throws {
        try archive.addSession("one", segments: 1)
        let (catalog, _) = try SQLiteCatalog.openMended(archive.layout)
        _ = try CatalogIndexing.update(catalog, archive.layout)
        let library = try library()
        let notes = "\(archive.layout.session("one"))/\(SessionNotes.fileName)"
        try FileSystem.replace(notes, with: Array("{".utf8))
        try library.setProtected(true, "one")
        #expect(library.isProtected("one"))
        #expect(complaints.all.contains { $0.contains("restore or remove it") })
    }

    @Test func `lists are the same with and without a catalog, but ranges need one`() throws {
        for name in ["one", "two"] { try archive.addSession(name, segments: 2) }
        let library = try library()
        try library.setLabels(SessionNotes(tags: ["red"]), of: "two")
        try library.setProtected(true, "one")
        let zero = SmallArchive.zero.nanoseconds
        func listed() throws -> [String] {
            try library.sessions().map {
                "\($0.session) \($0.state) \($0.isProtected) \($0.sources) \($0.segments) \($0.sizeBytes) \($0.tags)"
            }
        }
        let lock = try #require(try ArchiveLock.take(archive.layout))
        let plain = try listed()
        #expect(plain.count == 2 && plain[0].hasPrefix("one finished true [\"camera\"] 2 "))
        #expect(plain[1].hasSuffix("[\"red\"]"))
        #expect(throws: LibraryError.noCatalog) { try library.sessions(from: zero) }
        let (catalog, _) = try SQLiteCatalog.openMended(archive.layout)
        _ = try CatalogIndexing.update(catalog, archive.layout)
        #expect(try listed() == plain)
        #expect(try library.sessions(tags: ["red"]).map(\.session) == ["two"])
        #expect(try library.sessions(from: zero + 20_000_000_000).isEmpty)
        #expect(
            try library.segments(of: "one", from: zero + 10_000_000_001).map(\.startNanoseconds)
                == [10_000_000_000])
        withExtendedLifetime(lock) {}
    }

    @Test func `an invalid catalog is reported, and replaced only with write access`() throws {
        try archive.addSession("one", segments: 1)
        let path = SQLiteCatalog.path(archive.layout)
        try #require(mkfifo(path, 0o644) == 0)
        let reading = try RecordingLibrary(readingOnly: archive.layout.root) {
            [complaints] in complaints.take($0)
        }
        #expect(try reading.sessions().map(\.session) == ["one"])
        #expect(complaints.all.count == 1)
        #expect(complaints.all[0].contains("reading the files instead: 'tributary index' rebuilds"))
        // Applies a change of the files.
        let library = try library()
        try library.setLabels(SessionNotes(tags: ["red"]), of: "one")
        #expect(complaints.all.count == 2)
        let lock = try #require(try ArchiveLock.take(archive.layout))
        #expect(try library.sessions().map(\.tags) == [["red"]])
        #expect(complaints.all.last?.contains("the collector that records here") == true)
        #expect(try reading.sessions().map(\.tags) == [["red"]])
        withExtendedLifetime(lock) {}
    }

    @Test func `the files are read if there is no room for changes of the catalog`() throws {
        try archive.addSession("one", segments: 1)
        let library = try library()
        _ = try CatalogIndexing.update(SQLiteCatalog.open(archive.layout), archive.layout)
        let path = SQLiteCatalog.path(archive.layout)
        let answer = try library.askCatalog { _ throws(ArchiveError) -> Int in
            throw .system(operation: "use the catalog", path: path, errno: ENOSPC)
        }
        #expect(answer == nil)
        #expect(complaints.all.count == 1)
        #expect(
            complaints.all.first?.hasSuffix("No space left on device; reading the files instead")
                == true)
        // An error of another file is not the catalog's.
        #expect(throws: ArchiveError.self) {
            try library.askCatalog { _ throws(ArchiveError) -> Int in
                throw .system(operation: "read", path: "/elsewhere", errno: EIO)
            }
        }
    }

    @Test func `an invalid catalog is rebuilt if no collector records`() throws {
        try archive.addSession("one", segments: 1)
        let path = SQLiteCatalog.path(archive.layout)
        try #require(mkfifo(path, 0o644) == 0)
        #expect(try library().sessions(from: SmallArchive.zero.nanoseconds).count == 1)
        #expect(complaints.all.last == "rebuilt the catalog from the files of 1 sessions")
        #expect(try SQLiteCatalog.read(archive.layout)?.sessionNames() == ["one"])
    }

    @Test func `changed labels and protection are in the files and in the catalog`() throws {
        try archive.addSession("one", segments: 1)
        let library = try library()
        let (catalog, _) = try SQLiteCatalog.openMended(archive.layout)
        _ = try CatalogIndexing.update(catalog, archive.layout)
        let labels = SessionNotes(name: "rehearsal", note: "two\nlines")
        try library.setLabels(labels, of: "one")
        try library.setProtected(true, "one")
        #expect(library.labels("one") == labels)
        let row = try #require(try catalog.sessions().first)
        #expect(row.notes == labels && row.isProtected)
        #expect(throws: LibraryError.protected("one")) { try library.remove("one") }
        try library.setProtected(false, "one")
        try library.setLabels(SessionNotes(), of: "one")
        #expect(try catalog.sessions().first?.notes == SessionNotes())
        #expect(!FileSystem.exists("\(archive.layout.session("one"))/\(SessionNotes.fileName)"))
        try library.remove("one")
        #expect(try library.sessionNames().isEmpty)
        #expect(try catalog.sessions().isEmpty)
    }

    @Test func `a session that is not over is not removed`() throws {
        try archive.addSession("one", segments: 1, state: .recording)
        let library = try library()
        #expect(throws: LibraryError.unfinished("one")) { try library.remove("one") }
        #expect(try library.sessionNames() == ["one"])
    }

    @Test func `unreadable labels are left out, with a complaint`() throws {
        try archive.addSession("one", segments: 1)
        let library = try library()
        try FileSystem.replace(
            "\(archive.layout.session("one"))/\(SessionNotes.fileName)", with: Array("{".utf8))
        #expect(library.labels("one") == SessionNotes())
        #expect(complaints.all.count == 1)
    }

    @Test func `a removed segment is distinguished from one that never existed`() throws {
        let paths = try archive.addSession("one", segments: 3)
        try SegmentRemoval.remove(paths[0], cause: "older than is kept", now: SmallArchive.zero) {
            lines throws(ArchiveError) in try archive.append(lines, session: "one")
        }
        let library = try library()
        let source = try #require(try library.recording("one").source("camera"))
        let keys = try paths.map { path -> SegmentKey in
            let name = String(try #require(path.split(separator: "/").last))
            return try #require(
                SegmentKey(SourceKey(session: "one", source: "camera"), fileName: name))
        }
        #expect(try keys.map { try source.hasRemoved($0) } == [true, false, false])
    }

    @Test func `a listing for some sources counts their files alone`() throws {
        for (name, segments) in [("one", 3), ("two", 1)] {
            try archive.addSession(name, segments: segments)
        }
        // The first session has one file of the second source, the other has none.
        let camera = archive.layout.source("one", "camera")
        let door = archive.layout.source("one", "door")
        let first = try #require(try FileManager.default.contentsOfDirectory(atPath: camera).min())
        try FileSystem.makeDirectories(door)
        try FileManager.default.copyItem(atPath: "\(camera)/\(first)", toPath: "\(door)/\(first)")
        let library = try RecordingLibrary(readingOnly: archive.layout.root) { _ in }
        let zero = SmallArchive.zero.nanoseconds
        func listed(from: Int64? = nil, _ mayRead: (String) -> Bool) throws -> [SessionListing] {
            try library.sessions(from: from).compactMap {
                try library.narrowed($0, from: from, where: mayRead)
            }
        }
        let all = try #require(try listed { _ in true }.first)
        #expect(all.sources == ["camera", "door"] && all.segments == 4)
        let own = try listed { $0 == "door" }
        #expect(own.map(\.session) == ["one"])
        #expect(own.map(\.sources) == [["door"]] && own.map(\.segments) == [1])
        let size = try FileSystem.size("\(door)/\(first)")
        #expect(own.map(\.sizeBytes) == [size])
        // The session matches through the other source, and its description covers all of it.
        let late = zero + 12_000_000_000
        #expect(try listed(from: late) { $0 == "camera" }.map(\.segments) == [3])
        #expect(try listed(from: late) { $0 == "door" }.isEmpty)
    }

    @Test func `all listings state which sources are previews`() throws {
        try archive.addSession("one", segments: 2)
        let camera = archive.layout.source("one", "camera")
        try FileManager.default.copyItem(
            atPath: camera, toPath: archive.layout.source("one", "camera.preview"))
        try FileManager.default.copyItem(
            atPath: camera, toPath: archive.layout.source("one", "gate.preview"))
        let library = try RecordingLibrary(readingOnly: archive.layout.root) { _ in }
        let names = ["camera", "camera.preview", "gate.preview"]
        let relations = [nil, "camera", nil]
        let listing = try #require(try library.sessions().first)
        #expect(listing.sources == names && listing.previews == ["camera.preview"])
        func without(_ name: String) -> (String) -> Bool { { $0 != name } }
        let narrow = try library.narrowed(listing, where: without("camera"))
        #expect(narrow?.sources == Array(names.dropFirst()) && narrow?.previews == [])
        let details = try library.details(of: "one").details
        #expect(details.sources.map(\.previewOf) == relations)
        var overview = try library.overview(of: "one")
        #expect(overview.sources.map(\.name) == names)
        #expect(overview.sources.map(\.previewOf) == relations)
        overview.narrow(where: without("camera"))
        #expect(overview.sources.map(\.previewOf) == [nil, nil])
        func lanes(
            _ sources: [String]? = nil, where mayRead: (String) -> Bool
        ) throws -> [String?] {
            try library.coverage(
                of: "one", sources: sources, from: nil, until: nil, pixels: 100, where: mayRead
            ).map(\.previewOf)
        }
        #expect(try lanes { _ in true } == relations)
        // Also where its source is not asked for; but not where that may not be seen.
        #expect(try lanes(["camera.preview"]) { _ in true } == ["camera"])
        #expect(try lanes(where: without("camera")) == [nil, nil])
        let zero = SmallArchive.zero.nanoseconds
        let days = try #require(
            try library.recorded(in: zero..<zero + 60_000_000_000, resolutionNanoseconds: 1) {
                _ in true
            })
        #expect(days.map(\.source) == names && days.map(\.previewOf) == relations)
        let recording = try library.recording("one")
        #expect(recording.mainSources.map(\.name) == ["camera", "gate.preview"])
        #expect(
            recording.mainSources(where: without("camera")).map(\.name)
                == ["camera.preview", "gate.preview"])
    }

    @Test func `a range chooses sessions, and their sizes are those of all that is removed`()
        throws
    {
        try archive.addSession("one", segments: 3)
        let reading = try RecordingLibrary(readingOnly: archive.layout.root) { _ in }
        let late = SmallArchive.zero.nanoseconds + 25_000_000_000
        let whole = try #require(try reading.sessions().first)
        func expectWhole() throws {
            let found = try reading.sessions(from: late)
            #expect(found.map(\.sizeBytes) == [whole.sizeBytes])
            #expect(found.map(\.segments) == [3])
        }
        try expectWhole()
        _ = try CatalogIndexing.update(SQLiteCatalog.open(archive.layout), archive.layout)
        try expectWhole()
    }

    @Test func `a read-only library searches by time without a catalog or writing`() throws {
        for (name, segments) in [("one", 1), ("two", 3)] {
            try archive.addSession(name, segments: segments)
        }
        let reading = try RecordingLibrary(readingOnly: archive.layout.root) { _ in }
        let zero = SmallArchive.zero.nanoseconds
        let second: Int64 = 1_000_000_000
        #expect(try reading.sessions().map(\.session) == ["one", "two"])
        let late = try reading.sessions(from: zero + 12 * second)
        #expect(late.map(\.session) == ["two"])
        #expect(late.map(\.segments) == [3])
        #expect(try reading.sessions(until: zero - second).isEmpty)
        #expect(!FileSystem.exists(SQLiteCatalog.path(archive.layout)))
        // With a catalog, the same.
        _ = try CatalogIndexing.update(SQLiteCatalog.open(archive.layout), archive.layout)
        #expect(try reading.sessions(from: zero + 12 * second).map(\.segments) == [3])
    }

    @Test func `a clock's fragments are those in the given range`() throws {
        let paths = try archive.addSession("one", segments: 3)
        let source = try #require(try library().recording("one").source("camera"))
        func fragments(from: Int64? = nil, until: Int64? = nil) throws -> [Int] {
            try source.clock(in: source.files(from: from, until: until)).epochs.map(\.fragments)
        }
        let second: Int64 = 1_000_000_000
        #expect(try fragments() == [3])
        #expect(try fragments(from: 10 * second, until: 20 * second) == [1])
        #expect(try fragments(from: 15 * second) == [2])
        #expect(try fragments(until: 0) == [])
        // A file that is damaged does not hide the others.
        try Data([1, 2, 3]).write(to: URL(filePath: paths[1]))
        #expect(try fragments() == [2])
    }
}
