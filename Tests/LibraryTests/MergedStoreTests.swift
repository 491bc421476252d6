import Archive
import Foundation
import Glibc
import MP4
import Media
import Synchronization
import Terminal
import TestRecordings
import Testing

@testable import Library
@testable import Recordings

/// Several archives as one: a recording that was made by two collectors, in parts that overlap.
@Suite struct MergedStoreTests {
    private static let session = WrittenSession.name
    private static let second = WrittenSession.second

    private final class Complaints: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func take(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private let complaints = Complaints()
    private let east = TemporaryDirectory()
    private let west = TemporaryDirectory()

    private var places: [ArchiveLayout] {
        [ArchiveLayout(root: east.path), ArchiveLayout(root: west.path)]
    }

    private func library(
        _ directories: [String]? = nil, isReadOnly: Bool = false
    ) throws -> RecordingLibrary {
        try RecordingLibrary(
            ArchiveReference(
                (directories ?? [east.path, west.path]).map { ArchiveReference(directory: $0) }),
            isReadOnly: isReadOnly
        ) { [complaints] in complaints.take($0) }
    }

    /// The second archive alone.
    private func western() throws -> RecordingLibrary {
        try RecordingLibrary(ArchiveReference(directory: west.path), isReadOnly: false) {
            [complaints] in complaints.take($0)
        }
    }

    /// A sample without its place in files.
    private struct Heard: Hashable {
        var track: TrackKind
        var number: UInt64
        var dts: Int64
        var pts: Int64
        var isHidden: Bool
        var bytes: [UInt8]
    }

    private func samples(_ session: RecordedSession) throws -> [Heard] {
        var reader = SampleReader(try #require(session.source("camera")))
        var samples: [Heard] = []
        while let sample = try reader.next() {
            samples.append(
                Heard(
                    track: sample.track, number: try #require(sample.sequence),
                    dts: sample.dtsNanoseconds, pts: sample.ptsNanoseconds,
                    isHidden: sample.isHidden, bytes: try sample.read()))
        }
        return samples
    }

    /// Splits a recording between both archives.
    private func split(
        _ recorded: WrittenSession, east: SplitRecording, west: SplitRecording,
        _ isEast: (UInt64) -> Bool, _ isWest: (UInt64) -> Bool
    ) throws {
        try east.copy(Self.session, from: recorded.layout, to: places[0]) { isEast($1) }
        try west.copy(Self.session, from: recorded.layout, to: places[1]) { isWest($1) }
    }

    private let old = SplitRecording(collector: "east", term: 1)
    private let new = SplitRecording(collector: "west", term: 2)

    @Test func `a recording crosses from one archive to the other within a group of pictures`()
        throws
    {
        let recorded = try WrittenSession { _ in 0 }
        let whole = try samples(RecordedSession(Self.session, in: recorded.layout))
        // 20 pictures and 50 packets a second: number 250 is in the middle of the fourth group.
        try split(recorded, east: old, west: new, { $0 <= 250 }, { $0 >= 230 })
        let library = try library()
        let merged = try samples(library.recording(Self.session))
        #expect(merged.count == whole.count)
        #expect(merged == whole)
        #expect(complaints.all.isEmpty)
        #expect(try library.sessions().map(\.session) == [Self.session])
        #expect(try library.segments(of: Self.session).count == 2)
        // Whatever the order in which they are given.
        let turned = try self.library([west.path, east.path])
        #expect(try samples(turned.recording(Self.session)) == whole)
    }

    @Test func `reordered pictures are merged when collectors take turns`() throws {
        let recorded = try WrittenSession(reordered: true, primed: true) { _ in 0 }
        let whole = try samples(RecordedSession(Self.session, in: recorded.layout))
        try split(
            recorded, east: old, west: new, { $0 <= 111 || $0 >= 400 },
            { (90...450).contains($0) })
        #expect(try samples(library().recording(Self.session)) == whole)
    }

    @Test func `a change of archive at a file boundary loses nothing`() throws {
        let recorded = try WrittenSession { _ in 0 }
        let whole = try samples(RecordedSession(Self.session, in: recorded.layout))
        try split(recorded, east: old, west: new, { $0 <= 350 }, { $0 > 350 })
        let library = try library()
        #expect(try samples(library.recording(Self.session)) == whole)
        // Files of one archive alone are read as they are.
        let files = try #require(try library.recording(Self.session).source("camera")).files
        #expect(
            files.map(\.path)
                == places.map { $0.source(Self.session, "camera") }.enumerated().map {
                    "\($1)/\(["2026-11-20T22-40-00.000Z", "2026-11-20T22-40-05.000Z"][$0]).mp4"
                })
    }

    /// The source leaves `east`, returns after three segments, and its first sound is at the end of the file from before.
    @Test func `sound of a return is read once, with the segment of its time`() throws {
        let recorded = try WrittenSession(segments: 4, secondsEach: 5) { _ in 0 }
        let whole = try samples(RecordedSession(Self.session, in: recorded.layout))
        let file = try WrittenSession(segments: 1, secondsEach: 20) { _ in 0 }
        let sound = Set(
            whole.filter { $0.track == .audio && $0.number <= 16 * 70 }.suffix(3).map(\.number))
        try old.copy(Self.session, from: file.layout, to: places[0]) { _, number in
            number <= 60 || sound.contains(number)
        }
        try old.copy(Self.session, from: recorded.layout, to: places[0]) { $1 > 16 * 70 }
        try new.copy(Self.session, from: recorded.layout, to: places[1]) { _, number in
            number > 50 && number <= 16 * 70 && !sound.contains(number)
        }
        let merged = try samples(library().recording(Self.session))
        #expect(merged.map(\.number).sorted() == whole.map(\.number).sorted())
        for track in [TrackKind.video, .audio] {
            let times = merged.filter { $0.track == track }.map(\.dts)
            #expect(times == times.sorted(), "\(track)")
        }
        #expect(complaints.all.isEmpty)
    }

    /// The clock of `east` is a moment behind, so its first file has the sixth second, too; and it has only a part of that second.
    @Test(
        arguments: [(351...384, 385...700), (351...384, 385...420)]
            as [(ClosedRange<UInt64>, ClosedRange<UInt64>)])
    func `records of a second that is in different segments keep their order`(
        lacking: ClosedRange<UInt64>, own: ClosedRange<UInt64>
    ) throws {
        let recorded = try WrittenSession { _ in 0 }
        let whole = try samples(RecordedSession(Self.session, in: recorded.layout))
        let shifted = try WrittenSession(segments: 2, secondsEach: 6) { _ in 0 }
        var first = old
        first.term = 2
        try first.copy(Self.session, from: shifted.layout, to: places[0]) { _, number in
            number < lacking.lowerBound || own.contains(number)
        }
        var manifest = try SessionManifest.read(places[0].manifest(Self.session))
        manifest.segmentNanoseconds = 5 * Self.second
        try FileSystem.replace(places[0].manifest(Self.session), with: manifest.encoded())
        var second = new
        second.term = 1
        try second.copy(Self.session, from: recorded.layout, to: places[1]) { $1 > 200 }
        let library = try library()
        let merged = try samples(library.recording(Self.session))
        #expect(merged.map(\.number).sorted() == whole.map(\.number).sorted())
        for track in [TrackKind.video, .audio] {
            let times = merged.filter { $0.track == track }.map(\.dts)
            #expect(times == times.sorted(), "\(track)")
        }
        #expect(merged == whole)
        #expect(try library.recording(Self.session).source("camera")?.files.count == 2)
        #expect(try library.verification(of: Self.session).isIntact)
        #expect(complaints.all.isEmpty)
    }

    @Test
    func `the copy of the higher term is read, then that of the archive whose name sorts first`()
        throws
    {
        let recorded = try WrittenSession(segments: 1) { _ in 0 }
        func owners(_ first: SplitRecording, _ second: SplitRecording) throws -> Set<String> {
            for place in places {
                if FileSystem.exists(place.session(Self.session)) {
                    try FileSystem.removeTree(place.session(Self.session))
                }
            }
            try split(recorded, east: first, west: second, { _ in true }, { $0 > 100 })
            let file = try #require(
                try library().recording(Self.session).source("camera")?.files.first
            ).opened()
            var cursor = try FileCursor(file)
            var owners: Set<String> = []
            while let fragment = try cursor.next() {
                for piece in fragment.pieces {
                    for sample in piece.runs.flatMap(\.samples) where sample.sequence == 200 {
                        owners.insert(file.revision == 0 ? "first" : "joined")
                    }
                }
            }
            return owners
        }
        #expect(try owners(old, new) == ["joined"])
        #expect(try owners(new, old) == ["first"])
        var same = old
        same.collector = "west"
        #expect(try owners(old, same) == ["first"])
    }

    @Test func `verify counts copies, and records of only one archive are not missing`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try split(
            recorded, east: old, west: new, { $0 <= 250 || $0 > 600 }, { (231...640).contains($0) })
        let report = try library().verification(of: Self.session)
        #expect(report.allFindings.filter { $0.severity.isDamage }.map(\.text) == [])
        let source = try #require(report.sources.first)
        #expect(source.recordedSamples == 700)
        #expect(source.copies == 20 + 40)
        #expect(report.archives?.map(\.name) == ["east", "west"])
        #expect(report.archives?.map(\.recordedSamples) == [350, 410])
        // One of them alone lacks records.
        #expect(try !SessionVerifier.verify(Self.session, in: places[0]).isIntact)
        // So do both, where neither has them.
        try FileSystem.removeTree(places[1].session(Self.session))
        try new.copy(Self.session, from: recorded.layout, to: places[1]) {
            (300...640).contains($1)
        }
        let holes = try library().verification(of: Self.session)
        #expect(holes.findings.map(\.text).contains { $0.hasPrefix("records 251 to 299 ") })
    }

    @Test func `a source that one archive has is not missing in another`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { _ in true }, { _ in true })
        for layout in places {
            var manifest = try SessionManifest.read(layout.manifest(Self.session))
            manifest.sources = [
                SessionManifest.Source(
                    name: "camera", agent: "box", address: "", tracks: [], isComplete: true)
            ]
            try FileSystem.replace(layout.manifest(Self.session), with: manifest.encoded())
        }
        try FileSystem.removeTree(places[1].source(Self.session, "camera"))
        #expect(try library().verification(of: Self.session).isIntact)
        try FileSystem.removeTree(places[0].source(Self.session, "camera"))
        let report = try library().verification(of: Self.session)
        #expect(
            report.findings.filter(\.severity.isDamage).map(\.text)
                == ["the session's source has no recording"])
    }

    /// A source that moves to another collector can be recorded there in a session of that collector, and come back.
    @Test func `records between two archives' records may be in another session`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try old.copy(Self.session, from: recorded.layout, to: places[0]) {
            (251...300).contains($1)
        }
        try rename(Self.session, to: "other", in: places[0])
        try split(recorded, east: old, west: new, { $0 <= 250 }, { $0 > 300 })
        let report = try library().verification(of: Self.session)
        #expect(report.isIntact, "\(report.findings)")
        #expect(
            report.findings.map(\.text) == [
                "50 records of camera are in another session of these archives: read them in other"
            ])
        try FileSystem.removeTree(places[0].session("other"))
        #expect(try !library().verification(of: Self.session).isIntact)
    }

    private func rename(_ session: String, to other: String, in layout: ArchiveLayout) throws {
        var manifest = try SessionManifest.read(layout.manifest(session))
        manifest.session = other
        try FileManager.default.moveItem(
            atPath: layout.session(session), toPath: layout.session(other))
        try FileSystem.replace(layout.manifest(other), with: manifest.encoded())
    }

    /// Far apart: the clocks' rates differ, and the session is long.
    @Test(arguments: [7_000_000, 400_000_000] as [Int64])
    func `the second archive's times are moved to the first one's timeline`(shift: Int64) throws {
        let recorded = try WrittenSession { _ in 0 }
        let whole = try samples(RecordedSession(Self.session, in: recorded.layout))
        var late = new
        late.shiftNanoseconds = shift
        try split(recorded, east: old, west: late, { $0 <= 250 }, { $0 > 200 })
        // Both have measured the agent's clock.
        for (layout, offset) in zip(places, [0, shift]) {
            var epoch = LedgerEntry(kind: .epoch, at: UTCTime(nanoseconds: 0))
            epoch.epoch = "e"
            epoch.collectorZeroNanoseconds = 0
            var model = LedgerEntry(kind: .clock, at: UTCTime(nanoseconds: 0))
            model.epoch = "e"
            model.agentNanoseconds = 0
            model.offsetNanoseconds = offset
            model.boundNanoseconds = 40_000
            let path = layout.ledger(Self.session, "camera")
            let before = FileSystem.exists(path) ? try FileSystem.read(path, limit: 1 << 20) : []
            try FileSystem.replace(path, with: before + Ledger.line(epoch) + Ledger.line(model))
        }
        let merged = try samples(library().recording(Self.session))
        #expect(merged.map(\.number) == whole.map(\.number))
        #expect(zip(merged, whole).allSatisfy { abs($0.dts - $1.dts) <= 12_000 })
        let report = try library().verification(of: Self.session)
        #expect(report.archives?.map(\.shiftNanoseconds) == [0, -shift])
        #expect(report.archives?.map(\.boundNanoseconds) == [0, 80_000])
    }

    @Test
    func
        `held records are told apart from lost ones, and are recorded where their archive is read`()
        throws
    {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { $0 <= 250 }, { $0 > 250 })
        var held = LedgerEntry(kind: .held, at: UTCTime(nanoseconds: 0))
        held.spool = SmallArchive.spool.description
        held.firstSequence = 1
        held.lastSequence = 250
        held.collector = "east"
        try FileSystem.replace(
            places[1].ledger(Self.session, "camera"), with: Ledger.line(held))
        let alone = try RecordingLibrary(west.path) { [complaints] in complaints.take($0) }
        let lane = try #require(
            try alone.coverage(of: Self.session, in: 0..<20 * Self.second, resolutionNanoseconds: 0)
                .first)
        #expect(lane.held.map(\.records) == [250])
        #expect(lane.held.map(\.collector) == ["east"])
        #expect(lane.held.first?.startNanoseconds == nil)
        // Number 251 is a packet of sound; the first picture behind is shown later.
        #expect(lane.held.first?.endNanoseconds.map { $0 / Self.second } == 3)
        #expect(lane.missing.isEmpty)
        let report = try alone.verification(of: Self.session)
        #expect(report.isIntact)
        #expect(report.sources.first?.held?.map(\.records) == [250])
        let both = try library()
        #expect(
            try both.coverage(of: Self.session, in: 0..<20 * Self.second, resolutionNanoseconds: 0)
                .first?.held == [])
        #expect(try both.verification(of: Self.session).sources.first?.held == nil)
    }

    /// A line of `west`: `east` has acknowledged these records.
    private func held(_ range: ClosedRange<UInt64>) -> LedgerEntry {
        var held = LedgerEntry(kind: .held, at: UTCTime(nanoseconds: 0))
        held.spool = SmallArchive.spool.description
        held.firstSequence = range.lowerBound
        held.lastSequence = range.upperBound
        held.collector = "east"
        return held
    }

    private func add(_ line: LedgerEntry, to place: ArchiveLayout) throws {
        let path = place.ledger(Self.session, "camera")
        let lines = try Ledger.read(path).entries + [line]
        try FileSystem.replace(path, with: lines.flatMap(Ledger.line))
    }

    @Test func `held records may be ledger lines of the other collector, without media`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { $0 < 250 }, { $0 > 250 })
        try add(held(1...250), to: places[1])
        #expect(try !library().verification(of: Self.session).isIntact)
        var gap = LedgerEntry(kind: .gap, at: UTCTime(nanoseconds: 0))
        gap.spool = SmallArchive.spool.description
        gap.firstSequence = 250
        gap.lastSequence = 250
        gap.samples = 1
        gap.cause = "encoder overload"
        try add(gap, to: places[0])
        let report = try library().verification(of: Self.session)
        #expect(report.isIntact, "\(report.findings)")
        #expect(report.sources.first?.held == nil)
        // Declared lost and found again.
        _ = try western().declareLosses(of: "east")
        #expect(try declaredLosses(western()).flatMap(\.sequences) == [1...250])
        #expect(try declaredLosses(library()) == [])
    }

    private func declaredLosses(_ library: RecordingLibrary) throws -> [LedgerEntry] {
        let source = SourceKey(session: Self.session, source: "camera")
        return try library.store.ledger(of: source).entries
            .filter(\.isDeclaredLost)
    }

    /// As with `--release mirrored`, when the archive of `east` was lost after it had acknowledged them.
    @Test func `records that a lost archive had may be in another session`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { $0 > 600 }, { $0 > 250 })
        try add(held(1...250), to: places[1])
        let damaged = try library().verification(of: Self.session)
        #expect(damaged.findings.contains { $0.text.contains("250 records that east has") })
        // The second copy is in a session that another collector began.
        let other = "other"
        let third = TemporaryDirectory()
        let copy = ArchiveLayout(root: third.path)
        try new.copy(Self.session, from: recorded.layout, to: copy) { $1 <= 250 }
        var manifest = try SessionManifest.read(copy.manifest(Self.session))
        manifest.session = other
        try FileManager.default.moveItem(
            atPath: copy.session(Self.session), toPath: places[1].session(other))
        try FileSystem.replace(places[1].manifest(other), with: manifest.encoded())
        let report = try library().verification(of: Self.session)
        #expect(report.isIntact, "\(report.findings)")
        #expect(report.findings.contains { $0.text.contains("250 records of camera") })
    }

    /// As where cameras start together at two collectors without the site's database.
    @Test func `records that an archive has in another session are not held by it`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { $0 <= 250 }, { $0 > 250 })
        try add(held(1...250), to: places[1])
        let other = "other"
        try rename(Self.session, to: other, in: places[0])
        let alone = try western().verification(of: Self.session)
        #expect(alone.sources.first?.held?.map(\.records) == [250])
        let report = try library().verification(of: Self.session)
        #expect(report.sources.first?.held == nil)
        let note = try #require(report.findings.first { $0.severity == .note })
        #expect(
            note.text
                == "250 records of camera are in another session of these archives: read them in other"
        )
        #expect(report.isIntact, "\(report.findings)")
        // Those that it has lost are still held, or missing.
        try FileManager.default.removeItem(
            atPath: places[0].source(other, "camera"))
        #expect(try library().verification(of: Self.session).sources.first?.held?.count == 1)
    }

    @Test func `held records within the span of one file are not shown as recorded`() throws {
        let recorded = try WrittenSession(segments: 1, secondsEach: 10) { _ in 0 }
        try old.copy(Self.session, from: recorded.layout, to: places[0]) {
            $1 <= 140 || $1 > 490
        }
        var held = LedgerEntry(kind: .held, at: UTCTime(nanoseconds: 0))
        held.spool = SmallArchive.spool.description
        held.firstSequence = 141
        held.lastSequence = 490
        held.collector = "west"
        try FileSystem.replace(
            places[0].ledger(Self.session, "camera"), with: Ledger.line(held))
        let library = try RecordingLibrary(east.path) { [complaints] in complaints.take($0) }
        let lane = try #require(
            try library.coverage(
                of: Self.session, in: 0..<20 * Self.second, resolutionNanoseconds: 0
            ).first)
        #expect(lane.recorded.map { $0.startNanoseconds / Self.second } == [0, 7])
        #expect(lane.recorded.map { $0.endNanoseconds / Self.second } == [2, 10])
        #expect(lane.held.map(\.records) == [350] && lane.missing.isEmpty)
    }

    @Test func `coverage names the archives of each range, also within a file`() throws {
        let recorded = try WrittenSession { _ in 0 }
        // 70 records a second: the source was at west from the second to the seventh second.
        try split(
            recorded, east: old, west: new, { $0 <= 140 || $0 > 490 },
            { (120...500).contains($0) })
        let memory = CoverageMemory()
        func lane(_ directories: [String]? = nil, pixels: Int = 10_000) throws -> SourceCoverage {
            let library =
                directories?.count == 1
                ? try RecordingLibrary(directories?.first ?? "") { _ in }
                : try library(directories)
            return try #require(
                try library.coverage(
                    of: Self.session, sources: nil, from: nil, until: nil, pixels: pixels,
                    remembering: directories == nil ? memory : nil
                ) { _ in true }.first)
        }
        func spans(_ lane: SourceCoverage) -> [String] {
            (lane.copies ?? []).flatMap { copy in
                copy.recorded.map {
                    let tenths = [$0.startNanoseconds, $0.endNanoseconds].map {
                        Double($0 / 100_000_000) / 10
                    }
                    return "\(copy.collector) \(tenths[0]) \(tenths[1])"
                }
            }
        }
        let whole = try lane()
        #expect(whole.recorded.count == 1 && whole.held.isEmpty)
        let wanted = ["east 0.0 2.0", "east 7.0 10.0", "west 1.7 7.2"]
        #expect(spans(whole) == wanted)
        // Remembered, and in the other order of archives.
        #expect(try lane() == whole)
        #expect(try spans(lane([west.path, east.path])) == wanted)
        // Two pixels of five seconds.
        #expect(try spans(lane(pixels: 2)) == ["east 0.0 10.0", "west 1.7 7.2"])
        #expect(try lane([east.path]).copies == nil)
        // Without collectors' names, archives have numbers: paths are not for viewers.
        for place in places {
            let path = place.manifest(Self.session)
            var manifest = try SessionManifest.read(path)
            manifest.collector = nil
            try FileSystem.replace(path, with: manifest.encoded())
        }
        #expect(
            try library().coverage(
                of: Self.session, in: 0..<20 * Self.second, resolutionNanoseconds: 0
            ).first?.copies?.map(\.collector) == ["archive 1", "archive 2"])
    }

    @Test func `records that an absent collector may still receive are not missing`() throws {
        let recorded = try WrittenSession { _ in 0 }
        var open = SplitRecording(collector: "east", term: 1)
        open.isFinished = false
        try open.copy(Self.session, from: recorded.layout, to: places[0]) { $1 <= 200 || $1 > 210 }
        try SplitRecording(collector: "west", term: 2).copy(
            Self.session, from: recorded.layout, to: places[1]
        ) { $1 <= 100 }
        let both = try library().verification(of: Self.session)
        #expect(both.findings.map(\.text).contains { $0.hasPrefix("records 201 to 210 ") })
        // West has another source only.
        try FileManager.default.moveItem(
            atPath: places[1].source(Self.session, "camera"),
            toPath: places[1].source(Self.session, "other"))
        let path = places[1].manifest(Self.session)
        var manifest = try SessionManifest.read(path)
        for index in manifest.sources.indices { manifest.sources[index].name = "other" }
        try FileSystem.replace(path, with: manifest.encoded())
        let report = try library().verification(of: Self.session)
        #expect(report.state == "finished")
        #expect(report.isIntact, "\(report.allFindings)")
    }

    @Test func `records that a collector acknowledged and that its archive lacks are damage`()
        throws
    {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { $0 <= 200 }, { $0 > 250 })
        var held = LedgerEntry(kind: .held, at: UTCTime(nanoseconds: 0))
        held.spool = SmallArchive.spool.description
        held.firstSequence = 1
        held.lastSequence = 250
        held.collector = "east"
        try FileSystem.replace(
            places[1].ledger(Self.session, "camera"), with: Ledger.line(held))
        let report = try library().verification(of: Self.session)
        #expect(
            report.findings.contains { $0.text.hasPrefix("50 records that east has acknowledged") })
    }

    @Test func `missing records are attributed to the archive that acknowledged them`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { $0 <= 200 }, { $0 > 300 })
        try add(held(1...250), to: places[1])
        func findings() throws -> [String] {
            try library().verification(of: Self.session).findings.filter(\.severity.isDamage)
                .map {
                    "\($0.path): \($0.text.split(separator: " ").prefix(4).joined(separator: " "))"
                }
        }
        let folders = places.map { $0.source(Self.session, "camera") }
        // No collector's: the session, without an archive.
        #expect(
            try findings() == [
                "\(Self.session)/camera: records 251 to 300", "\(folders[0]): 50 records that east",
            ])
        // West's description counts them.
        var manifest = try SessionManifest.read(places[1].manifest(Self.session))
        manifest.sources = [
            SessionManifest.Source(
                name: "camera", agent: "box", address: "", tracks: [], isComplete: true)
        ]
        manifest.sources[0].spools = [
            SessionManifest.SpoolEnd(
                spool: SmallArchive.spool.description, first: 201,
                sequences: SequenceSet(upTo: 700))
        ]
        try FileSystem.replace(places[1].manifest(Self.session), with: manifest.encoded())
        #expect(
            try findings() == [
                "\(folders[1]): records 251 to 300", "\(folders[0]): 50 records that east",
            ])
    }

    @Test func `a session is protected if every archive that has it protects it`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { $0 <= 350 }, { $0 > 350 })
        func protection() throws -> (all: Bool, listed: Bool, only: [String]) {
            let library = try library()
            return (
                library.isProtected(Self.session),
                try #require(try library.sessions().first).isProtected,
                library.archivesProtecting(Self.session)
            )
        }
        #expect(try protection() == (false, false, []))
        try FileSystem.replace(places[1].protection(Self.session), with: [])
        #expect(try protection() == (false, false, ["west"]))
        try FileSystem.replace(places[0].protection(Self.session), with: [])
        #expect(try protection() == (true, true, []))
    }

    @Test func `a declared loss has only what no archive has, at its time`() throws {
        let recorded = try WrittenSession { _ in 0 }
        // A third collector is lost; west has seen nothing before its records.
        try split(
            recorded, east: old, west: new, { $0 <= 210 || (281...420).contains($0) }, { $0 > 490 })
        var line = held(1...490)
        line.collector = "lost"
        try add(line, to: places[1])
        _ = try western().declareLosses(of: "lost")
        let alone = try #require(try declaredLosses(western()).first)
        #expect(alone.samples == 490 && alone.startNanoseconds == 0)
        let joint = try #require(try declaredLosses(library()).first)
        #expect(joint.sequences == [211...280, 421...490])
        #expect(joint.samples == 140)
        #expect((joint.startNanoseconds ?? 0) / (Self.second / 10) == 30)
        let end = (joint.startNanoseconds ?? 0) + Int64(joint.durationNanoseconds ?? 0)
        #expect(end / (Self.second / 10) == 70)
        let (details, _) = try library().details(of: Self.session)
        #expect(details.sources.first?.lostSamples == 140)
    }

    @Test func `two boxes at once are noted, and told apart from a box that begins again`() throws {
        let recorded = try WrittenSession { _ in 0 }
        var other = new
        other.spool = SpoolID(high: 9, low: 9)
        let source = SourceKey(session: Self.session, source: "camera")
        func boxes(_ from: Int64? = nil, _ until: Int64? = nil) throws -> SimultaneousBoxes? {
            try library().merged?.simultaneousBoxes(of: source, from: from, until: until)
        }
        // The second box begins after three of ten seconds.
        try split(recorded, east: old, west: other, { _ in true }, { $0 > 210 })
        let found = try #require(try boxes())
        #expect(found.startNanoseconds / (Self.second / 10) == 30)
        #expect(found.archives == [east.path, west.path])
        #expect(try boxes(0, 2 * Self.second) == nil)
        #expect(try boxes(8 * Self.second, 9 * Self.second) != nil)
        let report = try library().verification(of: Self.session)
        #expect(
            report.findings.contains {
                $0.severity == .note
                    && $0.text.hasPrefix("was recorded by two boxes at once from 0:03.0")
            })
        // Copies, and a box whose spool was lost on its way to the other collector.
        try FileSystem.removeTree(places[1].session(Self.session))
        try new.copy(Self.session, from: recorded.layout, to: places[1]) { $1 > 210 }
        #expect(try boxes() == nil)
        for place in places { try FileSystem.removeTree(place.session(Self.session)) }
        try split(recorded, east: old, west: other, { $0 <= 260 }, { $0 > 210 })
        #expect(try boxes() == nil)
    }

    @Test func `records that no archive has are missing in coverage and in show`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { $0 <= 140 || $0 > 600 }, { $0 > 490 })
        try add(held(1...490), to: places[1])
        func lane() throws -> SourceCoverage {
            try #require(
                try library().coverage(
                    of: Self.session, in: 0..<20 * Self.second, resolutionNanoseconds: 0
                ).first)
        }
        let missing = try #require(try lane().missing.first)
        #expect(missing.cause == LedgerEntry.collectorLost && missing.samples == 350)
        #expect(missing.startNanoseconds / Self.second == 2)
        #expect(missing.endNanoseconds / Self.second == 7)
        #expect(try lane().held.isEmpty)
        let (details, report) = try library().details(of: Self.session)
        #expect(details.sources.first?.lostSamples == 350)
        #expect(report.sources.first?.gaps.map(\.samples) == [350])
        // A collector's own ledger can have them instead of media.
        var gap = LedgerEntry(kind: .gap, at: UTCTime(nanoseconds: 0))
        gap.spool = SmallArchive.spool.description
        gap.ranges = [[141, 490]]
        gap.samples = 350
        gap.cause = "encoder overload"
        try add(gap, to: places[0])
        #expect(try lane().missing.map(\.cause) != [LedgerEntry.collectorLost])
        #expect(try library().details(of: Self.session).details.sources.first?.lostSamples == 350)
    }

    @Test func `held records in any file of the other archive are not missing`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { $0 <= 490 }, { $0 > 490 })
        try add(held(1...490), to: places[1])
        let source = SourceKey(session: Self.session, source: "camera")
        #expect(try library().merged?.unfound(of: source) == [])
        #expect(try library().details(of: Self.session).details.sources.first?.lostSamples == 0)
    }

    @Test func `a session whose description is damaged in one archive is damaged`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { $0 <= 350 }, { $0 > 350 })
        let path = places[0].manifest(Self.session)
        try FileSystem.replace(path, with: Array("{".utf8))
        let library = try library()
        let report = try library.verification(of: Self.session)
        #expect(!report.isIntact && library.isIncomplete)
        #expect(report.findings.contains { $0.severity == .damage && $0.path == path })
        // Without a description, too; and in both archives.
        try FileManager.default.removeItem(atPath: path)
        #expect(
            try self.library().verification(of: Self.session).findings.contains {
                $0.severity == .damage && $0.path == path
            })
        try FileManager.default.removeItem(atPath: places[1].manifest(Self.session))
        let neither = try self.library().verification(of: Self.session)
        #expect(neither.findings.count { $0.path.hasSuffix("session.json") } == 2)
        #expect(neither.sources.flatMap(\.files).count == 2)
    }

    @Test(.enabled(if: geteuid() != 0, "the super-user may read everything"))
    func `an archive that may not be read is one line, and no damage`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { _ in true }, { _ in true })
        for (index, path) in [
            places[1].root, places[1].sessions, places[1].session(Self.session),
        ].enumerated() {
            #expect(chmod(path, 0) == 0)
            defer { chmod(path, 0o700) }
            let library = try library()
            #expect(try library.verification(of: Self.session).isIntact)
            #expect(library.isIncomplete)
            #expect(try library.sessions().map(\.session) == [Self.session])
            #expect(complaints.all.count == index + 1 || index == 2, "\(complaints.all)")
        }
    }

    @Test func `a stray folder is damage only of its own session`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { $0 <= 350 }, { $0 > 350 })
        try FileSystem.makeDirectories(places[0].session("stray"))
        let library = try library()
        #expect(try library.sessionNames() == [Self.session, "stray"].sorted())
        #expect(try !library.verification(of: "stray").isIntact)
        #expect(try library.verification(of: Self.session).isIntact)
        #expect(!library.isIncomplete && complaints.all.isEmpty)
    }

    @Test func `an incomplete check marks the library that was asked`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { $0 <= 350 }, { $0 > 350 })
        let library = try library()
        let strict = try #require(library.merged?.strict())
        try FileSystem.replace(places[1].manifest(Self.session), with: Array("{".utf8))
        _ = try strict.session(Self.session)
        #expect(library.isIncomplete)
    }

    @Test func `labels of several archives show the first name, and all are found`() throws {
        let recorded = try WrittenSession { _ in 0 }
        try split(recorded, east: old, west: new, { $0 <= 350 }, { $0 > 350 })
        for (place, notes) in zip(
            places,
            [
                SessionNotes(name: "Premiere", tags: ["stage"]),
                SessionNotes(name: "Other", tags: ["stage", "a"], note: "rain"),
            ])
        {
            try FileSystem.replace(
                "\(place.session(Self.session))/\(SessionNotes.fileName)", with: notes.encoded())
        }
        // In the order of the collectors' names, whatever the order in which they are given.
        let references = [west.path, east.path].map { ArchiveReference(directory: $0) }
        let finder = SessionFinder(ArchiveReference(references)) { [complaints] in
            complaints.take($0)
        }
        let library = try finder.library()
        #expect(
            library.labels(Self.session)
                == SessionNotes(name: "Premiere", tags: ["a", "stage"], note: "rain"))
        for label in ["Premiere", "Other", "stage", "a"] {
            #expect(try finder.session(named: label).name == Self.session)
        }
        for tags in [["a"], ["stage"], ["a", "stage"]] {
            #expect(try library.sessions(tags: tags).map(\.name) == ["Premiere"])
        }
    }

    @Test func `one archive in two spellings is refused`() throws {
        try FileSystem.makeDirectories(places[0].sessions)
        let other = "\(west.path)/link"
        try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: east.path)
        for spelling in [
            east.path, "\(east.path)/", "\(east.path)/.", "\(east.path)/sessions/..", other,
        ] {
            #expect(throws: UsageError.self, "\(spelling)") {
                try ArchiveReference.check([east.path, spelling])
            }
        }
        #expect(throws: UsageError.self) {
            try ArchiveReference.check(["\(east.path)/new", "\(east.path)//new/"])
        }
        #expect(throws: UsageError.self) {
            try ArchiveReference.check(["s3://bucket/a", "s3://bucket/a/"])
        }
        try ArchiveReference.check([east.path, west.path, "s3://bucket/a"])
    }

    @Test func `an archive with invalid contents does not affect the other archives`() throws {
        let recorded = try WrittenSession { _ in 0 }
        let whole = try samples(RecordedSession(Self.session, in: recorded.layout))
        try old.copy(Self.session, from: recorded.layout, to: places[0]) { _, _ in true }
        let folder = places[1].source(Self.session, "camera")
        try FileSystem.makeDirectories(folder)
        func read() throws -> [Heard] { try samples(library().recording(Self.session)) }
        // No description at all; one that is none; one of another session.
        #expect(try read() == whole)
        try FileSystem.replace(places[1].manifest(Self.session), with: Array("{}".utf8))
        #expect(try read() == whole)
        var manifest = try SessionManifest.read(places[0].manifest(Self.session))
        manifest.zeroUTCNanoseconds -= 3_600 * Self.second
        try FileSystem.replace(places[1].manifest(Self.session), with: manifest.encoded())
        #expect(try read() == whole)
        #expect(
            complaints.all.contains { $0.contains("is another session with the name of that in") })
        // Files that are none, and a ledger that is none.
        manifest.zeroUTCNanoseconds += 3_600 * Self.second
        manifest.collector = "a-stranger"
        try FileSystem.replace(places[1].manifest(Self.session), with: manifest.encoded())
        for name in [
            "2026-11-20T22-40-00.000Z.mp4", "2026-11-20T22-40-05.000Z.mp4", "ledger.jsonl",
        ] {
            try FileSystem.replace("\(folder)/\(name)", with: Array("no media".utf8))
        }
        #expect(try read() == whole)
    }

    @Test(arguments: [100, 4_000])
    func `a cut file in one archive is a line, and its other records are read`(
        _ media: Int64
    ) throws {
        let recorded = try WrittenSession { _ in 0 }
        let whole = try samples(RecordedSession(Self.session, in: recorded.layout))
        try split(recorded, east: old, west: new, { $0 <= 250 }, { $0 > 150 })
        let file =
            places[1].source(Self.session, "camera") + "/2026-11-20T22-40-00.000Z.mp4"
        let end = try RecordedFile(opening: file).layout.fragments.lowerBound + media
        let bytes = try FileSystem.read(file, limit: 1 << 24)
        try #require(end < bytes.count)
        try FileSystem.replace(file, with: Array(bytes.prefix(Int(end))))
        let library = try library()
        let merged = try samples(library.recording(Self.session))
        #expect(merged.count < whole.count && merged.count >= 250)
        #expect(merged.filter { $0.number <= 250 } == whole.filter { $0.number <= 250 })
        #expect(complaints.all.count == 1 && complaints.all[0].contains(file))
        #expect(library.isIncomplete)
    }

    @Test func `a copy waits a limited time for the preferred archive`() throws {
        let recorded = try WrittenSession(segments: 1, secondsEach: 10) { _ in 0 }
        let whole = try samples(RecordedSession(Self.session, in: recorded.layout))
        // Two collectors record the same under one term, the first of them has got less far.
        var first = SplitRecording(collector: "east", term: 1)
        var second = SplitRecording(collector: "west", term: 1)
        first.isFinished = false
        second.isFinished = false
        try first.copy(Self.session, from: recorded.layout, to: places[0]) { $1 <= 150 }
        try second.copy(Self.session, from: recorded.layout, to: places[1]) { $1 <= 350 }
        var merged = try samples(library().recording(Self.session))
        #expect(merged.count == 150)
        // It has stood still for more than four seconds.
        try FileSystem.removeTree(places[1].session(Self.session))
        try second.copy(Self.session, from: recorded.layout, to: places[1]) { $1 <= 700 }
        merged = try samples(library().recording(Self.session))
        #expect(merged == whole.filter { $0.number <= UInt64(merged.count) })
        #expect((400...450).contains(merged.count))
    }

    @Test func `a growing recording continues in the other archive`() throws {
        let recorded = try WrittenSession(segments: 1) { _ in 0 }
        let whole = try samples(RecordedSession(Self.session, in: recorded.layout))
        var growing = (old, new)
        growing.0.isFinished = false
        growing.1.isFinished = false
        try growing.0.copy(Self.session, from: recorded.layout, to: places[0]) { $1 <= 150 }
        #expect(
            try samples(library().recording(Self.session))
                == Array(whole.filter { $0.number <= 150 }))
        try growing.1.copy(Self.session, from: recorded.layout, to: places[1]) { $1 > 140 }
        let merged = try samples(library().recording(Self.session))
        #expect(merged == whole)
    }
}
