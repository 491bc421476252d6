import Catalog
import Media
import TestRecordings
import Testing

@testable import Archive

/// Segments in an object store.
@Suite struct StoredSegmentTests {
    /// A proof as the uploader writes it, for a segment of a small archive.
    private func prove(_ path: String, in archive: SmallArchive) throws -> SegmentKey {
        let parts = path.split(separator: "/").map(String.init)
        let owner = SourceKey(session: parts[parts.count - 3], source: parts[parts.count - 2])
        let segment = try #require(SegmentKey(owner, fileName: parts[parts.count - 1]))
        let content = try #require(try SegmentContent(path))
        let bytes = try FileSystem.read(path, limit: 1 << 20)
        let proof = SegmentProof(
            of: segment, content: content, partBytes: 1 << 20, parts: [Digest(of: bytes)],
            store: "s3://test/archive", tag: "\"1\"", at: SmallArchive.zero)
        try FileSystem.replace(archive.layout.path(of: segment, .proof), with: proof.encoded())
        return segment
    }

    @Test func `a segment's content is read from its fragments' heads`() throws {
        let archive = SmallArchive()
        let path = try archive.addSession("s", segments: 2)[1]
        let content = try #require(try SegmentContent(path))
        #expect(content.records.map(\.spool) == [SmallArchive.spool])
        #expect(content.records.map(\.ranges) == [[11...20]])
        #expect(content.lengthNanoseconds == 10_000_000_000)
        #expect(content.chain != nil && content.revision == 0)
        #expect(throws: ArchiveError.self) { try SegmentContent(path + ".not") }
    }

    @Test func `a proof is read back from the disk, and a damaged one is refused`() throws {
        let archive = SmallArchive()
        let path = try archive.addSession("s", segments: 1)[0]
        let segment = try prove(path, in: archive)
        let proof = try #require(try SegmentProof.read(segment, in: archive.layout))
        #expect(proof.key == segment)
        #expect(proof.describes(try #require(FileStamp(path))))
        #expect(try SegmentProof.parse(proof.encoded(), path: "proof") == proof)
        var changes: [(inout SegmentProof) -> Void] = []
        changes.append { $0.format = 2 }
        changes.append { $0.sizeBytes = -1 }
        changes.append { $0.sizeBytes = .max }
        changes.append { $0.partBytes = 0 }
        changes.append { $0.partBytes = SegmentProof.maximumPartBytes + 1 }
        changes.append { $0.parts = [] }
        changes.append { $0.parts = [String(repeating: "0", count: 64)] }
        changes.append { $0.digest = "" }
        changes.append { $0.chain = "x" }
        changes.append { $0.session = "../s" }
        changes.append { $0.segment = "a.mp4" }
        changes.append { $0.lengthNanoseconds = .max }
        changes.append { $0.modifiedNanoseconds = .min }
        changes.append { $0.records = [.init(spool: "x", ranges: [])] }
        changes.append { $0.records[0].ranges = [[2, 1]] }
        changes.append { $0.records[0].ranges = [[1]] }
        changes.append { $0.records[0].ranges = [[1, .max]] }
        for (number, change) in changes.enumerated() {
            var damaged = proof
            change(&damaged)
            #expect(throws: ArchiveError.self, "change \(number)") {
                try SegmentProof.parse(damaged.encoded(), path: "proof")
            }
        }
        #expect(throws: ArchiveError.self) { try SegmentProof.parse([], path: "proof") }
    }

    @Test func `parts are 8 MiB, or larger to limit their number`() {
        let usual: Int64 = 8 << 20
        #expect(SegmentProof.partBytes(for: 0) == usual)
        #expect(SegmentProof.partBytes(for: 10_000 * usual) == usual)
        for size in [10_000 * usual + 1, 10_000 * SegmentProof.maximumPartBytes] {
            let part = SegmentProof.partBytes(for: size)
            #expect(part > usual && part % (1 << 20) == 0)
            #expect((size + part - 1) / part <= 10_000)
        }
    }

    @Test
    func `a segment without media stays in the catalog, the survey and the verification`() throws {
        let archive = SmallArchive()
        let paths = try archive.addSession("s", segments: 3)
        let before = try CatalogEntry("s", in: archive.layout)
        let segment = try prove(paths[1], in: archive)
        #expect(try LocalCopyRemoval.remove(segment, in: archive.layout) == nil)
        #expect(!FileSystem.exists(paths[1]))
        #expect(try LocalCopyRemoval.remove(segment, in: archive.layout) == .gone)
        let owner = SourceKey(session: "s", source: "camera")
        #expect(try archive.layout.movedSegments(owner) == [segment])
        #expect(try CatalogEntry("s", in: archive.layout) == before)
        let survey = try ArchiveSurvey(of: archive.layout)
        #expect(survey.segments.first { $0.path == paths[1] }?.place == .store)
        #expect(survey.segments.count { $0.place == .disk } == 2)
        let report = try SessionVerifier.verify("s", in: archive.layout)
        #expect(report.isIntact && report.findings.count == 1)
        // Without its proof, too, the segment is lost.
        try FileSystem.remove(archive.layout.path(of: segment, .proof), on: archive.layout.disk)
        #expect(try !SessionVerifier.verify("s", in: archive.layout).isIntact)
    }

    @Test(arguments: [1, 2, 3])
    func `a resumed session knows records that only the store has`(
        _ moved: Int
    ) throws {
        let archive = SmallArchive()
        let paths = try archive.addSession("s", segments: 3, state: .recording)
        for path in paths.prefix(moved) {
            let segment = try prove(path, in: archive)
            #expect(try LocalCopyRemoval.remove(segment, in: archive.layout) == nil)
        }
        let recovered = try ArchiveRecovery.run(
            archive.layout, now: SmallArchive.zero, idleTimeoutNanoseconds: 0)
        let spool = try #require(recovered.spools["camera"]?.first)
        #expect(spool.sequences.watermark == 30)
        let source = try #require(recovered.session?.sources.first)
        // No later file uses a name that the store has.
        #expect(Set(source.origins) == [0, 10_000_000_000, 20_000_000_000])
    }

    @Test func `retiming without local media is refused with a remedy`() throws {
        let archive = SmallArchive()
        let segment = try prove(try archive.addSession("s", segments: 2)[0], in: archive)
        _ = try LocalCopyRemoval.remove(segment, in: archive.layout)
        do {
            _ = try SessionRetimer("s", in: archive.layout).retime(isDryRun: true)
            Issue.record("it was retimed")
        } catch {
            #expect("\(error)".contains("tributary store fetch s"))
        }
    }

    @Test func `a removed session's upload record stays until the store has removed it`() throws {
        let archive = SmallArchive()
        try archive.addSession("s", segments: 1)
        let manifest = try SessionManifest.read(archive.layout.manifest("s"))
        let record = StoredDocuments(store: "s3://test/archive", identity: .init(manifest))
        try record.write(archive.layout.stored("s"), on: archive.layout.disk)
        try SessionRemoval.remove("s", from: archive.layout)
        #expect(try archive.layout.sessionNames().isEmpty)
        // Also of a collector that runs without the store.
        try SessionRemoval.complete(in: archive.layout)
        #expect(try SessionRemoval.waiting(in: archive.layout) == ["s"])
        let path = SessionRemoval.record(of: "s", in: archive.layout)
        #expect(try StoredDocuments.read(path, store: "s3://test/archive") == record)
        #expect(try StoredDocuments.read(path, store: "s3://other") == nil)
        #expect(
            try StoredDocuments.store(ofRemoved: "s", in: archive.layout) == "s3://test/archive")
        #expect(try StoredDocuments.store(ofRemoved: "t", in: archive.layout) == nil)
        try SessionRemoval.complete("s", in: archive.layout)
        #expect(try FileSystem.names(in: archive.layout.sessions).isEmpty)
    }

    @Test func `a removal of a session that no store has is complete at once`() throws {
        let archive = SmallArchive()
        try archive.addSession("s", segments: 1)
        try SessionRemoval.remove("s", from: archive.layout)
        try SessionRemoval.complete(in: archive.layout)
        #expect(try FileSystem.names(in: archive.layout.sessions).isEmpty)
    }
}

@Suite struct LocalCopyLimitTests {
    private static let day: Int64 = 86_400_000_000_000

    private func segment(
        _ days: Int64, _ place: ArchivedSegment.Location = .diskAndStore, isProtected: Bool = false,
        isOpen: Bool = false
    ) -> ArchivedSegment {
        ArchivedSegment(
            SourceKey(session: "s", source: "camera"), path: "\(days)", sizeBytes: 100,
            ended: UTCTime(nanoseconds: days * Self.day), isProtected: isProtected, isOpen: isOpen,
            place: place)
    }

    private func evicted(
        _ limits: RemovalLimits, _ segments: [ArchivedSegment], free: UInt64 = 0,
        today: Int64? = 100
    ) -> [String] {
        limits.evicted(
            of: segments, freeBytes: free, now: today.map { UTCTime(nanoseconds: $0 * Self.day) }
        ).map(\.path)
    }

    @Test func `without limits all copies stay`() {
        #expect(evicted(RemovalLimits(), [segment(1)]).isEmpty)
    }

    @Test func `by age, the oldest go, and none while the clock is not trusted`() {
        let limits = RemovalLimits(maximumAgeNanoseconds: 10 * Self.day)
        let segments = [segment(95), segment(80), segment(85)]
        #expect(evicted(limits, segments) == ["80", "85"])
        #expect(evicted(limits, segments, today: nil).isEmpty)
    }

    @Test func `by size, all local copies count, and only stored ones are removed`() {
        let limits = RemovalLimits(maximumBytes: 250)
        let segments = [
            segment(1, .disk), segment(2), segment(3, isProtected: true), segment(4, isOpen: true),
            segment(5), segment(6, .store),
        ]
        #expect(evicted(limits, segments) == ["2", "5"])
    }

    @Test func `too little free space evicts`() {
        let segments = (1...4).map { segment($0) }
        #expect(
            evicted(RemovalLimits(minimumFreeBytes: 1_000), segments, free: 850) == ["1", "2"])
    }

    @Test func `retention counts a segment once, wherever it is`() {
        let segments = [segment(1, .store), segment(2), segment(3, .disk)]
        let expired = RemovalLimits(maximumBytes: 150).expired(
            of: segments, freeBytes: 0, now: UTCTime(nanoseconds: 100 * Self.day))
        #expect(expired.map(\.segment.path) == ["1", "2"])
    }
}
