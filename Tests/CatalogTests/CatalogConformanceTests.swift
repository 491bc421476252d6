import Foundation
import Media
import PostgreSQL
import TestRecordings
import TestDatabases
import Testing

@testable import Archive
@testable import Catalog

/// The behaviour required of every catalog.
@Suite struct CatalogConformanceTests {
    enum Kind: CaseIterable {
        case sqlite
        case postgreSQL
    }

    /// The kinds available here; `PostgreSQLCatalogTests` reports why one is not.
    static let kinds = Kind.allCases.filter {
        $0 == .sqlite || PostgreSQLServer.absence == nil
    }

    /// An empty catalog of an archive.
    private static func place(
        _ kind: Kind, _ layout: ArchiveLayout
    ) throws -> any CatalogLocation {
        switch kind {
        case .sqlite: SQLiteCatalogLocation(layout)
        case .postgreSQL:
            PostgreSQLCatalogLocation(
                PostgreSQLDatabase(
                    try PostgreSQLServer.shared.get().address(), for: .writing, program: "tests"),
                layout)
        }
    }

    private static func open(
        _ kind: Kind, _ layout: ArchiveLayout
    ) throws -> any CatalogStore {
        try place(kind, layout).open().catalog
    }

    private static let zero: Int64 = 1_790_000_000_000_000_000

    private static func session(
        _ name: String, state: SessionManifest.State = .finished,
        notes: SessionNotes = SessionNotes()
    ) -> CatalogSession {
        CatalogSession(
            session: name, zeroUTCNanoseconds: zero, state: state.rawValue, endReason: nil,
            segmentNanoseconds: 10, software: "test", isProtected: false, notes: notes)
    }

    private static func source(_ name: String) -> CatalogSource {
        CatalogSource(source: name, agent: "box", tracks: "video", isComplete: true)
    }

    private static func segment(
        _ session: String, _ source: String, _ origin: Int64, end: Int64?, bytes: Int64?,
        zero: Int64 = zero
    ) -> CatalogSegment {
        CatalogSegment(
            session: session, source: source, file: "\(origin).mp4", zeroUTCNanoseconds: zero,
            originNanoseconds: origin, endNanoseconds: end, sizeBytes: bytes, revision: 7)
    }

    private static func event(
        _ session: String, offset: UInt64, _ change: (inout LedgerEntry) -> Void = { _ in }
    ) throws -> CatalogEvent {
        var entry = LedgerEntry(kind: .gap, at: UTCTime(nanoseconds: 0))
        entry.cause = "overrun"
        change(&entry)
        return try #require(
            CatalogEvent(entry, at: offset, of: SourceKey(session: session, source: "a")))
    }

    @Test(arguments: kinds)
    func `filled from the same files, all catalogs are equal`(kind: Kind) throws {
        let written = try WrittenSession(segments: 3) { _ in 0 }
        let layout = written.layout
        let notes = SessionNotes(
            name: "Opening \"night\" \\", tags: ["a", "b"], note: "two\nlines")
        try FileSystem.replace(
            "\(layout.session(WrittenSession.name))/\(SessionNotes.fileName)",
            with: notes.encoded())
        let fresh = try SQLiteCatalog.inMemory()
        _ = try CatalogIndexing.update(fresh, layout, everything: true)
        let catalog = try Self.open(kind, layout)
        #expect(try CatalogIndexing.update(catalog, layout).changed == [WrittenSession.name])
        #expect(try catalog.dump() == fresh.dump())
        #expect(try catalog.sessions() == fresh.sessions())
        #expect(try catalog.segments() == fresh.segments())
        // Indexing again adds no duplicates.
        #expect(try CatalogIndexing.update(catalog, layout).changed == [])
        #expect(
            try CatalogIndexing.update(catalog, layout, everything: true).changed
                == [WrittenSession.name])
        #expect(try catalog.dump() == fresh.dump())
        try SessionRemoval.remove(WrittenSession.name, from: layout)
        #expect(try CatalogIndexing.update(catalog, layout).changed == [WrittenSession.name])
        #expect(try catalog.dump() == [])
    }

    @Test(arguments: kinds)
    func `segments are found by time, growing ones to the present`(kind: Kind) throws {
        let directory = TemporaryDirectory()
        let catalog = try Self.open(kind, ArchiveLayout(root: directory.path))
        try catalog.apply([
            .session(Self.session("s1"), [Self.source("a")]),
            .session(Self.session("s2", state: .recording), [Self.source("b"), Self.source("a")]),
            .segment(Self.segment("s1", "a", 0, end: 10, bytes: 100)),
            .segment(Self.segment("s1", "a", 10, end: 35, bytes: 200)),
            .segment(Self.segment("s2", "a", 40, end: 50, bytes: 400)),
            .segment(Self.segment("s2", "b", 50, end: nil, bytes: nil)),
        ])
        func found(_ from: Int64?, _ until: Int64?, in session: String? = nil) throws -> [Int64] {
            try catalog.segments(
                of: session, from: from.map { Self.zero + $0 }, until: until.map { Self.zero + $0 }
            ).map(\.originNanoseconds)
        }
        #expect(try found(0, 1) == [0] && found(-9, 0) == [] && found(10, 11) == [10])
        // The longest file begins long before the range.
        #expect(try found(34, 35) == [10] && found(35, 40) == [])
        #expect(try found(49, nil) == [40, 50] && found(nil, 11) == [0, 10])
        #expect(try found(1_000, 2_000) == [50])
        #expect(try found(5, 45, in: "s2") == [40] && found(nil, nil, in: "s1") == [0, 10])
        let all = try catalog.sessions()
        #expect(all.map(\.session) == ["s1", "s2"] && all.map(\.segments) == [2, 2])
        #expect(all.map(\.sizeBytes) == [300, 400] && all.map(\.sources) == [["a"], ["a", "b"]])
        let part = try catalog.sessions(from: Self.zero + 5, until: Self.zero + 11)
        #expect(part.map(\.session) == ["s1"] && part.map(\.segments) == [2])
        let late = try catalog.sessions(from: Self.zero + 45, until: nil)
        #expect(late.map(\.session) == ["s2"] && late.first?.sizeBytes == 400)
        #expect(try catalog.growingSegments(of: "s2").map(\.source) == ["b"])
        #expect(try catalog.growingSegments(of: "s1") == [])
        #expect(try catalog.files(of: "s1") == ["a/0.mp4", "a/10.mp4"])
    }

    @Test(arguments: kinds)
    func `changes are applied in order, and repeating them changes nothing`(kind: Kind) throws {
        let directory = TemporaryDirectory()
        let catalog = try Self.open(kind, ArchiveLayout(root: directory.path))
        let changes: [CatalogChange] = [
            .session(Self.session("s", state: .recording), [Self.source("a"), Self.source("b")]),
            .segment(Self.segment("s", "a", 0, end: nil, bytes: nil)),
            .event(try Self.event("s", offset: 3)),
            .segment(Self.segment("s", "a", 0, end: 10, bytes: 100)),
            .segment(Self.segment("s", "a", 10, end: 20, bytes: 50)),
            .event(try Self.event("s", offset: 3) { $0.samples = 9 }),
            .segmentRemoved(session: "s", source: "a", file: "10.mp4"),
            .session(Self.session("s"), [Self.source("a")]),
            .labels(
                session: "s", isProtected: true,
                notes: SessionNotes(name: "n", tags: ["x", "y"], note: nil)),
        ]
        try catalog.apply(changes)
        let once = try catalog.dump()
        let listing = try #require(try catalog.sessions().first)
        #expect(listing.segments == 1 && listing.sizeBytes == 100 && listing.isProtected)
        #expect(listing.notes.tags == ["x", "y"] && listing.sources == ["a"])
        #expect(once.count == 4 && once.contains { $0.contains("samples=9") })
        try catalog.apply(changes)
        #expect(try catalog.dump() == once)
        try catalog.apply([
            .events(session: "s", source: "a", [try Self.event("s", offset: 8)])
        ])
        #expect(try catalog.dump().filter { $0.contains("line=8") }.count == 1)
        #expect(try catalog.dump().filter { $0.contains("line=3") }.isEmpty)
        try catalog.apply([.sessionRemoved("s")])
        #expect(try catalog.dump() == [] && catalog.indexedSessionNames() == [])
        // Totals count rows added before the session's row.
        try catalog.apply([.segment(Self.segment("t", "a", 0, end: 10, bytes: 5))])
        #expect(try catalog.sessions() == [] && catalog.indexedSessionNames() == ["t"])
        try catalog.apply([.session(Self.session("t"), [Self.source("a")])])
        #expect(try catalog.sessions().map(\.sizeBytes) == [5])
    }

    @Test(arguments: kinds)
    func `no text of the files breaks it`(kind: Kind) throws {
        let directory = TemporaryDirectory()
        let catalog = try Self.open(kind, ArchiveLayout(root: directory.path))
        let texts = [
            "NULL", "", "{\"a\",b}", "\\", "\"", "'; DROP TABLE session; --", "\u{1F600}",
            "a\u{0}b", "\u{7F}\n\t",
        ]
        var changes: [CatalogChange] = [
            .session(
                Self.session("s", notes: SessionNotes(name: "a\u{0}b", tags: [], note: "\\\"")), [])
        ]
        for (index, text) in texts.enumerated() {
            changes.append(
                .event(
                    try Self.event("s", offset: UInt64(index)) {
                        $0.text = text
                        $0.cause = text
                        $0.startNanoseconds = .min
                        $0.durationNanoseconds = .max
                        $0.samples = .max
                    }))
        }
        changes += [
            .segment(
                Self.segment("s", "a", .min, end: .max, bytes: .max, zero: .min)),
            .segment(Self.segment("s", "a", .max, end: .min, bytes: 0, zero: .max)),
        ]
        try catalog.apply(changes)
        let events = try catalog.dump().filter { $0.hasPrefix("event") }
        #expect(events.count == texts.count)
        for text in texts where !text.contains("\u{0}") {
            #expect(events.contains { $0.contains("text=\(String(reflecting: text))") }, "\(text)")
        }
        #expect(try catalog.sessions().first?.segments == 2)
        #expect(try catalog.segments(of: "s").count == 2)
        _ = try catalog.segments(of: nil, from: .min, until: .max)
        _ = try catalog.sessions(from: .max, until: .max)
    }

    @Test(arguments: kinds)
    func `after removal it is empty when opened again`(kind: Kind) throws {
        let written = try WrittenSession { _ in 0 }
        let layout = written.layout
        let place = try Self.place(kind, layout)
        let catalog = try place.open().catalog
        _ = try CatalogIndexing.update(catalog, layout)
        let before = try catalog.dump()
        try place.remove()
        let reopened = try place.open().catalog
        #expect(try reopened.dump() == [] && reopened.sessionNames() == [])
        _ = try CatalogIndexing.update(reopened, layout)
        #expect(try reopened.dump() == before)
    }
}
