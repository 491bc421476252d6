import Archive
import Catalog
import Library
import Media
import Recordings
import Testing
import TestRecordings

/// A session whose files contain impossible numbers.
@Suite struct HostileNumberTests {
    private let archive = SmallArchive()
    private let session = "2026-09-21T12-26-40.000Z"

    private func gap(_ change: (inout LedgerEntry) -> Void) -> [UInt8] {
        var entry = LedgerEntry(kind: .gap, at: SmallArchive.zero)
        entry.cause = "driver-drop"
        change(&entry)
        return Ledger.line(entry)
    }

    /// Everything that `ls`, `show`, `verify`, `stop` and `index` do with the session.
    private func readEverything() throws -> SessionReport {
        let report = try SessionVerifier.verify(session, in: archive.layout)
        let totals = try SessionTotals(of: session, in: archive.layout)
        #expect(totals.sources.count == 1)
        let recorded = try RecordedSession(session, in: archive.layout)
        for source in recorded.sources { _ = try source.gaps() }
        let catalog = try SQLiteCatalog.inMemory()
        let summary = try CatalogIndexing.update(catalog, archive.layout, everything: true)
        #expect(summary.problems.isEmpty)
        return report
    }

    @Test func `extreme numbers of lost samples are limited, not overflowed`() throws {
        try archive.addSession(session, segments: 1)
        try archive.append(
            gap {
                $0.samples = .max
                $0.durationNanoseconds = .max
                $0.startNanoseconds = .max
                $0.boundNanoseconds = .max
            } + gap { $0.samples = 1 }, session: session)
        let report = try readEverything()
        #expect(report.isIntact, "\(report.allFindings)")
        #expect(report.sources.first?.lostSamples ?? 0 >= 1 << 62)
        let totals = try SessionTotals(of: session, in: archive.layout)
        #expect(totals.sources.first?.lostSamples ?? 0 >= 1 << 62)
    }

    @Test func `lines with the largest possible ranges are read`() throws {
        try archive.addSession(session, segments: 1)
        var lines: [UInt8] = []
        for spool in 0..<5 as Range<UInt64> {
            let identity = SpoolID(high: spool, low: spool).description
            for first in [0, 1, UInt64.max] {
                lines += gap {
                    $0.firstSequence = first
                    $0.lastSequence = .max
                    $0.spool = identity
                }
            }
        }
        try archive.append(lines, session: session)
        let report = try readEverything()
        #expect(report.allFindings.contains { $0.text.contains("stored twice") })
    }

    @Test func `very many ranges are inserted in a short time`() throws {
        var set = SequenceSet()
        for index in 1..<300_000 as Range<UInt64> { set.insert(3 * index...3 * index) }
        #expect(set.watermark == 0 && set.ranges.count == 299_999)
        #expect(set.insert(1...900_000) == 299_999)
        #expect(set.watermark == 900_000)
    }

    @Test(arguments: [1 << 62, UInt64.max - 9] as [UInt64])
    func `a fragment cannot have numbers that the protocol has not`(first: UInt64) throws {
        var record = FragmentRecord(
            spool: SmallArchive.spool, epoch: EpochID(high: 1, low: 1),
            clock: .init(offsetNanoseconds: 0, boundNanoseconds: 0, skewPartsPerBillion: 0),
            sessionZero: SmallArchive.zero, collectorZeroNanoseconds: 0,
            segmentOriginNanoseconds: 0, chain: .zero,
            pieces: [
                .init(
                    sizeBytes: 1, digestOrigin: .agent, digest: .zero,
                    runs: [
                        .init(
                            track: .video, primingSamples: 0, samples: 5, firstSequence: first,
                            firstDTSNanoseconds: 0, appliedOffsetNanoseconds: 0)
                    ])
            ])
        let isPossible = first <= 1 << 62
        #expect(isPossible == ((try? FragmentRecord(parsing: record.encoded())) != nil))
        record.pieces[0].runs[0].firstSequence = 1
        record.segmentOriginNanoseconds = .min
        #expect(throws: FragmentRecord.Malformed.self) {
            try FragmentRecord(parsing: record.encoded())
        }
        record.segmentOriginNanoseconds = 0
        record.sessionZero = UTCTime(nanoseconds: .max)
        #expect(throws: FragmentRecord.Malformed.self) {
            try FragmentRecord(parsing: record.encoded())
        }
    }

    @Test func `a description that its own reader refuses is damage`() throws {
        try archive.addSession(session, segments: 1)
        var manifest = try SessionManifest.read(archive.layout.manifest(session))
        manifest.session = "../elsewhere"
        try FileSystem.replace(archive.layout.manifest(session), with: manifest.encoded())
        let report = try SessionVerifier.verify(session, in: archive.layout)
        #expect(!report.isIntact)
        #expect(report.findings.map(\.text) == ["not a session description"])
    }

    @Test func `a session that was copied under another name is recovered where it is`() throws {
        try archive.addSession(session, segments: 1, state: .recording)
        let copy = "2026-09-21T12-26-40.000Z-2"
        try archive.addSession(copy, segments: 1, state: .recording)
        var manifest = try SessionManifest.read(archive.layout.manifest(copy))
        manifest.session = session
        try FileSystem.replace(archive.layout.manifest(copy), with: manifest.encoded())
        let found = try ArchiveRecovery.run(
            archive.layout, now: SmallArchive.zero, idleTimeoutNanoseconds: 0)
        #expect(found.session?.manifest.session == copy)
        #expect(
            try SessionManifest.read(archive.layout.manifest(session)).state == .finished)
    }
}
