import Archive
import Media
import TestRecordings
import TestStores
import Testing

@testable import Uploading

/// A collector with nothing but the bucket.
@Suite struct ArchiveTakeOverTests {
    private let spool = SmallArchive.spool

    private func takeOver(_ scene: UploadScene, _ layout: ArchiveLayout, idle: Int64 = 0)
        -> ArchiveTakeOver
    {
        ArchiveTakeOver(
            from: UploadTarget(
                scene.bucket, layout, settings: scene.settings, surroundings: scene.surroundings,
                figures: UploadFigures()), now: SmallArchive.zero, idleTimeoutNanoseconds: idle,
            connections: 1)
    }

    private func recover(_ layout: ArchiveLayout) throws -> RecoveredArchive {
        try ArchiveRecovery.run(layout, now: SmallArchive.zero, idleTimeoutNanoseconds: 0)
    }

    /// The spool's records in a recovered archive.
    private func records(_ layout: ArchiveLayout) throws -> (known: SequenceSet?, isOpen: Bool) {
        let archive = try recover(layout)
        return (
            archive.spools["camera"]?.first { $0.spool == spool }?.sequences, archive.session != nil
        )
    }

    private func line(
        _ kind: LedgerEntry.Kind, _ records: ClosedRange<UInt64>? = nil, after: UInt64? = nil
    ) -> [UInt8] {
        var line = LedgerEntry(kind: kind, at: SmallArchive.zero)
        line.spool = spool.description
        line.firstSequence = records?.lowerBound
        line.lastSequence = records?.upperBound
        line.after = after
        return Ledger.line(line)
    }

    /// A session being recorded whose finished files are in the store.
    private func recorded(segments: Int, lines: [[UInt8]] = []) throws -> UploadScene {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: segments, state: .recording)
        for line in lines { try scene.archive.append(line, session: "s") }
        scene.live()
        return scene
    }

    @Test
    func
        `an open session goes on with the numbers, the tracks and the clock of the bucket's segments`()
        throws
    {
        let scene = try recorded(segments: 3)
        let directory = TemporaryDirectory()
        let layout = ArchiveLayout(root: directory.path)
        #expect(try ArchiveTakeOver.isNeeded(layout))
        var attempt = takeOver(scene, layout)
        let outcome = try attempt.run()
        #expect(outcome.sessions == 1 && outcome.segments == 3 && outcome.problems.isEmpty)
        #expect(try !ArchiveTakeOver.isNeeded(layout))
        let archive = try recover(layout)
        let session = try #require(archive.session)
        #expect(session.manifest.zeroUTCNanoseconds == SmallArchive.zero.nanoseconds)
        let source = try #require(session.sources.first)
        #expect(source.ends[.video] == TrackEnd(dtsTicks: 29 * 90_000, durationTicks: 90_000))
        #expect(source.spool == spool && source.origins.count == 3)
        #expect(source.clocks.last?.epoch == EpochID(high: 2, low: 2))
        #expect(source.clocks.last?.agentNanoseconds == 20_000_000_000)
        #expect(archive.spools["camera"]?.first?.sequences == SequenceSet(upTo: 30))
        // Only new files are uploaded again.
        #expect(try SessionVerifier.verify("s", in: layout).isIntact)
    }

    @Test func `records that only another collector's disk had are not taken as present`() throws {
        // An earlier session of the same spool is not in the bucket, and its records were durable there.
        let scene = try recorded(
            segments: 0,
            lines: [line(.opened, after: 40), line(.earlier, 41...44), line(.gap, 45...46)])
        let directory = TemporaryDirectory()
        let layout = ArchiveLayout(root: directory.path)
        var attempt = takeOver(scene, layout)
        _ = try attempt.run()
        var known = SequenceSet()
        known.insert(45...46)
        #expect(try records(layout).known == known)
        // Nor at the next start.
        #expect(try records(layout).known == known)
        // The new collector's finding is used.
        let path = layout.ledger("s", "camera")
        try FileSystem.replace(
            path, with: FileSystem.read(path, limit: 1 << 20) + line(.opened, after: 46))
        #expect(try records(layout).known == SequenceSet(upTo: 46))
    }

    @Test func `a session that was finished before all of it was in the bucket is open again`()
        throws
    {
        for isComplete in [false, true] {
            let scene = UploadScene()
            try scene.archive.addSession("s", segments: 2, state: .finished)
            let path = scene.layout.manifest("s")
            var manifest = try SessionManifest.read(path)
            manifest.end = SessionManifest.End(reason: .complete, at: SmallArchive.zero)
            manifest.sources[0].spools = [
                SessionManifest.SpoolEnd(
                    spool: spool.description, sequences: SequenceSet(upTo: isComplete ? 20 : 25))
            ]
            try FileSystem.replace(path, with: manifest.encoded())
            scene.live()
            let directory = TemporaryDirectory()
            let layout = ArchiveLayout(root: directory.path)
            var attempt = takeOver(scene, layout)
            _ = try attempt.run()
            let found = try records(layout)
            #expect(found.isOpen == !isComplete)
            #expect(found.known == SequenceSet(upTo: 20))
        }
    }

    @Test func `proofs state records of the store from before the sessions that are read`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 1, state: .recording)
        let segment = try #require(try scene.segments("s").first)
        let place = UploadTarget(
            scene.bucket, scene.layout, settings: scene.settings, surroundings: scene.surroundings,
            figures: UploadFigures())
        try SessionDocuments("s", to: place).run(isKnown: false)
        let proof = try SegmentUpload(segment, to: place) { $0 == spool ? 7 : 0 }.run()
        #expect(proof.storedThrough == [spool.description: 7])
        let directory = TemporaryDirectory()
        let layout = ArchiveLayout(root: directory.path)
        var attempt = takeOver(scene, layout)
        _ = try attempt.run()
        let path = layout.ledger("s", "camera")
        #expect(try Ledger.read(path).entries.map(\.after) == [10])
    }

    @Test func `a proof without its object is ignored`() throws {
        let scene = try recorded(segments: 2)
        let segments = try scene.segments("s")
        scene.bucket.lose(segments[1].description)
        let directory = TemporaryDirectory()
        let layout = ArchiveLayout(root: directory.path)
        var attempt = takeOver(scene, layout)
        let outcome = try attempt.run()
        #expect(outcome.segments == 1 && outcome.problems.count == 1)
        #expect(try records(layout).known == SequenceSet(upTo: 10))
    }

    @Test func `interrupted at any request, it is begun again, and ends the same`() throws {
        let scene = try recorded(segments: 3, lines: [line(.gap, 31...33)])
        let directory = TemporaryDirectory()
        let before = scene.bucket.requests
        var whole = takeOver(scene, ArchiveLayout(root: directory.path))
        _ = try whole.run()
        let requests = scene.bucket.requests - before
        #expect(requests > 5)
        for failing in 1...requests {
            let directory = TemporaryDirectory()
            let layout = ArchiveLayout(root: directory.path)
            scene.bucket.fail(.cut, after: failing)
            var attempt = takeOver(scene, layout)
            #expect(throws: UploadError.self) { try attempt.run() }
            #expect(try ArchiveTakeOver.isNeeded(layout), "request \(failing)")
            _ = try attempt.run()
            #expect(try records(layout).known == SequenceSet(upTo: 33), "request \(failing)")
        }
    }

    @Test func `an archive with sessions is not touched, and an empty bucket is a beginning`()
        throws
    {
        let scene = try recorded(segments: 1)
        #expect(try !ArchiveTakeOver.isNeeded(scene.layout))
        let empty = UploadScene()
        let directory = TemporaryDirectory()
        let layout = ArchiveLayout(root: directory.path)
        var attempt = takeOver(empty, layout)
        let outcome = try attempt.run()
        #expect(outcome == ArchiveTakeOver.Outcome())
        #expect(try recover(layout).session == nil)
    }
}
