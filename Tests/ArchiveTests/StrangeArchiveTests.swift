import Catalog
import Glibc
import TestRecordings
import Testing

@testable import Archive

/// An honest session beside one with a file or directory replaced by another kind of entry.
@Suite struct StrangeArchiveTests {
    private static let zero = SmallArchive.zero
    private static let honest = "2026-09-21T14-13-20.000Z"
    private static let strange = "2026-09-22T14-13-20.000Z"
    /// The replaced paths in the strange session.
    private static let places = [
        "", "session.json", "session.json.new", "notes.json", "marks.json", ".protected", ".stored",
        "camera", "camera/ledger.jsonl", "camera/SEGMENT.mp4", "camera/SEGMENT.mp4.stored",
        "camera/SEGMENT.mp4.upload", "camera/SEGMENT.mp4.new", "camera/SEGMENT.mp4.removing",
        "camera/OTHER.mp4", "camera/OTHER.mp4.stored", "camera/OTHER.mp4.removing", "door",
        "door/x.mp4",
    ]

    private let outside: StrangeDirectory
    private let archive = SmallArchive()
    private var layout: ArchiveLayout { archive.layout }

    init() throws { outside = try StrangeDirectory() }

    private func path(_ place: String) -> String {
        let first = Self.zero.fileName
        let other = UTCTime(nanoseconds: Self.zero.nanoseconds + 90_000_000_000).fileName
        let name = place.replacing("SEGMENT", with: first).replacing("OTHER", with: other)
        return place.isEmpty
            ? layout.session(Self.strange) : "\(layout.session(Self.strange))/\(name)"
    }

    private func put(_ entry: StrangeEntry, _ place: String) throws {
        try archive.addSession(Self.honest, segments: 2, state: .recording)
        try archive.addSession(Self.strange, segments: 2, state: .recording)
        let path = path(place)
        try FileSystem.removeTree(path)
        if place.hasPrefix("door/") {
            try FileSystem.makeDirectories(layout.source(Self.strange, "door"))
        }
        entry.make(at: path, outside: outside.outside)
    }

    @Test(arguments: places, StrangeEntry.allCases)
    func `a strange entry affects only its own session, and nothing outside`(
        place: String, entry: StrangeEntry
    ) throws {
        try put(entry, place)
        let honest = try bytes()
        // All operations that traverse an archive.
        _ = try SessionVerifier.verify(Self.honest, in: layout)
        do throws(ArchiveError) {
            _ = try SessionVerifier.verify(Self.strange, in: layout)
        } catch {
            #expect(place.isEmpty && error.code != nil)
        }
        let survey = try ArchiveSurvey(of: layout)
        #expect(survey.segments.count { $0.owner.session == Self.honest } == 2)
        let (catalog, _) = try SQLiteCatalog.openMended(layout)
        _ = try CatalogIndexing.update(catalog, layout)
        #expect(try catalog.sessionNames().contains(Self.honest))
        #expect(try bytes() == honest)
        // A starting collector continues the newest session.
        let recovered = try ArchiveRecovery.run(layout, now: Self.zero, idleTimeoutNanoseconds: 0)
        let isOpen = recovered.session.map {
            [Self.honest, Self.strange].contains($0.manifest.session)
        }
        #expect(isOpen == true)
        #expect(!recovered.notes.contains { $0.text.contains("\n") })
        // And removes it.
        if FileSystem.exists(layout.session(Self.strange)) {
            try SessionRemoval.remove(Self.strange, from: layout)
            // No store is known that has parts of it.
            try SessionRemoval.complete(in: layout)
        }
        #expect(try FileSystem.names(in: layout.sessions) == [Self.honest])
        try outside.expectOutsideUnchanged()
    }

    /// The content of the honest session's files.
    private func bytes() throws -> [[UInt8]] {
        let session = layout.session(Self.honest)
        return try
            (FileSystem.names(in: session).map { "\(session)/\($0)" }
            + layout.segmentPaths(Self.honest, "camera"))
            .filter { !FileSystem.isDirectory($0) }
            .map { try FileSystem.read($0, limit: 1 << 20) }
    }

    @Test func `an empty session and a ledger that is too large are reported`() throws {
        try archive.addSession(Self.honest, segments: 2)
        try archive.addSession(Self.strange, segments: 1)
        let ledger = layout.ledger(Self.strange, "camera")
        try FileSystem.replace(ledger, with: [])
        #expect(truncate(ledger, 10 << 30) == 0)
        try FileSystem.makeDirectories(layout.session("empty"))
        let report = try SessionVerifier.verify(Self.strange, in: layout)
        #expect(report.findings.contains { $0.path == ledger && $0.severity == .damage })
        let catalog = try SQLiteCatalog.openMended(layout).catalog
        let summary = try CatalogIndexing.update(catalog, layout)
        #expect(summary.problems.count == 2)
        #expect(try catalog.sessionNames().contains(Self.honest))
    }

    @Test func `impossible sizes do not cause the removal of other segments`() throws {
        try archive.addSession(Self.honest, segments: 2)
        try archive.addSession(Self.strange, segments: 3)
        for path in try layout.segmentPaths(Self.strange, "camera") {
            #expect(truncate(path, 1 << 43) == 0)
        }
        let segments = try ArchiveSurvey(of: layout).segments
        let limits = RemovalLimits(maximumBytes: 1 << 20)
        #expect(limits.expired(of: segments, freeBytes: 0, now: Self.zero).isEmpty)
        // Sums of sizes have no overflow.
        var large = segments
        for index in large.indices { large[index].sizeBytes = .max - 1 }
        #expect(limits.expired(of: large, freeBytes: .max, now: Self.zero).count == 5)
    }
}
