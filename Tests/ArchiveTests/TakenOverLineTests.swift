import Media
import TestRecordings
import Testing

@testable import Archive

/// Ledger lines and proofs of records that other collectors recorded.
@Suite struct TakenOverLineTests {
    private let spool = SmallArchive.spool

    private func line(
        _ kind: LedgerEntry.Kind, _ records: ClosedRange<UInt64>? = nil, cause: String? = nil,
        after: UInt64? = nil
    ) -> LedgerEntry {
        var line = LedgerEntry(kind: kind, at: SmallArchive.zero)
        line.spool = spool.description
        line.firstSequence = records?.lowerBound
        line.lastSequence = records?.upperBound
        line.cause = cause
        line.after = after
        return line
    }

    @Test func `a line about another session counts, also if it is a ledger's first`() throws {
        let archive = SmallArchive()
        let paths = try archive.addSession("s", segments: 3)
        try FileSystem.remove(paths[1], on: archive.layout.disk)
        #expect(try !SessionVerifier.verify("s", in: archive.layout).isIntact)
        try archive.append(Ledger.line(line(.earlier, 11...20)), session: "s")
        #expect(try SessionVerifier.verify("s", in: archive.layout).isIntact)
    }

    @Test func `the cause alone does not mark a line as one about a take-over`() throws {
        #expect(line(.resumed, cause: LedgerEntry.takenOver).isTakenOver)
        #expect(!line(.gap, cause: LedgerEntry.takenOver).isTakenOver)
        #expect(!line(.resumed, cause: "crash").isTakenOver)
        // Records that were durable here before still count.
        let archive = SmallArchive()
        try archive.addSession("s", segments: 0, state: .recording)
        for line in [
            line(.opened, after: 40), line(.gap, 41...42, cause: LedgerEntry.takenOver),
        ] { try archive.append(Ledger.line(line), session: "s") }
        let recovered = try ArchiveRecovery.run(
            archive.layout, now: SmallArchive.zero, idleTimeoutNanoseconds: 0)
        #expect(recovered.spools["camera"]?.first?.sequences == SequenceSet(upTo: 42))
        // Nor does it remove what verify knows of other sessions.
        let other = SmallArchive()
        let paths = try other.addSession("s", segments: 3)
        try FileSystem.remove(paths[1], on: other.layout.disk)
        for line in [
            line(.earlier, 11...20), line(.earlier, 31...32),
            line(.gap, 33...34, cause: LedgerEntry.takenOver),
        ] { try other.append(Ledger.line(line), session: "s") }
        #expect(try SessionVerifier.verify("s", in: other.layout).isIntact)
    }

    @Test func `ends of tracks are compared exactly at any timescales`() {
        let day: Int64 = 86_400
        func end(_ ticks: Int64, _ duration: Int64, _ scale: UInt32) -> TrackEnd {
            TrackEnd(dtsTicks: ticks, durationTicks: duration, timescale: Timescale(scale))
        }
        let large: Int64 = 1 << 60
        #expect(end(large, 1, 90_000).isLater(than: end(large, 0, 90_000)))
        #expect(!end(large, 0, 90_000).isLater(than: end(large, 1, 90_000)))
        #expect(!end(large, 1, 90_000).isLater(than: end(large, 1, 90_000)))
        #expect(!end(day * 48_000, 0, 48_000).isLater(than: end(day * 90_000, 0, 90_000)))
        #expect(end(day * 48_000, 1, 48_000).isLater(than: end(day * 90_000, 1, 90_000)))
        #expect(end(-day * 90_000, 1, 90_000).isLater(than: end(-day * 48_000, 0, 48_000)))
        #expect(end(.max, 1, 1).isLater(than: end(.max, 0, 2)))
        #expect(end(0, 0, 1).isLater(than: nil))
    }

    @Test func `a proof names no more records than its file has bytes`() throws {
        let archive = SmallArchive()
        let path = try archive.addSession("s", segments: 1)[0]
        let owner = SourceKey(session: "s", source: "camera")
        let name = try #require(try archive.layout.segmentNames(owner).first)
        let content = try #require(try SegmentContent(path))
        var proof = SegmentProof(
            of: try #require(SegmentKey(owner, fileName: name)), content: content,
            partBytes: 1 << 20, parts: [Digest(of: try FileSystem.read(path, limit: 1 << 20))],
            store: "s3://test/archive", tag: "\"1\"", at: SmallArchive.zero)
        let size = UInt64(content.stamp.sizeBytes)
        for (ranges, isPossible) in [
            ([[1, size]], true), ([[1, size + 1]], false),
            ([[1, 2], [4, size + 1]], true), ([[1, 2], [4, size + 2]], false),
            ([[RecordLimits.sequence - 1, RecordLimits.sequence]], true),
            (Array(repeating: [0, RecordLimits.sequence], count: 8), false),
        ] {
            proof.records[0].ranges = ranges
            let read = try? SegmentProof.parse(proof.encoded(), path: "proof")
            #expect((read != nil) == isPossible, "\(ranges)")
        }
        // All spools together.
        proof.records[0].ranges = [[1, size]]
        proof.records.append(
            .init(spool: SpoolID(high: 9, low: 9).description, ranges: [[1, 1]]))
        #expect(throws: ArchiveError.self) {
            try SegmentProof.parse(proof.encoded(), path: "proof")
        }
    }
}
