import Archive
import Catalog
import ObjectStore
import TestRecordings
import TestStores
import Testing

@testable import Uploading

/// The way back: from the store to the disk.
@Suite struct StoreFetchTests {
    private func place(_ scene: UploadScene, _ layout: ArchiveLayout? = nil) -> UploadTarget {
        UploadTarget(
            scene.bucket, layout ?? scene.layout, settings: scene.settings,
            surroundings: scene.surroundings, figures: UploadFigures())
    }

    /// A session whose media is only in the store.
    private func moved() throws -> (scene: UploadScene, files: [(SegmentKey, [UInt8])]) {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 3)
        try scene.archive.append(
            Ledger.line(LedgerEntry(kind: .goodbye, at: SmallArchive.zero)), session: "s")
        let files = try scene.segments("s").map {
            ($0, try FileSystem.read(scene.layout.segment($0), limit: 1 << 20))
        }
        scene.live()
        let outcome = try LocalCopies(of: place(scene)).remove(
            "s", endedBefore: nil, isDryRun: false)
        #expect(outcome.segments == 3 && outcome.problems.isEmpty)
        #expect(try scene.segments("s").isEmpty)
        return (scene, files)
    }

    @Test func `evicted segments are fetched unchanged, and not uploaded again`() throws {
        let (scene, files) = try moved()
        let outcome = try StoredSessionFetch(from: place(scene)).run("s") { _ in }
        #expect(outcome.segments == 3 && outcome.problems.isEmpty)
        for (segment, bytes) in files {
            #expect(try FileSystem.read(scene.layout.segment(segment), limit: 1 << 20) == bytes)
        }
        let requests = scene.bucket.requests
        scene.live()
        #expect(scene.bucket.requests == requests)
        let report = try SessionVerifier.verify("s", in: scene.layout)
        #expect(report.isIntact && report.findings.isEmpty)
    }

    @Test func `a session that is being removed from the store is not fetched`() throws {
        let (scene, _) = try moved()
        try SessionRemoval.remove("s", from: scene.layout)
        let fetch = StoredSessionFetch(from: place(scene), withMedia: false)
        let error = #expect(throws: UploadError.self) { try fetch.run("s") { _ in } }
        guard case .setAside(let line) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(line.hasPrefix("s is being removed from \(scene.bucket.name): "))
        #expect(!FileSystem.exists(scene.layout.session("s")))
        scene.live()
        #expect(scene.bucket.objects.isEmpty)
        #expect(try SessionRemoval.waiting(in: scene.layout).isEmpty)
    }

    @Test func `a new server gets everything from the bucket alone`() throws {
        let (scene, files) = try moved()
        let directory = TemporaryDirectory()
        let layout = ArchiveLayout(root: directory.path)
        let fetch = StoredSessionFetch(from: place(scene, layout))
        #expect(try fetch.sessionNames() == ["s"])
        #expect(try fetch.run("s") { _ in }.segments == 3)
        for (segment, bytes) in files {
            #expect(try FileSystem.read(layout.segment(segment), limit: 1 << 20) == bytes)
        }
        #expect(try SessionVerifier.verify("s", in: layout).isIntact)
    }

    @Test func `without media, a new server has the session's catalog entry`() throws {
        let (scene, _) = try moved()
        let directory = TemporaryDirectory()
        let layout = ArchiveLayout(root: directory.path)
        let outcome = try StoredSessionFetch(from: place(scene, layout), withMedia: false)
            .run("s") { _ in }
        #expect(outcome.segments == 0)
        #expect(try CatalogEntry("s", in: layout) == CatalogEntry("s", in: scene.layout))
        #expect(try SessionVerifier.verify("s", in: layout).isIntact)
    }

    /// SeaweedFS keeps the folder of a removed session, and a prefix may have objects of others.
    @Test func `a prefix without a session is none, and one with media alone is an error`() throws {
        let (scene, files) = try moved()
        let fetch = StoredSessionFetch(
            from: place(scene, ArchiveLayout(root: TemporaryDirectory().path)))
        scene.bucket.replace("0backup/readme.txt", with: [1])
        scene.bucket.replace("empty/", with: [])
        #expect(try fetch.sessionNames() == ["0backup", "empty", "s"])
        for name in ["0backup", "empty", "away"] {
            let outcome = try fetch.run(name) { _ in }
            #expect(!outcome.isSession && outcome.problems.isEmpty)
        }
        scene.bucket.lose("s/session.json")
        do {
            _ = try fetch.run("s") { _ in }
            Issue.record("\(files.count) segments have no description")
        } catch {
            #expect(error.line.contains("no session.json"))
        }
    }

    @Test func `media that neither store nor disk has is a problem for each segment`() throws {
        let (scene, files) = try moved()
        scene.bucket.lose(files[0].0.description)
        scene.bucket.lose(files[1].0.description)
        var proof = try #require(try SegmentProof.read(files[1].0, in: scene.layout))
        proof.store = "s3://elsewhere/archive"
        try FileSystem.replace(
            scene.layout.path(of: files[1].0, .proof), with: proof.encoded())
        let fetch = StoredSessionFetch(from: place(scene))
        let outcome = try fetch.run("s") { _ in }
        #expect(outcome.segments == 1 && outcome.problems.count == 2)
        #expect(outcome.problems.first?.contains("no longer has \(files[0].0)") == true)
        #expect(outcome.problems.last?.contains("is in s3://elsewhere/archive") == true)
        let layout = ArchiveLayout(root: TemporaryDirectory().path)
        let fresh = try StoredSessionFetch(from: place(scene, layout), withMedia: false)
            .run("s") { _ in }
        #expect(fresh.problems.count == 2)
        for key in scene.bucket.objects.keys { scene.bucket.lose(key) }
        #expect(try fetch.allSessionNames() == ["s"])
        #expect(try fetch.run("s") { _ in }.problems.count == 2)
    }

    @Test func `a damaged proof does not keep other segments from being fetched`() throws {
        let (scene, files) = try moved()
        try FileSystem.replace(scene.layout.path(of: files[0].0, .proof), with: [0x7B])
        let outcome = try StoredSessionFetch(from: place(scene)).run("s") { _ in }
        #expect(outcome.segments == 2 && outcome.problems.count == 1)
    }

    @Test func `damaged media does not get a name on the disk`() throws {
        let (scene, files) = try moved()
        scene.bucket.rot(files[1].0.description)
        let outcome = try StoredSessionFetch(from: place(scene)).run("s") { _ in }
        #expect(outcome.segments == 2 && outcome.problems.count == 1)
        #expect(!FileSystem.exists(scene.layout.segment(files[1].0)))
        let report = try StoreInspection(of: place(scene), readsBack: true).run("s").report
        #expect(!report.isIntact && report.provenSegments == 2)
        #expect(try StoreInspection(of: place(scene), readsBack: false).run("s").report.isIntact)
    }

    @Test func `an inspection distinguishes missing objects from ones still to upload`() throws {
        let (scene, files) = try moved()
        scene.bucket.lose(files[0].0.description)
        scene.bucket.lose(files[1].0.path(.proof))
        try scene.archive.addSession("t", segments: 2)
        let inspection = StoreInspection(of: place(scene), readsBack: false)
        let report = try inspection.run("s").report
        #expect(!report.isIntact && report.provenSegments == 2 && report.movedSegments == 3)
        #expect(report.findings.map(\.severity) == [.damage, .note])
        let waiting = try inspection.run("t").report
        #expect(waiting.isIntact && waiting.waitingSegments == 2)
    }

    @Test func `segments of another store are not damage, and a missing bucket is said at once`()
        throws
    {
        let (scene, files) = try moved()
        let inspection = StoreInspection(of: place(scene), readsBack: false)
        for (segment, _) in files.prefix(2) {
            var proof = try #require(try SegmentProof.read(segment, in: scene.layout))
            proof.store = "s3://elsewhere/archive"
            try FileSystem.replace(
                scene.layout.path(of: segment, .proof), with: proof.encoded())
        }
        // A copy of that store.
        #expect(try inspection.run("s").report.provenSegments == 3)
        scene.bucket.lose(files[0].0.description)
        scene.bucket.lose(files[1].0.description)
        let report = try inspection.run("s").report
        #expect(report.isIntact && report.provenSegments == 1 && report.uncheckedSegments == 2)
        #expect(report.findings.count == 1)
        #expect(
            report.findings.first?.text.contains("2 segments that are in s3://elsewhere") == true)
        // Two requests for the first segment have no reason, as S3 answers HEAD.
        scene.bucket.lose(files[2].0.description)
        scene.bucket.fail(.bucketGone, after: 3)
        let (unchecked, failure) = try inspection.run("s")
        #expect(failure?.kind == .noBucket)
        #expect(unchecked.findings.isEmpty && unchecked.uncheckedSegments == 3)
    }

    @Test func `a bucket that was copied has other tags, and the same content`() throws {
        let (scene, files) = try moved()
        let key = files[0].0.description
        scene.bucket.replace(key, with: scene.bucket.objects[key]?.bytes ?? [])
        let report = try StoreInspection(of: place(scene), readsBack: false).run("s").report
        #expect(report.isIntact && report.provenSegments == 3)
        #expect(report.comparedBytes == Int64(files[0].1.count))
    }

    @Test func `copies are removed by age, and never those of a protected session`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 2)
        scene.live()
        let copies = LocalCopies(of: place(scene))
        let none = try copies.remove("s", endedBefore: 0, isDryRun: false)
        #expect(none == LocalCopies.Outcome())
        let dry = try copies.remove("s", endedBefore: nil, isDryRun: true)
        #expect(dry.segments == 2)
        #expect(try scene.segments("s").count == 2)
        try FileSystem.replace(scene.layout.protection("s"), with: [])
        let kept = try copies.remove("s", endedBefore: nil, isDryRun: false)
        #expect(kept.segments == 0 && kept.problems.count == 1)
    }

    @Test func `when the store stops answering, finished work is kept and the rest reported`()
        throws
    {
        let (scene, files) = try moved()
        let inspection = StoreInspection(of: place(scene), readsBack: false)
        // Two requests for each segment.
        scene.bucket.fail(.cut, after: 3)
        let (report, failure) = try inspection.run("s")
        #expect(report.provenSegments == 1 && report.uncheckedSegments == 2)
        #expect(failure?.kind == .unreachable && report.findings.isEmpty)
        let asked = scene.bucket.requests
        scene.bucket.failAlways(.cut)
        #expect(try inspection.run("s").report.uncheckedSegments == 3)
        #expect(scene.bucket.requests == asked + 1)
        scene.bucket.failNoMore()
        let fetch = StoredSessionFetch(from: place(scene))
        let before = scene.bucket.requests
        _ = try fetch.objects(of: "s")
        // The listing, then the first part.
        scene.bucket.fail(.cut, after: scene.bucket.requests - before + 1)
        let fetched = try fetch.run("s") { _ in }
        #expect(fetched.segments == 0 && fetched.missing == files.count)
        #expect(fetched.failure != nil && fetched.problems.isEmpty)
        #expect(try StoredSessionFetch(from: place(scene)).run("s") { _ in }.segments == 3)
        scene.bucket.failAlways(.slowDown)
        let removed = try LocalCopies(of: place(scene)).remove(
            "s", endedBefore: nil, isDryRun: false)
        #expect(removed.segments == 0 && removed.failure != nil)
        #expect(try scene.segments("s").count == 3)
    }
}
