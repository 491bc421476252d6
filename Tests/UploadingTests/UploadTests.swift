import Archive
import Glibc
import Catalog
import ObjectStore
import Synchronization
import TestDisks
import TestRecordings
import TestStores
import Testing

@testable import Uploading

/// Uploads without faults, and with changes meanwhile.
@Suite struct UploadTests {
    @Test func `every object of a session is stored once, with its proof`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 3)
        try scene.archive.append(
            Ledger.line(LedgerEntry(kind: .goodbye, at: SmallArchive.zero)), session: "s")
        scene.live()
        try scene.expectStored("s")
        #expect(scene.bucket.made.values.allSatisfy { $0 == 1 })
        #expect(scene.stored.count == 3)
        #expect(scene.lines.isEmpty)
    }

    @Test func `a large segment is sent in parts, one at a time`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 1)
        let segment = try #require(try scene.segments("s").first)
        let size = try FileSystem.size(scene.layout.segment(segment))
        scene.live()
        try #require(size > UInt64(2 * UploadScene.partBytes))
        #expect(scene.bucket.sentParts > 2)
        // A proof is no part of it.
        let proof = scene.bucket.objects[segment.description + ".json"]?.bytes.count ?? 0
        #expect(scene.bucket.largestBytes <= max(Int(UploadScene.partBytes), proof))
    }

    @Test func `a small segment is sent at once`() throws {
        let scene = UploadScene(partBytes: 1 << 20)
        try scene.archive.addSession("s", segments: 2)
        scene.live()
        try scene.expectStored("s")
        #expect(scene.bucket.sentParts == 0)
    }

    @Test func `a repeated run sends no request`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 2)
        scene.live()
        let requests = scene.bucket.requests
        scene.live()
        #expect(scene.bucket.requests == requests)
    }

    @Test func `a growing file is left alone until it is finished`() throws {
        let scene = UploadScene()
        let paths = try scene.archive.addSession("s", segments: 1, state: .recording)
        // A recording's placeholder is not yet its media's header.
        let bytes = try FileSystem.read(paths[0], limit: 1 << 20)
        let place = try #require(bytes.firstRange(of: Array("mdat".utf8))).lowerBound
        var growing = bytes
        growing.replaceSubrange(
            place - 4..<place + 12,
            with: [0, 0, 0, 16] + Array("free".utf8) + [UInt8](repeating: 0, count: 8))
        try FileSystem.replace(paths[0], with: growing)
        scene.live()
        #expect(scene.bucket.objects.keys.filter { $0.hasSuffix(".mp4") }.isEmpty)
        try FileSystem.replace(paths[0], with: bytes)
        scene.live()
        try scene.expectStored("s")
    }

    @Test func `changed ledgers and labels are uploaded again, removed ones deleted`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 1)
        let labels = "\(scene.layout.session("s"))/\(SessionNotes.fileName)"
        try FileSystem.replace(labels, with: SessionNotes(name: "first").encoded())
        scene.live()
        #expect(scene.bucket.objects["s/notes.json"] != nil)
        let line = Ledger.line(LedgerEntry(kind: .goodbye, at: SmallArchive.zero))
        try scene.archive.append(line, session: "s")
        try FileSystem.remove(labels, on: scene.layout.disk)
        scene.live()
        #expect(scene.bucket.objects["s/camera/ledger.jsonl"]?.bytes == line)
        #expect(scene.bucket.objects["s/notes.json"] == nil)
        #expect(scene.bucket.made["s/session.json"] == 1)
    }

    @Test func `a retimed segment is a new object in the place of the old one, with a new proof`()
        throws
    {
        let session = try WrittenSession(segments: 1) { _ in 5_000_000 }
        let bucket = SimulatedBucket()
        let scene = UploadScene()
        func live() throws {
            let desk = UploadBoard(UploadQueue(random: scene.surroundings.random))
            desk.state.withLock { _ = $0.surveys.insert(nil) }
            let figures = UploadFigures()
            var worker = UploadWorker(
                UploadTarget(
                    bucket, session.layout, settings: scene.settings,
                    surroundings: scene.surroundings, figures: figures), desk: desk,
                figures: figures, hooks: UploadHooks(log: { _, line in Issue.record("\(line)") }))
            for _ in 0..<100 { _ = worker.turn() }
        }
        try live()
        let path = try #require(session.paths.first)
        let owner = SourceKey(session: WrittenSession.name, source: "camera")
        let name = try #require(path.split(separator: "/").last.map(String.init))
        let segment = try #require(SegmentKey(owner, fileName: name))
        let first = try #require(try SegmentProof.read(segment, in: session.layout))
        #expect(first.revision == 0)
        _ = try SessionRetimer(WrittenSession.name, in: session.layout).retime(isDryRun: false)
        try live()
        let second = try #require(try SegmentProof.read(segment, in: session.layout))
        #expect(second.revision != 0 && second.chain == first.chain)
        #expect(
            bucket.objects[segment.description]?.bytes
                == (try FileSystem.read(path, limit: 1 << 24)))
        #expect(bucket.made[segment.description] == 2)
    }

    @Test func `another session of the same name is not overwritten, with one line`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 2)
        var other = try SessionManifest.read(scene.layout.manifest("s"))
        other.zeroUTCNanoseconds += 1
        scene.bucket.replace("s/session.json", with: other.encoded())
        let before = scene.bucket.objects
        scene.live()
        scene.live()
        #expect(scene.bucket.objects == before)
        #expect(Set(scene.lines).count == 1)
        #expect(scene.lines.first?.contains("another session of the name s") == true)
    }

    @Test func `one of two archives that begin the same session concurrently succeeds`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 1)
        var other = try SessionManifest.read(scene.layout.manifest("s"))
        other.zeroUTCNanoseconds += 1
        scene.bucket.replace("s/session.json", with: other.encoded())
        let place = UploadTarget(
            scene.bucket, scene.layout, settings: scene.settings,
            surroundings: scene.surroundings, figures: UploadFigures())
        // As if the other one had arrived after the check.
        #expect(throws: UploadError.self) {
            try SessionDocuments("s", to: place).run(isKnown: true)
        }
        #expect(scene.bucket.objects["s/session.json"]?.bytes == other.encoded())
    }

    /// Otherwise a power cut leaves a session in the store that its collector does not know.
    @Test func `a session's folder is durable before its description is uploaded`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 1, state: .recording)
        let disk = FaultyDisk(root: scene.archive.directory.path, seed: 1)
        let layout = ArchiveLayout(root: scene.archive.directory.path, on: disk)
        let place = UploadTarget(
            scene.bucket, layout, settings: scene.settings, surroundings: scene.surroundings,
            figures: UploadFigures())
        disk.setFault(EIO, at: layout.sessions)
        #expect(throws: UploadError.self) {
            try SessionDocuments("s", to: place).run(isKnown: false)
        }
        #expect(scene.bucket.objects.isEmpty)
        disk.setFault(nil, at: layout.sessions)
        try SessionDocuments("s", to: place).run(isKnown: false)
        #expect(scene.bucket.objects["s/session.json"] != nil)
    }

    @Test func `a bucket that is copied to a disk is an archive`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 3)
        scene.live()
        let copy = TemporaryDirectory()
        let layout = ArchiveLayout(root: copy.path)
        for (key, object) in scene.bucket.objects {
            let path = "\(layout.sessions)/\(key)"
            try FileSystem.makeDirectories(
                String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)]))
            try FileSystem.replace(path, with: object.bytes)
        }
        let report = try SessionVerifier.verify("s", in: layout)
        #expect(report.isIntact && report.findings.isEmpty)
        #expect(report.sources.first?.recordedSamples == 30)
        #expect(try CatalogEntry("s", in: layout) == CatalogEntry("s", in: scene.layout))
    }

    @Test func `an object that the store keeps wrongly is detected when it is read back`() throws {
        let scene = UploadScene(returnsDigests: false, readBack: .all)
        try scene.archive.addSession("s", segments: 1)
        // After the session's description was put.
        for number in 3...200 { scene.bucket.fail(.rot, after: number) }
        scene.live()
        #expect(scene.lines.count == 1 && scene.stored.isEmpty)
        scene.bucket.failNoMore()
        scene.live()
        let segment = try #require(try scene.segments("s").first)
        scene.expectProven(segment, with: scene.layout.segment(segment))
    }

    @Test func `the bitrate limit is kept`() throws {
        let clock = VirtualClock()
        var limit = RateLimit(bytesPerSecond: 1_000)
        #expect(limit.claim(500, now: clock.now) == 0)
        #expect(limit.claim(500, now: clock.now) == 500_000_000)
        #expect(limit.claim(500, now: clock.now + 2_000_000_000) == 0)
        var none = RateLimit(bytesPerSecond: nil)
        #expect(none.claim(1 << 30, now: 0) == 0 && none.claim(1 << 30, now: 0) == 0)
    }

    @Test func `pauses grow to their maximum, and are at least half of it`() {
        let pauses = (1...30).map { Backoff.store.pause(after: $0, draw: 0) }
        #expect(pauses == pauses.sorted() && pauses.first == 500_000_000)
        #expect(pauses.last == Backoff.store.longest / 2)
        for failures in 1...30 {
            let longest = Backoff.store.pause(after: failures, draw: .max)
            #expect((pauses[failures - 1]...pauses[failures - 1] * 2).contains(longest))
        }
    }
}
