import Files
import Media
import TestRecordings
import Testing

@testable import Archive

/// Records that a finished session's description counts, and that are neither in a file nor in the ledger.
@Suite struct MissingRecordTests {
    private let archive = SmallArchive()
    private let paths: [String]
    private let spool = SmallArchive.spool.description

    /// Three segments with the records 1 … 30, and the Goodbye 31.
    init() throws {
        paths = try archive.addSession("s", segments: 3)
        try describe(through: 31)
        try write([opened(after: 0), line(.goodbye, 31...31)])
    }

    private func describe(through: UInt64, _ change: (inout SessionManifest) -> Void = { _ in })
        throws
    {
        let path = archive.layout.manifest("s")
        var manifest = try SessionManifest.read(path)
        manifest.sources[0].spools = [
            SessionManifest.SpoolEnd(
                spool: spool, first: 1, sequences: SequenceSet(upTo: through))
        ]
        change(&manifest)
        try FileSystem.replace(path, with: manifest.encoded())
    }

    private func line(
        _ kind: LedgerEntry.Kind, _ records: ClosedRange<UInt64>? = nil
    ) -> LedgerEntry {
        var line = LedgerEntry(kind: kind, at: SmallArchive.zero)
        line.spool = spool
        line.firstSequence = records?.lowerBound
        line.lastSequence = records?.upperBound
        return line
    }

    private func opened(after: UInt64?) -> LedgerEntry {
        var line = line(.opened)
        line.after = after
        return line
    }

    private func write(_ lines: [LedgerEntry]) throws {
        try FileSystem.replace(
            archive.layout.ledger("s", "camera"), with: lines.flatMap(Ledger.line))
    }

    private func remove(_ paths: some Sequence<String>) throws {
        for path in paths { try FileSystem.remove(path, on: archive.layout.disk) }
    }

    private func findings() throws -> [Finding] {
        try SessionVerifier.verify("s", in: archive.layout).findings.filter(\.severity.isDamage)
    }

    private func missing(_ records: ClosedRange<UInt64>) -> String {
        "records \(records.lowerBound) to \(records.upperBound) are neither in a file nor in the "
            + "ledger (spool \(spool.prefix(8)))"
    }

    @Test func `a whole session has no findings`() throws {
        #expect(try findings().isEmpty)
    }

    @Test(arguments: [0..<1, 0..<2, 0..<3, 1..<2, 2..<3])
    func `records of absent segments are missing`(_ gone: Range<Int>) throws {
        try remove(paths[gone])
        let first = UInt64(gone.lowerBound * 10 + 1)
        #expect(
            try findings().map(\.text) == [missing(first...UInt64(gone.upperBound * 10))])
    }

    @Test func `an absent ledger is damage`() throws {
        try remove([archive.layout.ledger("s", "camera")])
        let texts = try findings().map(\.text)
        #expect(texts.count == 2)
        #expect(texts.first?.hasPrefix("is missing") == true)
        #expect(texts.last == missing(31...31))
        // An interrupted copy.
        try remove(paths)
        #expect(try findings().last?.text == missing(1...31))
    }

    @Test func `an absent last line of a ledger is damage`() throws {
        try write([opened(after: 0)])
        #expect(try findings().map(\.text) == [missing(31...31)])
    }

    @Test func `records before the session's first one are not expected`() throws {
        try remove(paths[..<1])
        // The records 6 to 10 were on their way to the disk in the session before.
        try write([opened(after: 5), opened(after: 25), line(.goodbye, 31...31)])
        try describe(through: 31) { $0.sources[0].spools?[0].first = 11 }
        #expect(try SessionVerifier.verify("s", in: archive.layout).findings.isEmpty)
        // Earlier versions did not state it.
        try describe(through: 31) { $0.sources[0].spools?[0].first = nil }
        let findings = try SessionVerifier.verify("s", in: archive.layout).findings
        #expect(findings.map(\.severity) == [.note])
        #expect(findings.first?.text.hasPrefix("records 6 to 10 are in an earlier session") == true)
        try remove(paths[2...])
        #expect(try self.findings().map(\.text) == [missing(21...30)])
    }

    @Test func `a record with the number 0 does not end the verification`() {
        var numbers = SourceNumbers()
        numbers.insert(0...3, spool: spool)
        let end = SessionManifest.SpoolEnd(
            spool: spool, first: nil, sequences: SequenceSet(upTo: 31))
        #expect(numbers.startFindings("camera", [end], [opened(after: 0)]).isEmpty)
    }

    @Test(arguments: [LedgerEntry.Kind.gap, .removed, .later, .held, .earlier])
    func `records with a ledger line are not missing`(_ kind: LedgerEntry.Kind) throws {
        try remove(paths)
        try write([opened(after: 0), line(kind, 1...30), line(.goodbye, 31...31)])
        #expect(try findings().isEmpty)
    }

    @Test func `removed files are counted by their cause`() throws {
        let names = paths.prefix(2).map { Path.name(of: $0) }
        try remove(paths[..<2])
        let removed = names.enumerated().map { index, name in
            var line = line(.removed, UInt64(index * 10 + 1)...UInt64(index * 10 + 10))
            line.segment = name
            line.cause = "older than is kept"
            return line
        }
        try write([opened(after: 0)] + removed + [line(.goodbye, 31...31)])
        let report = try SessionVerifier.verify("s", in: archive.layout)
        let origins = paths.compactMap { SegmentName(Path.name(of: $0))?.origin?.nanoseconds }
        let zero = try SessionManifest.read(archive.layout.manifest("s")).zeroTime.nanoseconds
        #expect(
            report.sources[0].removed == [
                RemovedFiles(
                    cause: "older than is kept", files: 2, samples: 20,
                    startNanoseconds: origins[0] - zero, endNanoseconds: origins[2] - zero)
            ])
        #expect(report.isIntact)
    }

    @Test func `records after the last one of an open session are not missing`() throws {
        try describe(through: 31) { $0.state = .recording }
        try remove(paths[2...])
        try remove([archive.layout.ledger("s", "camera")])
        #expect(try findings().isEmpty)
    }

    @Test func `descriptions of earlier versions do not count records`() throws {
        try describe(through: 31) { $0.sources[0].spools = nil }
        try remove(paths[2...])
        try remove([archive.layout.ledger("s", "camera")])
        #expect(try findings().isEmpty)
    }

    @Test func `a spool of earlier sessions is not expected`() throws {
        try describe(through: 31) {
            $0.sources[0].spools?.append(
                SessionManifest.SpoolEnd(
                    spool: String(repeating: "ab", count: 16), sequences: SequenceSet(upTo: 9)))
        }
        #expect(try findings().isEmpty)
    }

    @Test func `records in another archive are not missing`() throws {
        let ends = [
            SessionManifest.SpoolEnd(
                spool: spool, first: 1, sequences: SequenceSet(upTo: 20))
        ]
        var one = SourceNumbers()
        one.insert(1...10, spool: spool)
        one.expect(ends)
        var other = SourceNumbers()
        other.insert(11...20, spool: spool)
        other.expect(ends)
        #expect(one.holeFindings("s", isFinished: true).map(\.text) == [missing(11...20)])
        #expect(other.holeFindings("s", isFinished: true).map(\.text) == [missing(1...10)])
        let both = SourceNumbers.joined([one, other]).numbers
        #expect(both.holeFindings("s", isFinished: true).isEmpty)
    }
}
