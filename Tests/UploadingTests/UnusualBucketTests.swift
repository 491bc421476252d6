import Archive
import Media
import TestRecordings
import TestStores
import Testing

@testable import Uploading

/// Takeovers of buckets that one collector alone would not have left.
@Suite struct UnusualBucketTests {
    private let spool = SmallArchive.spool
    private let directory = TemporaryDirectory()
    private var layout: ArchiveLayout { ArchiveLayout(root: directory.path) }

    private func takeOver(_ scene: UploadScene) throws -> ArchiveTakeOver.Outcome {
        var attempt = ArchiveTakeOver(
            from: UploadTarget(
                scene.bucket, layout, settings: scene.settings, surroundings: scene.surroundings,
                figures: UploadFigures()), now: SmallArchive.zero, idleTimeoutNanoseconds: 0,
            connections: 1)
        return try attempt.run()
    }

    /// A session whose finished files are in the store.
    private func recorded(segments: Int, lines: [LedgerEntry] = []) throws -> UploadScene {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: segments, state: .recording)
        for line in lines { try scene.archive.append(Ledger.line(line), session: "s") }
        scene.live()
        return scene
    }

    /// Changes a proof in the bucket.
    private func change(
        _ segment: SegmentKey, in scene: UploadScene, _ change: (inout SegmentProof) -> Void
    ) throws {
        let key = segment.path(.proof)
        var proof = try SegmentProof.parse(
            try #require(scene.bucket.objects[key]).bytes, path: key)
        change(&proof)
        scene.bucket.replace(key, with: proof.encoded())
    }

    private func known() throws -> SequenceSet? {
        try ArchiveRecovery.run(layout, now: SmallArchive.zero, idleTimeoutNanoseconds: 0)
            .spools["camera"]?.first { $0.spool == spool }?.sequences
    }

    @Test func `labels, marks and protection are taken over, and stay in the bucket`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 1, state: .recording)
        let contents = [
            SessionNotes.fileName: Array("{\"labels\":{}}".utf8),
            SessionMarks.fileName: SessionMarks().changed(
                adding: [.init(id: "0123456789abcdef", atNanoseconds: 1, text: "here")],
                removing: []
            ).encoded(),
            ArchiveLayout.protectionName: [],
        ]
        for (name, bytes) in contents {
            try FileSystem.replace("\(scene.layout.session("s"))/\(name)", with: bytes)
        }
        scene.live()
        _ = try takeOver(scene)
        let record = try StoredDocuments.read(layout.stored("s"), store: scene.bucket.name)
        for (name, bytes) in contents {
            let path = "\(layout.session("s"))/\(name)"
            #expect(FileSystem.exists(path), "\(name)")
            guard FileSystem.exists(path) else { continue }
            #expect(try FileSystem.read(path, limit: 1 << 20) == bytes)
            #expect(record?.documents[name]?.tag == scene.bucket.objects["s/\(name)"]?.tag)
        }
    }

    @Test func `a session that is to be removed from the store is not taken over`() throws {
        let scene = try recorded(segments: 1)
        try scene.archive.addSession("t", segments: 1)
        scene.live()
        let staged = "\(layout.sessions)/\(SessionRemoval.stagedPrefix)t"
        try FileSystem.makeDirectories(staged)
        try FileSystem.replace("\(staged)/\(ArchiveLayout.storedName)", with: [])
        #expect(try ArchiveTakeOver.isNeeded(layout))
        #expect(try takeOver(scene).sessions == 1)
        #expect(try layout.sessionNames() == ["s"])
    }

    @Test func `the newest session continues, even if folders without a session follow it`()
        throws
    {
        for isThere in [false, true] {
            let scene = UploadScene()
            try scene.archive.addSession("s", segments: 2, state: .finished)
            let path = scene.layout.manifest("s")
            var manifest = try SessionManifest.read(path)
            manifest.end = SessionManifest.End(reason: .complete, at: SmallArchive.zero)
            manifest.sources[0].spools = [
                SessionManifest.SpoolEnd(
                    spool: spool.description, sequences: SequenceSet(upTo: 25))
            ]
            try FileSystem.replace(path, with: manifest.encoded())
            scene.live()
            scene.bucket.replace("z/readme.txt", with: [1])
            manifest = SessionManifest(
                session: "y", zero: SmallArchive.zero, zeroMonotonicNanoseconds: 0,
                startAt: .firstSample, startWindowNanoseconds: 0, segmentNanoseconds: 1,
                software: "test")
            scene.bucket.replace("y/session.json", with: manifest.encoded())
            scene.bucket.replace("x/session.json", with: [1])
            if isThere { scene.bucket.replace("y/ledger.txt", with: [1]) }
            let directory = TemporaryDirectory()
            let layout = ArchiveLayout(root: directory.path)
            var attempt = ArchiveTakeOver(
                from: UploadTarget(
                    scene.bucket, layout, settings: scene.settings,
                    surroundings: scene.surroundings, figures: UploadFigures()),
                now: SmallArchive.zero, idleTimeoutNanoseconds: 0, connections: 1)
            #expect(try attempt.run().sessions == (isThere ? 2 : 1))
            let found = try SessionManifest.read(layout.manifest("s"))
            #expect(found.state == .recording && (found.end == nil) == !isThere)
        }
    }

    @Test func `a proof with more records than its object has bytes is left out`() throws {
        let scene = try recorded(segments: 2)
        let segments = try scene.segments("s")
        try change(segments[1], in: scene) { $0.records[0].ranges = [[11, 1 << 40]] }
        let outcome = try takeOver(scene)
        #expect(outcome.segments == 1 && outcome.problems.count == 1)
        #expect(try known() == SequenceSet(upTo: 10))
    }

    @Test func `a proof does not cover records that are not named anywhere`() throws {
        let scene = try recorded(segments: 2)
        let segments = try scene.segments("s")
        try change(segments[0], in: scene) { $0.storedThrough = [spool.description: 1 << 40] }
        scene.bucket.lose(segments[1].description)
        scene.bucket.lose(segments[1].path(.proof))
        #expect(try takeOver(scene).segments == 1)
        #expect(try known() == SequenceSet(upTo: 10))
    }

    @Test func `a gap line with the cause of a take-over is not one about it`() throws {
        var line = LedgerEntry(kind: .gap, at: SmallArchive.zero)
        line.cause = LedgerEntry.takenOver
        line.spool = spool.description
        line.after = 500
        let scene = try recorded(segments: 1, lines: [line])
        _ = try takeOver(scene)
        #expect(try known() == SequenceSet(upTo: 10))
    }

    @Test func `a proof is not about an object that has replaced the proven one`() throws {
        let scene = try recorded(segments: 2)
        let key = try scene.segments("s")[1].description
        scene.bucket.replace(key, with: try #require(scene.bucket.objects[key]).bytes)
        let outcome = try takeOver(scene)
        #expect(outcome.segments == 1 && outcome.problems.count == 1)
        #expect(try known() == SequenceSet(upTo: 10))
    }

    @Test func `from a copy of the bucket, the proofs are about the copy from then on`() throws {
        let scene = try recorded(segments: 3)
        let segments = try scene.segments("s")
        for segment in segments {
            try change(segment, in: scene) {
                $0.store = "s3://elsewhere/archive"
                $0.tag = "\"elsewhere\""
            }
        }
        let short = segments[2].description
        scene.bucket.replace(
            short, with: try #require(scene.bucket.objects[short]).bytes.dropLast())
        let outcome = try takeOver(scene)
        #expect(outcome.segments == 2 && outcome.problems.count == 1)
        for segment in segments.prefix(2) {
            let proof = try #require(try SegmentProof.read(segment, in: layout))
            #expect(proof.store == scene.bucket.name)
            #expect(proof.tag == scene.bucket.objects[segment.description]?.tag)
        }
        #expect(try known() == SequenceSet(upTo: 20))
    }

    @Test func `oversized and invalid proofs are left out, with few lines`() throws {
        let scene = try recorded(segments: 1)
        let large = [UInt8](repeating: 0x20, count: SegmentProof.maximumBytes + 1)
        for index in 0..<80 {
            let origin = UTCTime(nanoseconds: Int64(index + 1) * 1_000_000_000)
            scene.bucket.replace(
                "s/camera/\(origin.fileName).mp4.json", with: index == 0 ? large : [0x7B])
        }
        scene.bucket.replace(
            "s/notes.json", with: [UInt8](repeating: 0x20, count: SessionNotes.maximumBytes + 1))
        let requests = scene.bucket.requests
        let outcome = try takeOver(scene)
        #expect(outcome.sessions == 1 && outcome.segments == 1)
        #expect(outcome.problems.count == 65 && outcome.problems.last == "and 17 more")
        #expect(outcome.problems.first?.contains("is larger than") == true)
        // Not even a part of the oversized object was read.
        #expect(scene.bucket.requests - requests < 200)
        #expect(!FileSystem.exists("\(layout.session("s"))/notes.json"))
        #expect(try known() == SequenceSet(upTo: 10))
    }

    @Test func `an object that the store refuses to read is left out`() throws {
        let scene = try recorded(segments: 1)
        // Folders, objects in two pages, the description in parts, then the only proof.
        var isSeen = false
        for failing in 1...20 where !isSeen {
            let directory = TemporaryDirectory()
            let layout = ArchiveLayout(root: directory.path)
            scene.bucket.fail(.refused, after: failing)
            var attempt = ArchiveTakeOver(
                from: UploadTarget(
                    scene.bucket, layout, settings: scene.settings,
                    surroundings: scene.surroundings, figures: UploadFigures()),
                now: SmallArchive.zero, idleTimeoutNanoseconds: 0, connections: 1)
            let outcome = try? attempt.run()
            isSeen = outcome?.sessions == 1 && outcome?.segments == 0
            if isSeen { #expect(outcome?.problems.count == 1) }
            scene.bucket.failNoMore()
        }
        #expect(isSeen)
    }
}
