import Archive
import Foundation
import Glibc
import Media
import TestRecordings
import Testing

@testable import Library
@testable import Recordings

/// The search for records that a collector has acknowledged: unreadable records are not lost, and unchanged files are not read
/// again.
@Suite struct UnfoundRecordsTests {
    private static let session = WrittenSession.name
    private static let source = SourceKey(session: session, source: "camera")
    private static let names = ["2026-11-20T22-40-00.000Z.mp4", "2026-11-20T22-40-05.000Z.mp4"]

    private let east = TemporaryDirectory()
    private let west = TemporaryDirectory()
    private let memory = MergeMemory()
    private let stores: [WatchedStore]

    init() {
        stores = [east, west].map { WatchedStore(ArchiveLayout(root: $0.path)) }
    }

    private var layouts: [ArchiveLayout] {
        [ArchiveLayout(root: east.path), ArchiveLayout(root: west.path)]
    }

    /// A store as one request opens it.
    /// - Parameter memory: of earlier requests; nil: that of the suite.
    private func store(_ memory: MergeMemory? = nil) -> MergedStore {
        MergedStore(
            zip(stores, layouts).map {
                MergedStore.Member(name: $0.name, store: $0, layout: $1)
            }, memory: memory ?? self.memory, waiting: .lenient, complain: { _ in })
    }

    private func library(_ directories: [String]? = nil) throws -> RecordingLibrary {
        try RecordingLibrary(
            ArchiveReference(
                (directories ?? [east.path, west.path]).map { ArchiveReference(directory: $0) })
        ) { _ in }
    }

    /// A recording of 700 records. `west` has those from 491 on, and a line by which `east` has acknowledged the others.
    private func record(_ isEast: (UInt64) -> Bool) throws -> WrittenSession {
        let recorded = try WrittenSession { _ in 0 }
        let old = SplitRecording(collector: "east", term: 1)
        try old.copy(Self.session, from: recorded.layout, to: layouts[0]) { isEast($1) }
        try SplitRecording(collector: "west", term: 2).copy(
            Self.session, from: recorded.layout, to: layouts[1]
        ) { $1 > 490 }
        var held = LedgerEntry(kind: .held, at: UTCTime(nanoseconds: 0))
        held.spool = SmallArchive.spool.description
        held.firstSequence = 1
        held.lastSequence = 490
        held.collector = "east"
        let path = layouts[1].ledger(Self.session, "camera")
        let lines = try Ledger.read(path).entries + [held]
        try FileSystem.replace(path, with: lines.flatMap(Ledger.line))
        return recorded
    }

    /// Adds another session with some of the records to an archive.
    private func add(
        _ name: String, of recorded: WrittenSession, to layout: ArchiveLayout,
        collector: String, _ isWanted: (UInt64) -> Bool
    ) throws {
        let copy = ArchiveLayout(root: "\(layout.root)/copy")
        try SplitRecording(collector: collector, term: 1).copy(
            Self.session, from: recorded.layout, to: copy
        ) { isWanted($1) }
        var manifest = try SessionManifest.read(copy.manifest(Self.session))
        manifest.session = name
        try FileSystem.replace(copy.manifest(Self.session), with: manifest.encoded())
        try FileManager.default.moveItem(
            atPath: copy.session(Self.session), toPath: layout.session(name))
    }

    /// Changes a file's modification time.
    private func touch(_ path: String) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -3_600)], ofItemAtPath: path)
    }

    private func lane(_ library: RecordingLibrary) throws -> SourceLane {
        try #require(
            try library.lanes(of: Self.session, in: .min..<Int64.max, remembering: nil) { _ in true
            }.sources.first)
    }

    // MARK: Uncertainty

    @Test(arguments: [EACCES, EIO])
    func `records in a directory or file that cannot be read are not lost`(code: Int32) throws {
        _ = try record { $0 <= 490 }
        #expect(try store().unfound(of: Self.source) == [])
        let folder = StoredPath.source(Self.source)
        for path in [folder, folder / Self.names[0], .ledger(Self.source)] {
            let memory = MergeMemory()
            func unfound() throws -> [HeldRecords]? { try store(memory).unfound(of: Self.source) }
            stores[0].setError(code, at: path)
            let isLedger = path.name == ArchiveLayout.ledgerName
            #expect(try unfound() == (isLedger ? [] : nil), "\(path)")
            stores[0].setError(nil, at: path)
            #expect(try unfound() == [], "\(path)")
        }
    }

    @Test func `a loss is not certain while another file cannot be read`() throws {
        _ = try record { $0 <= 140 }
        #expect(try store().unfound(of: Self.source)?.map(\.records) == [350])
        let file = StoredPath.source(Self.source) / Self.names[1]
        // Not changed: an earlier search has read it.
        stores[1].setError(EACCES, at: file)
        #expect(try store().unfound(of: Self.source)?.map(\.records) == [350])
        try touch(stores[1].path(file))
        #expect(try store().unfound(of: Self.source) == nil)
    }

    @Test func `a damaged file may have the records, and is read once`() throws {
        _ = try record { $0 <= 140 }
        let path = "\(layouts[0].source(Self.session, "camera"))/\(Self.names[0])"
        try FileSystem.replace(path, with: Array("no media".utf8))
        #expect(try store().unfound(of: Self.source) == nil)
        _ = stores[0].takeReads()
        #expect(try store().unfound(of: Self.source) == nil)
        #expect(stores[0].takeReads().files == [])
    }

    @Test func `records in another session that cannot be read are not lost`() throws {
        let recorded = try record { $0 <= 140 }
        // The second copy.
        try add("other", of: recorded, to: layouts[1], collector: "west") { $0 > 140 && $0 <= 490 }
        let path = layouts[1].manifest("other")
        let manifest = try SessionManifest.read(path)
        try FileSystem.replace(path, with: Array("{".utf8))
        #expect(try store().unfound(of: Self.source) == nil)
        try FileSystem.replace(path, with: manifest.encoded())
        #expect(try store().unfound(of: Self.source) == [])
        let file = StoredPath.session("other") / "camera" / Self.names[0]
        stores[1].setError(EIO, at: file)
        #expect(try store(MergeMemory()).unfound(of: Self.source) == nil)
    }

    @Test func `an archive that is away may have the records`() throws {
        let recorded = try record { $0 <= 140 }
        let third = TemporaryDirectory()
        let away = "\(third.path)/away"
        let all = [east.path, west.path, away]
        let lost = try library()
        #expect(try lane(lost).gaps.map(\.cause) == [LedgerEntry.collectorLost])
        #expect(try lost.details(of: Self.session).details.sources.first?.lostSamples == 350)
        let partial = try library(all)
        let lane = try lane(partial)
        #expect(lane.gaps.isEmpty && !lane.isFinal)
        let (details, report) = try partial.details(of: Self.session)
        #expect(details.sources.first?.lostSamples == 0)
        #expect(details.sources.first?.gaps.isEmpty == true)
        #expect(report.sources.first?.gaps.isEmpty == true)
        try SplitRecording(collector: "third", term: 1).copy(
            Self.session, from: recorded.layout, to: ArchiveLayout(root: away)
        ) { $1 > 100 && $1 <= 490 }
        let whole = try self.lane(library(all))
        #expect(whole.gaps.isEmpty && whole.isFinal)
    }

    @Test func `a lane with missing records is read again, although its folder is unchanged`()
        throws
    {
        let recorded = try record { $0 <= 140 }
        let memory = CoverageMemory()
        func coverage() throws -> SourceCoverage {
            func ask(_ memory: CoverageMemory?) throws -> SourceCoverage? {
                try library().coverage(
                    of: Self.session, sources: nil, from: nil, until: nil, pixels: 1_000,
                    remembering: memory
                ) { _ in true }.first
            }
            let answer = try #require(try ask(memory))
            #expect(try ask(nil) == answer)
            return answer
        }
        let missing = try coverage().missing
        #expect(missing.map(\.samples) == [350])
        #expect(try coverage().missing == missing)
        // They are found in another session.
        try add("other", of: recorded, to: layouts[0], collector: "east") { $0 > 140 && $0 <= 490 }
        #expect(try coverage().missing.isEmpty)
    }

    @Test func `a declared loss is not stated while the files that have it cannot be read`() throws
    {
        _ = try record { $0 <= 490 }
        let western = try RecordingLibrary(west.path) { _ in }
        #expect(try western.declareLosses(of: "east").map(\.records) == [490])
        func losses() throws -> [LedgerEntry] {
            try store(MergeMemory()).ledger(of: Self.source).entries.filter(\.isDeclaredLost)
        }
        #expect(try losses() == [])
        stores[0].setError(EACCES, at: .source(Self.source) / Self.names[0])
        #expect(try losses() == [])
        stores[0].setError(nil, at: .source(Self.source) / Self.names[0])
        stores[0].setError(EIO, at: .source(Self.source))
        #expect(try losses() == [])
    }

    @Test func `a segment that lacked an unreadable archive is merged again`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try SplitRecording(collector: "east", term: 1).copy(
            Self.session, from: recorded.layout, to: layouts[0]
        ) { $1 <= 250 }
        try SplitRecording(collector: "west", term: 2).copy(
            Self.session, from: recorded.layout, to: layouts[1]
        ) { $1 > 250 }
        func samples() throws -> Int {
            let session = try RecordedSession(Self.session, in: store())
            var reader = SampleReader(try #require(session.source("camera")))
            var count = 0
            while try reader.next() != nil { count += 1 }
            return count
        }
        let file = StoredPath.source(Self.source) / Self.names[0]
        stores[1].setError(EACCES, at: file)
        #expect(try samples() == 600)
        stores[1].setError(nil, at: file)
        #expect(try samples() == 700)
        #expect(
            try store().copiedSpans(
                of: Self.source, in: nil, jointNanoseconds: SourceCoverage.jointNanoseconds,
                known: [])?.count == 3)
    }

    // MARK: Repeated searches

    @Test func `files and ledgers that have not changed are not read again`() throws {
        let recorded = try record { $0 <= 140 }
        for other in ["a", "b"] {
            try add(other, of: recorded, to: layouts[1], collector: "west") { _ in false }
            var gap = LedgerEntry(kind: .gap, at: UTCTime(nanoseconds: 0))
            gap.spool = String(repeating: other, count: 32)
            gap.firstSequence = 1
            gap.lastSequence = 1
            try FileSystem.replace(layouts[1].ledger(other, "camera"), with: Ledger.line(gap))
        }
        func search() throws -> (files: [String], ledgers: Set<String>) {
            #expect(try store().unfound(of: Self.source)?.map(\.records) == [350])
            let reads = stores.map { $0.takeReads() }
            return (reads.flatMap(\.files), Set(reads.flatMap(\.ledgers).map(\.session)))
        }
        let first = try search()
        #expect(first.ledgers == [Self.session, "a", "b"])
        #expect(Set(first.files) == Set(Self.names))
        let again = try search()
        #expect(again.files == [])
        #expect(again.ledgers == [Self.session])
        // One file changes, and another session's ledger grows.
        try touch("\(layouts[1].source(Self.session, "camera"))/\(Self.names[1])")
        let ledger = layouts[1].ledger("b", "camera")
        let lines = try Ledger.read(ledger).entries
        try FileSystem.replace(ledger, with: (lines + lines).flatMap(Ledger.line))
        let changed = try search()
        #expect(changed.files == [Self.names[1]])
        #expect(changed.ledgers == [Self.session, "b"])
    }

    @Test func `the numbers of all files of a long recording are remembered`() throws {
        let states = (0..<20_000).map {
            MergeMemory.FileState(path: "\($0)", sizeBytes: 1, modifiedNanoseconds: 1)
        }
        for state in states { memory.keep(FileNumbers(isReadable: true), of: state) }
        #expect(states.allSatisfy { memory.numbers(of: $0) != nil })
    }

    @Test func `the entries that were not used for longest are removed`() {
        var entries = RecentEntries<Int, Int>(capacity: 8)
        for number in 0..<8 { entries.keep(number, of: number) }
        #expect(entries.value(of: 0) == 0)
        entries.keep(8, of: 8)
        #expect((0...8).filter { entries.value(of: $0) != nil } == [0, 4, 5, 6, 7, 8])
    }

    // MARK: Many sessions

    @Test func `a finder opens its archive once, and sessions are complete each for itself`()
        throws
    {
        let recorded = try record { $0 <= 490 }
        try add("other", of: recorded, to: layouts[1], collector: "west") { _ in true }
        try FileSystem.replace(layouts[0].manifest(Self.session), with: Array("{".utf8))
        let finder = SessionFinder(
            ArchiveReference([east.path, west.path].map { ArchiveReference(directory: $0) })
        ) { _ in }
        let library = try finder.library()
        #expect(try finder.library().merged === library.merged)
        var omissions = library.omissions
        #expect(try !library.verification(of: Self.session).isIntact)
        #expect(library.isIncomplete(since: omissions) && finder.isIncomplete)
        omissions = library.omissions
        _ = try library.verification(of: "other")
        #expect(!library.isIncomplete(since: omissions))
        #expect(library.isIncomplete && finder.isIncomplete)
    }
}
