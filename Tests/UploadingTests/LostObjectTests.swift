import Archive
import ObjectStore
import TestRecordings
import TestStores
import Testing

@testable import Uploading

/// Objects that the store has lost after they were proven.
@Suite struct LostObjectTests {
    private func place(_ scene: UploadScene) -> UploadTarget {
        UploadTarget(
            scene.bucket, scene.layout, settings: scene.settings,
            surroundings: scene.surroundings, figures: UploadFigures())
    }

    /// A session in the store.
    private func stored(segments: Int) throws -> UploadScene {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: segments)
        try scene.archive.append(
            Ledger.line(LedgerEntry(kind: .goodbye, at: SmallArchive.zero)), session: "s")
        scene.live()
        return scene
    }

    @Test func `objects that the store has lost are uploaded again, and no others`() throws {
        let scene = try stored(segments: 4)
        let segments = try scene.segments("s")
        scene.bucket.lose(segments[0].description)
        scene.bucket.replace(segments[1].description, with: [1, 2, 3])
        scene.bucket.lose(segments[2].path(.proof))
        scene.bucket.lose("s/session.json")
        scene.bucket.lose("s/camera/ledger.jsonl")
        let requests = scene.bucket.requests
        let outcome = try LostObjects(of: place(scene)).dropProofs(of: "s")
        #expect(outcome.segments == 3 && outcome.documents == 2 && outcome.problems.isEmpty)
        // Pages of three objects.
        #expect(scene.bucket.requests - requests == 2)
        scene.live()
        try scene.expectStored("s")
        #expect(scene.bucket.made[segments[2].description] == 1)
        #expect(scene.bucket.made[segments[3].description] == 1)
        #expect(try LostObjects(of: place(scene)).dropProofs(of: "s") == LostObjects.Outcome())
    }

    @Test func `a whole session that the store has lost is uploaded again`() throws {
        let scene = try stored(segments: 2)
        for key in scene.bucket.objects.keys { scene.bucket.lose(key) }
        #expect(try LostObjects(of: place(scene)).dropProofs(of: "s").segments == 2)
        scene.live()
        try scene.expectStored("s")
    }

    @Test func `lost media that the disk does not have is a problem, and its proof stays`() throws {
        let scene = try stored(segments: 2)
        let segments = try scene.segments("s")
        scene.live(also: segments.map(UploadWork.evict))
        scene.bucket.lose(segments[1].description)
        let outcome = try LostObjects(of: place(scene)).dropProofs(of: "s")
        #expect(outcome.segments == 0 && outcome.problems.count == 1)
        #expect(outcome.problems.first?.contains("no longer has \(segments[1])") == true)
        #expect(FileSystem.exists(scene.layout.path(of: segments[1], .proof)))
    }

    @Test func `a weak entity tag in a proof is that of the same object`() throws {
        let scene = try stored(segments: 1)
        let segment = try #require(try scene.segments("s").first)
        var proof = try #require(try SegmentProof.read(segment, in: scene.layout))
        proof.tag = "W/\(proof.tag)"
        try FileSystem.replace(scene.layout.path(of: segment, .proof), with: proof.encoded())
        #expect(try StoredRemoval(in: place(scene)).recheck(segment) == nil)
        #expect(try LostObjects(of: place(scene)).dropProofs(of: "s") == LostObjects.Outcome())
        let (report, _) = try StoreInspection(of: place(scene), readsBack: false).run("s")
        #expect(report.provenSegments == 1 && report.comparedBytes == 0)
    }

    @Test func `proofs about another store need no request`() throws {
        let scene = try stored(segments: 1)
        let segment = try #require(try scene.segments("s").first)
        var proof = try #require(try SegmentProof.read(segment, in: scene.layout))
        proof.store = "s3://elsewhere/archive"
        try FileSystem.replace(scene.layout.path(of: segment, .proof), with: proof.encoded())
        try FileSystem.remove(scene.layout.stored("s"), on: scene.layout.disk)
        let requests = scene.bucket.requests
        #expect(try LostObjects(of: place(scene)).dropProofs(of: "s") == LostObjects.Outcome())
        #expect(scene.bucket.requests == requests)
    }

    /// `cp -r` changes the files' times.
    @Test func `a copy whose file is not the proven one stays, with the command that helps`()
        throws
    {
        let scene = try stored(segments: 1)
        let segment = try #require(try scene.segments("s").first)
        let path = scene.layout.segment(segment)
        try FileSystem.replace(path, with: try FileSystem.read(path, limit: 1 << 20))
        let copies = LocalCopies(of: place(scene))
        let kept = try copies.remove("s", endedBefore: nil, isDryRun: false)
        #expect(kept.segments == 0 && kept.problems.count == 1)
        #expect(kept.problems.first?.contains("'tributary store push'") == true)
        scene.live()
        #expect(try copies.remove("s", endedBefore: nil, isDryRun: false).segments == 1)
    }
}
