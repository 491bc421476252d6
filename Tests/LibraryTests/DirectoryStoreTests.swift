import Archive
import Glibc
import Library
import Recordings
import Testing
import TestRecordings

/// The store of every archive: a directory.
@Suite struct DirectoryStoreTests {
    private let directory = TemporaryDirectory()
    private var store: DirectoryStore { DirectoryStore(directory.path) }
    private let file = StoredPath.session("show") / "notes.json"

    @Test func `a file that was put can be listed, read and deleted`() throws {
        #expect(try store.list(.sessions).isEmpty)
        try store.put(Array("one".utf8), at: file)
        try store.put(Array("another".utf8), at: file)
        #expect(
            try store.list(.sessions).map { [$0.name, "\($0.isFolder)"] } == [["show", "true"]])
        #expect(
            try store.list(.session("show"))
                .map { "\($0.name) \($0.isFolder) \($0.sizeBytes)" } == ["notes.json false 7"])
        #expect(try store.contents(file, limit: 7) == Array("another".utf8))
        try store.delete(file)
        try store.delete(file)
        #expect(try store.list(.session("show")).isEmpty)
    }

    @Test func `an absent or oversized file is an error with its name`() throws {
        #expect(
            throws: ArchiveError.system(operation: "open", path: store.path(file), errno: ENOENT)
        ) {
            try store.open(file)
        }
        try store.put([1, 2, 3], at: file)
        #expect(
            throws: ArchiveError.malformed(
                path: "\(directory.path)/show/notes.json", reason: "larger than 2 bytes")
        ) {
            try store.contents(file, limit: 2)
        }
    }

    @Test func `an open file can be read to its end after it was deleted, and grows`() throws {
        try store.put([1, 2, 3], at: file)
        let opened = try store.open(file)
        try store.delete(file)
        #expect(try opened.read(at: 1, count: 2) == [2, 3])
        #expect(
            throws: ArchiveError.malformed(path: store.path(file), reason: "ends at byte 3")
        ) {
            try opened.read(at: 1, count: 3)
        }
        #expect(try StoredBytes(opened).sizeBytes == 3)
    }

    @Test(arguments: ["", ".", "..", "a/b"])
    func `a path consists of plain names`(_ name: String) async {
        await #expect(processExitsWith: .failure) { [name] in
            _ = StoredPath.sessions / name
        }
    }
}
