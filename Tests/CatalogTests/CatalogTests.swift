import Archive
import Catalog
import Foundation
import TestRecordings
import Testing

/// The archive's index, a copy of its files' contents.
@Suite struct CatalogTests {
    private func indexed(_ layout: ArchiveLayout) throws -> (catalog: SQLiteCatalog, dump: [String])
    {
        let (catalog, complaint) = try SQLiteCatalog.openMended(layout)
        #expect(complaint == nil)
        _ = try CatalogIndexing.update(catalog, layout)
        return (catalog, try catalog.dump())
    }

    @Test func `a deleted catalog is rebuilt with equal rows, labels included`() throws {
        let written = try WrittenSession { _ in 0 }
        let layout = written.layout
        let notes = SessionNotes(name: "Opening night", tags: ["a", "b"], note: "two\nlines")
        let file = "\(layout.session(WrittenSession.name))/\(SessionNotes.fileName)"
        try FileSystem.replace(file, with: notes.encoded())
        try FileSystem.replace(layout.protection(WrittenSession.name), with: [])
        var gap = LedgerEntry(kind: .gap, at: UTCTime(nanoseconds: 0))
        gap.cause = "overrun"
        gap.startNanoseconds = 5
        try FileSystem.replace(
            layout.ledger(WrittenSession.name, "camera"), with: Ledger.line(gap))
        let before = try indexed(layout).dump
        #expect(before.count == 4)
        try SQLiteCatalog.remove(layout)
        let (catalog, after) = try indexed(layout)
        #expect(after == before)
        let listing = try #require(try catalog.sessions().first)
        #expect(listing.notes == notes && listing.isProtected && listing.segments == 2)
        // Labels removed from the files are removed from the catalog.
        unlink(file)
        try CatalogIndexing.noteLabels(of: WrittenSession.name, layout)
        #expect(try catalog.sessions().first?.notes == SessionNotes())
    }

    @Test func `segments are found by time`() throws {
        let written = try WrittenSession(segments: 3) { _ in 0 }
        let catalog = try indexed(written.layout).catalog
        let zero = 1_795_214_400_000_000_000 as Int64
        let second = WrittenSession.second
        func found(_ from: Int64, _ until: Int64) throws -> [Int64] {
            try catalog.segments(from: zero + from * second, until: zero + until * second)
                .map { $0.originNanoseconds / second }
        }
        #expect(try found(0, 1) == [0])
        #expect(try found(4, 6) == [0, 5])
        #expect(try found(5, 10) == [5])
        #expect(try found(-10, 0) == [] && found(15, 99) == [])
        #expect(try catalog.sessions(from: zero + 14 * second, until: nil).first?.segments == 1)
        #expect(try catalog.sessions(from: nil, until: zero).isEmpty)
        let segments = try catalog.segments(of: WrittenSession.name)
        #expect(segments.map(\.endNanoseconds) == [5, 10, 15].map { $0 * second })
    }

    @Test func `a damaged catalog is reported and rebuilt`() throws {
        let written = try WrittenSession { _ in 0 }
        let (catalog, before) = try indexed(written.layout)
        let path = catalog.path
        for damage in 0..<3 {
            try SQLiteCatalog.remove(written.layout)
            _ = try indexed(written.layout)
            var bytes = try FileSystem.read(path, limit: 1 << 24)
            switch damage {
            case 0: bytes = Array("this is no database at all, but long enough".utf8)
            case 1: for index in 100..<bytes.count { bytes[index] = 0xA5 }
            default: bytes[60...63] = [0, 0, 0, 99]
            }
            for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
            try FileSystem.replace(path, with: bytes)
            let (mended, complaint) = try SQLiteCatalog.openMended(written.layout)
            let line = try #require(complaint, "damage \(damage)")
            #expect(!line.contains("\n"))
            _ = try CatalogIndexing.update(mended, written.layout)
            #expect(try mended.dump() == before, "damage \(damage)")
        }
    }

    @Test func `readers read while a writer writes`() async throws {
        let written = try WrittenSession { _ in 0 }
        let layout = written.layout
        let (catalog, _) = try indexed(layout)
        let entry = try CatalogEntry(WrittenSession.name, in: layout)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    let reader = try #require(try SQLiteCatalog.read(layout))
                    for _ in 0..<50 {
                        // A change is one transaction.
                        #expect(try reader.sessions().map(\.segments) == [2])
                    }
                }
            }
            for _ in 0..<50 { try catalog.apply([.all(entry)]) }
            try await group.waitForAll()
        }
    }

    @Test func `sessions without files are removed from the catalog`() throws {
        let written = try WrittenSession { _ in 0 }
        let layout = written.layout
        let (catalog, _) = try indexed(layout)
        try SessionRemoval.remove(WrittenSession.name, from: layout)
        try CatalogIndexing.refresh(WrittenSession.name, layout)
        #expect(try catalog.dump() == [])
    }
}
