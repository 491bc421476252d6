import Archive
import Foundation
import Glibc
import Media
import TestDisks
import Testing
import Wire

@testable import CollectorCore

private let second: Int64 = 1_000_000_000

/// Files that fail after their session ended, while others continue: each record is in one session, or a ledger
/// explains its absence.
@Suite struct LostLineTests {
    @Test func `records that an earlier session has lost are not in a later ledger`() throws {
        let scene = try SessionsScene()
        scene.picture()
        scene.picture()
        // The first record is durable, the second is lost with the end of its session.
        scene.commit()
        scene.fail(try #require(scene.segments.last))
        scene.stop()
        scene.picture()
        scene.stop()
        scene.picture()
        scene.work(whereNewFilesFail: true)
        scene.stop()
        try scene.settle()
        #expect(scene.sessions.count == 3)
        // If the third session named the second record, the third record would be missing from its own.
        #expect(try scene.explained() == [[2...2], [], [4...4]])
        #expect(try scene.flaws() == [])
    }

    @Test func `records that a session has lost are not recorded by the next one`() throws {
        let scene = try SessionsScene()
        scene.picture()
        scene.picture()
        scene.commit()
        scene.fail(try #require(scene.segments.last))
        scene.stop()
        // The next session's first file fails before any of it is durable, so its agent is sent back.
        scene.picture()
        scene.work(whereNewFilesFail: true)
        for _ in 0..<5 where scene.wentOn == 0 { scene.retry() }
        #expect(scene.wentOn == 1)
        scene.sendAgain()
        scene.stop()
        try scene.settle()
        #expect(try scene.explained() == [[2...2], []])
        #expect(try scene.recorded() == [[1...1], [3...3]])
        #expect(try scene.flaws() == [])
    }

    @Test(arguments: [true, false])
    func `records in a removed directory are named as lost in the new ledger`(
        withSession: Bool
    ) throws {
        let scene = try SessionsScene()
        for _ in 0..<4 { scene.picture() }
        scene.commit()
        let segment = try #require(scene.segments.last)
        #expect(try scene.explained(of: segment.owner) == [])
        try FileSystem.removeTree(
            withSession
                ? scene.layout.session(segment.session) : scene.layout.source(segment.owner))
        // Its open file still takes data, which must not count as durable.
        scene.picture()
        scene.commit()
        for _ in 0..<5 where scene.wentOn == 0 { scene.retry() }
        #expect(scene.wentOn == 1)
        scene.sendAgain()
        // The durable records; the last one was still waiting for its fragment.
        #expect(try scene.explained(of: segment.owner) == [1...3])
        #expect(FileSystem.exists(scene.layout.manifest(segment.session)))
        // The next collector begins with what it finds.
        let recovered = try scene.recovered()
        #expect(recovered.session?.sources.first?.firsts.values.first == 1)
        let report = try SessionVerifier.verify(segment.session, in: scene.layout)
        #expect(report.sources.first?.gaps.map(\.cause) == ["write failed"])
    }

    @Test func `a rescue waits until the losses of earlier sessions are written`() throws {
        let scene = try DiskScene()
        let earlier = SourceKey(session: "session", source: "one")
        let later = SegmentKey(
            SourceKey(session: "session2", source: "one"),
            origin: DiskScene.zero.advanced(by: 5 * second))
        scene.append(3...3, to: 1, of: "one")
        scene.disk.setFault(EIO, at: scene.path(1, of: "one"))
        scene.worker.commit()
        scene.worker.perform(.endSession(DiskScene.manifest(state: .finished)))
        scene.worker.perform(.beginSource(later.owner))
        scene.open(later)
        scene.append(4...4, to: later)
        scene.worker.commit()
        scene.append(5...5, to: later)
        scene.disk.setFault(EIO, at: scene.layout.segment(later))
        scene.worker.commit()
        for path in [scene.path(1, of: "one"), scene.layout.segment(later)] {
            scene.disk.setFault(nil, at: path)
        }
        for _ in 0..<2 { scene.worker.retry() }
        scene.hear()
        #expect(scene.rescued.map(\.id) == [earlier])

        var entry = LedgerEntry(kind: .gap, at: DiskScene.zero)
        entry.firstSequence = 3
        entry.lastSequence = 3
        scene.worker.perform(
            .note(
                earlier, entry,
                records: PersistedRecords(
                    source: "one", spool: DiskScene.spool, sequences: [3...3])))
        scene.worker.perform(.goOn(earlier))
        scene.worker.retry()
        scene.hear()
        #expect(scene.rescued.map(\.id) == [earlier, later.owner])
        #expect(scene.persisted("one") == [1...2, 4...4, 3...3])
    }

    @Test
    func `records after a hole are looked up, even if the present session has none`() {
        let spool = SpoolID(high: 1, low: 1)
        var durable = DurableRecords()
        _ = durable.insert(
            PersistedRecords(source: "camera", spool: spool, sequences: [1...4, 7...8]))
        // An earlier session has 7 and 8; this one has lost 5 and 6 before any of it was durable.
        durable.restart("camera", recorded: [])
        #expect(durable.missing(5...9, of: "camera", spool: spool) == [5...6, 9...9])
    }

    @Test func `an ended session is remembered while its files may fail`() throws {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        harness.open(camera, at: 0)
        for number in 0..<6 as Range<Int64> {
            let time = number * 600 * second
            harness.picture(&camera, capturedAt: time, arriving: time)
            harness.tick(time + 300 * second)
            harness.apply(
                harness.recorder.end(.stopped, at: SessionHarness.instant(time + 301 * second)))
        }
        let first = try #require(harness.ended.first)
        try #require(harness.ended.count == 6)
        harness.apply(
            harness.recorder.writeOff(
                Self.rescued(first, camera.spool), at: SessionHarness.instant(4_000 * second)))
        let gaps = harness.lines("camera").filter { $0.kind == .gap }
        #expect(gaps.map(\.sequences) == [[1...1]])
    }

    @Test func `records of a spool that is used again are written off once`() throws {
        var harness = SessionHarness()
        var camera = SteadyCamera("camera")
        harness.open(camera, at: 0)
        harness.picture(&camera, capturedAt: 0, arriving: 0)
        harness.tick(second)
        var other = camera
        other.spool = .random()
        other.sequence = 1
        harness.open(other, at: 2 * second)
        harness.picture(&other, capturedAt: 2 * second, arriving: 2 * second)
        harness.open(camera, at: 3 * second)
        harness.picture(&camera, capturedAt: 3 * second, arriving: 3 * second)
        harness.apply(harness.recorder.end(.stopped, at: SessionHarness.instant(5 * second)))
        harness.apply(
            harness.recorder.writeOff(
                Self.rescued(try #require(harness.ended.first), camera.spool),
                at: SessionHarness.instant(6 * second)))
        let gaps = harness.lines("camera").filter { $0.kind == .gap }
        let own = gaps.filter { $0.spool == camera.spool.description }
        #expect(own.flatMap(\.sequences) == [1...1, 2...2])
        #expect(gaps.count == 3)
    }

    @Test(arguments: [false, true])
    func `records that an absent agent may have are not written off as lost`(comesBack: Bool) {
        let camera = SteadyCamera("camera")
        let zero = SessionHarness.instant(0).utc
        var manifest = SessionManifest(
            session: zero.fileName, zero: zero, zeroMonotonicNanoseconds: 0,
            startAt: .firstSample, startWindowNanoseconds: 0, segmentNanoseconds: 10 * second,
            software: "test")
        manifest.clock = .init(
            boot: "this", zeroWallNanoseconds: zero.nanoseconds, wallErrorNanoseconds: 0)
        // A killed collector had a line of its ledger on the disk, and nothing of the three records before it.
        var archive = RecoveredArchive()
        var source = RecoveredSource(
            entry: .init(name: "camera", agent: "", address: "", tracks: [], isComplete: false))
        source.spools = [camera.spool]
        var recorded = RecordedSpool(spool: camera.spool, sequences: SequenceSet())
        recorded.sequences.insert(4...4)
        archive.session = RecoveredSession(manifest: manifest, sources: [source])
        archive.spools = ["camera": [recorded]]
        var harness = SessionHarness()
        harness.apply(harness.recorder.resume(archive, at: SessionHarness.instant(second)))
        if comesBack {
            // With another spool, because it lost the first one or would have reconnected with it.
            harness.open(SteadyCamera("camera"), at: 2 * second)
        }
        harness.apply(harness.recorder.end(.stopped, at: SessionHarness.instant(3 * second)))
        let lines = harness.lines("camera").filter { !$0.sequences.isEmpty }
        #expect(lines.map(\.sequences) == [[1...3]])
        #expect(lines.map(\.kind) == [comesBack ? .gap : .later])
    }

    @Test func `a new spool is remembered at once, beside any number of unreleased ones`() {
        var durable = DurableRecords(policy: .stored)
        for low in 1...8 as ClosedRange<UInt64> {
            let spool = SpoolID(high: 9, low: low)
            durable.begin(source: "camera", spool: spool, received: 0)
            _ = durable.insert(
                PersistedRecords(source: "camera", spool: spool, sequences: [1...5]))
        }
        let new = SpoolID(high: 9, low: 9)
        durable.begin(source: "camera", spool: new, received: 7, missing: 1...7)
        #expect(durable.persisted(source: "camera", spool: new) == 7)
        #expect(durable.stored(source: "camera", spool: new) == 7)
        durable.noteGoodbye(7, source: "camera", spool: new)
        #expect(durable.archived(source: "camera", spool: new).goodbye == 7)
    }

    @Test func `the line about a failed file is written when its ledger can be`() throws {
        let scene = try DiskScene()
        let ledger = scene.layout.ledger("session", "one")
        scene.append(3...3, to: 1, of: "one")
        scene.disk.setFault(EIO, at: scene.path(1, of: "one"))
        scene.worker.commit()
        scene.disk.setFault(nil, at: scene.path(1, of: "one"))
        scene.disk.setFault(EIO, at: ledger)
        scene.worker.retry()
        scene.hear()
        #expect(scene.rescued.count == 1)
        scene.disk.setFault(nil, at: ledger)
        scene.worker.retry()
        scene.worker.commit()
        scene.disk.cutPower()
        #expect(try Ledger.read(ledger).entries.map(\.kind) == [.failed])
    }

    @Test func `a failed file does not replace pending lines of an ended ledger`() throws {
        let scene = try DiskScene()
        let ledger = scene.layout.ledger("session", "one")
        for path in [ledger, scene.path(1, of: "one")] { scene.disk.setFault(EIO, at: path) }
        var entry = LedgerEntry(kind: .goodbye, at: DiskScene.zero)
        entry.firstSequence = 4
        entry.lastSequence = 4
        scene.worker.perform(
            .note(
                SourceKey(session: "session", source: "one"), entry,
                records: PersistedRecords(
                    source: "one", spool: DiskScene.spool, sequences: [4...4])))
        scene.append(3...3, to: 1, of: "one")
        scene.worker.perform(.endSession(DiskScene.manifest(state: .finished)))
        scene.disk.setFault(nil, at: scene.path(1, of: "one"))
        scene.worker.retry()
        scene.disk.setFault(nil, at: ledger)
        scene.worker.retry()
        scene.hear()
        #expect(scene.rescued.count == 1)
        #expect(try Ledger.read(ledger).entries.map(\.kind) == [.goodbye, .failed])
        #expect(scene.persisted("one") == [1...2, 4...4])
    }

    @Test func `a session whose ledger cannot be written stays open until the next start`() throws {
        let scene = try DiskScene()
        let ledger = scene.layout.ledger("session", "one")
        scene.append(4...4, to: 1, of: "one")
        scene.worker.commit()
        var manifest = DiskScene.manifest()
        manifest.end = SessionManifest.End(reason: .stopped, at: DiskScene.zero)
        scene.worker.perform(.describe(manifest))
        scene.disk.restart()

        func start() throws -> RecoveredArchive {
            try ArchiveRecovery.run(scene.layout, now: DiskScene.zero, idleTimeoutNanoseconds: 0)
        }
        scene.disk.setFault(EIO, at: ledger)
        let first = try start()
        #expect(first.session == nil)
        #expect(first.spools["one"]?.map(\.sequences.ranges) == [[1...2, 4...4]])
        let kept = try SessionManifest.read(scene.layout.manifest("session"))
        #expect(kept.state == .recording && kept.end?.reason == .stopped)
        scene.disk.setFault(nil, at: ledger)
        _ = try start()
        #expect(
            try SessionManifest.read(scene.layout.manifest("session")).state == .finished)
        let lines = try Ledger.read(ledger).entries.filter { $0.kind == .later }
        #expect(lines.map(\.sequences) == [[3...3]])
    }

    @Test func `records of an earlier session between missing ones are in the ledger`() throws {
        let scene = try DiskScene()
        let earlier = SourceKey(session: "earlier", source: "three")
        let present = SegmentKey(
            SourceKey(session: "session", source: "three"),
            origin: DiskScene.zero.advanced(by: second))
        // A killed collector had a line of an ended session on the disk, and the records behind it of the next one.
        var entry = LedgerEntry(kind: .gap, at: DiskScene.zero)
        entry.firstSequence = 24
        entry.lastSequence = 24
        entry.spool = DiskScene.spool.description
        let records = PersistedRecords(
            source: "three", spool: DiskScene.spool, sequences: [24...24])
        var ended = DiskScene.manifest("earlier")
        ended.end = SessionManifest.End(reason: .stopped, at: DiskScene.zero)
        scene.worker.perform(.beginSession("earlier"))
        scene.worker.perform(.describe(ended))
        scene.worker.perform(.beginSource(earlier))
        scene.worker.perform(.note(earlier, entry, records: records))
        scene.worker.perform(.describe(DiskScene.manifest()))
        scene.worker.perform(.beginSource(present.owner))
        scene.open(present)
        scene.append(25...26, to: present)
        scene.worker.commit()
        scene.disk.restart()
        let found = try ArchiveRecovery.run(
            scene.layout, now: DiskScene.zero, idleTimeoutNanoseconds: 0)
        #expect(found.session?.manifest.session == "session")
        // The records before it are sent again and recorded in the current session.
        var durable = DurableRecords(found.spools, session: found.session)
        #expect(durable.missing(20...26, of: "three", spool: DiskScene.spool) == [20...23])
        #expect(durable.takeUnreported(20...26, of: "three", spool: DiskScene.spool) == [24...24])
    }

    @Test func `records that were expected later may be recorded in the same session`() throws {
        let scene = try DiskScene()
        var entry = LedgerEntry(kind: .later, at: DiskScene.zero)
        entry.firstSequence = 2
        entry.lastSequence = 3
        entry.spool = DiskScene.spool.description
        let source = SourceKey(session: "session", source: "one")
        scene.worker.perform(.note(source, entry, records: nil))
        scene.append(4...4, to: 1, of: "one")
        for source in ["one", "two"] { scene.finish(1, of: source) }
        scene.worker.perform(.endSession(DiskScene.manifest(state: .finished)))
        let report = try SessionVerifier.verify("session", in: scene.layout)
        #expect(report.allFindings.filter { $0.severity == .damage } == [])
    }

    /// A source without any durable record of the session.
    private static func rescued(_ session: String, _ spool: SpoolID) -> RescuedSource {
        RescuedSource(
            id: SourceKey(session: session, source: "camera"),
            source: RecoveredSource(
                entry: .init(name: "camera", agent: "", address: "", tracks: [], isComplete: false)),
            spools: [RecordedSpool(spool: spool, sequences: SequenceSet())], notes: [])
    }
}

/// One camera, its samples' placement, and the disk thread's work, step by step.
private final class SessionsScene {
    let disk: FaultyDisk
    let layout: ArchiveLayout
    private var worker: DiskWorker
    private var harness: SessionHarness
    private var camera = SteadyCamera("camera")
    private var time: Int64 = 0
    private var done = 0
    /// How often the camera was sent back.
    private(set) var wentOn = 0

    init() throws {
        let root = NSTemporaryDirectory() + "tributary-\(UUID().uuidString)"
        try FileSystem.makeDirectories(root)
        disk = FaultyDisk(root: root, seed: 1)
        layout = ArchiveLayout(root: root, on: disk)
        worker = DiskWorker(layout: layout, space: FreeSpace(reserveBytes: 0, directory: root))
        harness = SessionHarness(layout: layout)
        camera.tracks = [DiskScene.format]
        harness.open(camera, at: 0)
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: layout.root)
        } catch {
            print("left behind \(layout.root): \(error)")
        }
    }

    var sessions: [String] { harness.ended }

    /// The files that were begun, in order.
    var segments: [SegmentKey] {
        harness.jobs.compactMap { if case .open(let id, _, _) = $0 { id } else { nil } }
    }

    /// A second passes, and a keyframe completes the previous fragment.
    func picture() {
        time += 2 * second
        harness.picture(&camera, capturedAt: time, arriving: time)
        harness.tick(time + second)
    }

    /// All that is not durable is sent again, as after a Hello.
    func sendAgain() {
        time += 2 * second
        let last = camera.sequence - 1
        camera.sequence =
            harness.recorder.durable.persisted(source: camera.name, spool: camera.spool) + 1
        harness.open(camera, at: time)
        while camera.sequence <= last {
            picture()
            work()
        }
        commit()
    }

    func stop() {
        time += 2 * second
        harness.apply(harness.recorder.end(.stopped, at: SessionHarness.instant(time)))
        work()
    }

    /// - Parameter whereNewFilesFail: no file gets its first fragment.
    func work(whereNewFilesFail fails: Bool = false) {
        if fails {
            // Collected samples are written now.
            time += 10 * second
            harness.tick(time)
        }
        for id in segments { disk.setFault(fails ? EIO : nil, at: layout.segment(id) + ".new") }
        for job in harness.jobs[done...] { worker.perform(job) }
        done = harness.jobs.count
    }

    func commit() {
        work()
        worker.commit()
        hear()
    }

    /// Makes writes to a file fail.
    func fail(_ id: SegmentKey) { disk.setFault(EIO, at: layout.segment(id)) }

    /// Removes the disk's faults.
    func retry() {
        for id in segments {
            for suffix in ["", ".new"] { disk.setFault(nil, at: layout.segment(id) + suffix) }
        }
        worker.retry()
        hear()
        work()
    }

    /// Until all sessions are finished.
    func settle() throws {
        var rounds = 0
        while worker.isStuck || worker.isDirty {
            rounds += 1
            try #require(rounds < 20)
            retry()
            commit()
        }
    }

    private func hear() {
        let now = SessionHarness.instant(time)
        for event in worker.takeEvents() {
            switch event {
            case .persisted(let records): _ = harness.recorder.persisted(records)
            case .failed(let id, _): harness.recorder.failed(id)
            case .rescued(let rescued):
                if harness.recorder.canGoOn(rescued) {
                    wentOn += 1
                    harness.apply(harness.recorder.goOn(rescued, at: now))
                } else {
                    harness.apply(harness.recorder.writeOff(rescued, at: now))
                }
            case .restored(let directory):
                harness.apply(harness.recorder.restored(directory, at: now))
            case .written, .ended, .stuck, .unstuck, .detached, .attached, .notRemoved,
                .abandoned:
                break
            }
        }
    }

    /// Records in each session's files.
    func recorded() throws -> [[ClosedRange<UInt64>]] {
        try sessions.map { session in
            try layout.segmentPaths(session, camera.name).flatMap {
                FileVerifier.verify($0).sequences.values.flatMap(\.self)
            }
        }
    }

    /// The records that a source's ledger explains.
    func explained(of source: SourceKey) throws -> [ClosedRange<UInt64>] {
        try Ledger.read(layout.ledger(source)).entries.flatMap(\.sequences)
    }

    /// The state that the next collector finds.
    func recovered() throws -> RecoveredArchive {
        try ArchiveRecovery.run(
            layout, now: SessionHarness.instant(time).utc, idleTimeoutNanoseconds: 0)
    }

    /// The records that the ledger of each session explains.
    func explained() throws -> [[ClosedRange<UInt64>]] {
        try sessions.map { session in
            try Ledger.read(layout.ledger(session, camera.name)).entries.flatMap(\.sequences)
        }
    }

    /// Findings of verification.
    func flaws() throws -> [String] {
        try sessions.flatMap { session in
            try SessionVerifier.verify(session, in: layout).findings.map(\.text).filter {
                $0.hasPrefix("records") || $0.hasSuffix("stored twice")
            }
        }
    }
}
