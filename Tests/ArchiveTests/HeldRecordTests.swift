import Media
import TestRecordings
import Testing

@testable import Archive

/// Ledger lines about records that are in another collector's archive, and terms.
@Suite struct HeldRecordTests {
    private let spool = SmallArchive.spool

    private func line(
        _ kind: LedgerEntry.Kind, _ records: ClosedRange<UInt64>? = nil,
        _ change: (inout LedgerEntry) -> Void = { _ in }
    ) -> LedgerEntry {
        var line = LedgerEntry(kind: kind, at: SmallArchive.zero)
        line.spool = spool.description
        line.firstSequence = records?.lowerBound
        line.lastSequence = records?.upperBound
        change(&line)
        return line
    }

    private func held(_ records: ClosedRange<UInt64>) -> LedgerEntry {
        line(.held, records) { $0.collector = "west" }
    }

    @Test func `records that another collector holds are neither missing nor surplus`() throws {
        let archive = SmallArchive()
        let paths = try archive.addSession("s", segments: 3)
        try FileSystem.remove(paths[1], on: archive.layout.disk)
        #expect(try !SessionVerifier.verify("s", in: archive.layout).isIntact)
        // The other collector may have had more than its agent knew of.
        try archive.append(Ledger.line(held(8...20)), session: "s")
        let report = try SessionVerifier.verify("s", in: archive.layout)
        #expect(report.isIntact)
        #expect(report.sources.first?.gaps.isEmpty == true)
    }

    @Test func `a line about another collector reads back`() throws {
        var related = line(.related)
        related.collector = "tcp://10.0.0.1:5550"
        related.session = "2026-11-20T22-40-00.000Z"
        related.offsetNanoseconds = -7
        related.boundNanoseconds = 90
        let opened = line(.opened) {
            $0.after = 3
            $0.term = 4
        }
        let lines = [held(1...9), related, opened]
        let contents = Ledger.parse(lines.flatMap(Ledger.line))
        #expect(contents.entries == lines)
        #expect(contents.damage.isEmpty)
    }

    @Test func `recovery finds the records that another collector holds`() throws {
        let archive = SmallArchive()
        try archive.addSession("s", segments: 1, state: .recording)
        try archive.append(Ledger.line(held(800...900)), session: "s")
        let spool = try ArchiveRecovery.run(
            archive.layout, now: SmallArchive.zero.advanced(by: 1 << 60), idleTimeoutNanoseconds: 0
        ).spools["camera"]?.first
        #expect(spool?.held.ranges == [800...900])
        #expect(spool?.sequences.missing(in: 800...900).isEmpty == true)
    }

    @Test func `a spool's highest term outlives its session's end`() throws {
        let archive = SmallArchive()
        try archive.addSession("s", segments: 1, state: .recording)
        for term: UInt64? in [2, 7, 3, nil] {
            let opened = line(.opened) {
                $0.after = 0
                $0.term = term
            }
            try archive.append(Ledger.line(opened), session: "s")
        }
        func recover(timeout: Int64) throws -> RecoveredArchive {
            try ArchiveRecovery.run(
                archive.layout, now: SmallArchive.zero.advanced(by: 1 << 60),
                idleTimeoutNanoseconds: timeout)
        }
        #expect(try recover(timeout: 0).spools["camera"]?.first?.term == 7)
        // The session ends; from then on only its description says so.
        #expect(try recover(timeout: 1).spools["camera"]?.first?.term == 7)
        #expect(try recover(timeout: 1).spools["camera"]?.first?.term == 7)
    }
}
