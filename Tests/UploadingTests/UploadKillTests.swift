import Archive
import Catalog
import TestRecordings
import TestStores
import Testing

@testable import Uploading

/// The program is killed before every single step and restarted.
@Suite struct UploadKillTests {
    /// A scene with everything that can be interrupted: uploads in parts, documents, evictions, removals.
    private func scene(_ seed: UInt64 = 1, partBytes: Int64 = UploadScene.partBytes) throws
        -> UploadScene
    {
        let scene = UploadScene(seed: seed, partBytes: partBytes)
        try scene.archive.addSession("s", segments: 2)
        try scene.archive.append(
            Ledger.line(LedgerEntry(kind: .goodbye, at: SmallArchive.zero)), session: "s")
        return scene
    }

    /// Kills the program before successive steps until it completes.
    private func killEverywhere(
        _ make: () throws -> UploadScene, _ body: (UploadScene, _ steps: Int?) throws -> Bool,
        then check: (UploadScene) throws -> Void
    ) throws -> Int {
        for steps in 0... {
            let scene = try make()
            let wasKilled = try body(scene, steps)
            if wasKilled { _ = try body(scene, nil) }
            try check(scene)
            if !wasKilled { return steps }
        }
        return 0
    }

    @Test(arguments: [UploadScene.partBytes, 1 << 20])
    func `an upload is completed after a kill before any step, without repetition`(
        _ partBytes: Int64
    ) throws {
        var seen: Set<UploadStep> = []
        let count = try killEverywhere {
            try scene(partBytes: partBytes)
        } _: { scene, steps in
            scene.live(steps: steps)
        } then: { scene in
            try scene.expectStored("s")
            for segment in try scene.segments("s") {
                #expect(scene.bucket.made[segment.description] == 1)
            }
            #expect(scene.lines.isEmpty)
            seen.formUnion(scene.steps)
        }
        #expect(count > 15)
        let wanted: Set<UploadStep> = [
            .noteSession, .identify, .putDocument, .noteDocuments, .look, .confirm, .prove, .record,
            .tell,
        ]
        #expect(seen.isSuperset(of: wanted))
        #expect(
            seen.isSuperset(
                of: partBytes == 1 << 20 ? [.put] : [.begin, .note, .ask, .part, .complete]))
    }

    @Test func `parts that the store has are not sent again after a kill`() throws {
        for returnsDigests in [true, false] {
            let whole = UploadScene(returnsDigests: returnsDigests)
            try whole.archive.addSession("s", segments: 1)
            whole.live()
            let parts = whole.bucket.sentParts
            let steps = try #require(whole.steps.lastIndex(of: .complete))
            let scene = UploadScene(returnsDigests: returnsDigests)
            try scene.archive.addSession("s", segments: 1)
            #expect(scene.live(steps: steps))
            scene.live()
            try scene.expectStored("s")
            #expect(scene.bucket.sentParts == parts)
        }
    }

    /// SeaweedFS: a list of parts has no digests, and an upload is completed only with them.
    @Test func `parts that the store lists without digests are completed after a kill`() throws {
        let whole = UploadScene(listsDigests: false)
        try whole.archive.addSession("s", segments: 1)
        whole.live()
        let begin = try #require(whole.steps.firstIndex(of: .part))
        let end = try #require(whole.steps.lastIndex(of: .complete))
        for steps in begin...end {
            let scene = UploadScene(listsDigests: false)
            try scene.archive.addSession("s", segments: 1)
            #expect(scene.live(steps: steps))
            scene.live()
            try scene.expectStored("s")
            #expect(scene.lines.isEmpty)
            #expect(scene.bucket.sentParts == whole.bucket.sentParts)
            // The store has not stated the digests of all parts.
            #expect(scene.steps.contains(.readBack) == (steps > begin))
        }
    }

    @Test func `an upload that the store refuses to complete is begun anew once`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 1)
        scene.bucket.refuseCompletions(2)
        scene.live()
        #expect(scene.lines.count == 1 && scene.stored.isEmpty)
        let parts = scene.bucket.sentParts
        scene.live()
        try scene.expectStored("s")
        #expect(scene.lines.count == 1)
        #expect(scene.bucket.sentParts == 2 * parts)
        #expect(scene.bucket.uploads == 0)
        let steps = scene.steps
        scene.live()
        #expect(scene.steps == steps)
    }

    @Test func `a local copy is removed only if the store has it, at a kill before any step`()
        throws
    {
        for isUploaded in [false, true] {
            let count = try killEverywhere {
                let scene = try scene()
                if isUploaded { scene.live() }
                return scene
            } _: { scene, steps in
                scene.live(steps: steps, also: try scene.segments("s").map(UploadWork.evict))
            } then: { scene in
                let owner = SourceKey(session: "s", source: "camera")
                for segment in try scene.layout.movedSegments(owner) {
                    let bytes = try #require(scene.bucket.objects[segment.description]).bytes
                    let proof = try #require(try SegmentProof.read(segment, in: scene.layout))
                    #expect(Digest(of: Array(bytes.prefix(600))).description == proof.parts.first)
                    #expect(proof.sizeBytes == Int64(bytes.count))
                }
                let report = try SessionVerifier.verify("s", in: scene.layout)
                #expect(report.isIntact)
                for segment in try scene.segments("s") {
                    scene.expectProven(segment, with: scene.layout.segment(segment))
                }
                if isUploaded { #expect(try scene.segments("s").isEmpty) }
            }
            #expect(count > 3)
        }
    }

    @Test func `the archive knows its segments after evictions`() throws {
        let scene = try scene()
        scene.live()
        let before = try CatalogEntry("s", in: scene.layout)
        scene.live(also: try scene.segments("s").map(UploadWork.evict))
        #expect(try scene.segments("s").isEmpty)
        #expect(try CatalogEntry("s", in: scene.layout) == before)
        let report = try SessionVerifier.verify("s", in: scene.layout)
        #expect(report.isIntact && report.findings.count == 2)
        #expect(report.findings.allSatisfy { $0.text.contains("store verify") })
        // Nothing is sent again, and retention's survey still finds the segments.
        let requests = scene.bucket.requests
        scene.live()
        #expect(scene.bucket.requests == requests)
        let survey = try ArchiveSurvey(of: scene.layout)
        #expect(survey.segments.map(\.place) == [.store, .store])
        #expect(survey.emptySessions.isEmpty)
    }

    @Test func `an expired segment leaves disk and store, at a kill before any step`() throws {
        for isEvicted in [false, true] {
            let count = try killEverywhere {
                let scene = try scene()
                scene.live()
                if isEvicted {
                    scene.live(also: try scene.segments("s").map(UploadWork.evict))
                }
                return scene
            } _: { scene, steps in
                // Segments that retention finds expired at every survey.
                let owner = SourceKey(session: "s", source: "camera")
                let known = try scene.segments("s") + scene.layout.movedSegments(owner)
                return scene.live(
                    steps: steps, also: known.map { .forget(scene.expired($0)) })
            } then: { scene in
                #expect(
                    scene.bucket.objects.keys.sorted()
                        == ["s/camera/ledger.jsonl", "s/session.json"])
                let names = try FileSystem.names(in: scene.layout.source("s", "camera"))
                #expect(names == [ArchiveLayout.ledgerName])
                let removed = try scene.archive.ledger("s").filter { $0.kind == .removed }
                #expect(removed.map(\.sequences) == [[1...10], [11...20]])
                #expect(try SessionVerifier.verify("s", in: scene.layout).isIntact)
            }
            #expect(count > 3)
        }
    }

    @Test func `a removed session leaves the store, at a kill before any step`() throws {
        let count = try killEverywhere {
            let scene = try scene()
            try scene.archive.addSession("t", segments: 1)
            scene.live()
            try SessionRemoval.remove("s", from: scene.layout)
            return scene
        } _: { scene, steps in
            scene.live(steps: steps)
        } then: { scene in
            #expect(scene.bucket.objects.keys.allSatisfy { $0.hasPrefix("t/") })
            #expect(scene.bucket.deleted.allSatisfy { $0.hasPrefix("s/") })
            try scene.expectStored("t")
            #expect(try FileSystem.names(in: scene.layout.sessions) == ["t"])
        }
        #expect(count > 5)
    }

    @Test func `removal deletes nothing of another session of the name in the store`() throws {
        let scene = try scene()
        scene.live()
        var other = try SessionManifest.read(scene.layout.manifest("s"))
        other.zeroUTCNanoseconds += 1
        scene.bucket.replace("s/session.json", with: other.encoded())
        try SessionRemoval.remove("s", from: scene.layout)
        scene.live()
        #expect(scene.bucket.deleted.isEmpty)
        #expect(try FileSystem.names(in: scene.layout.sessions).isEmpty)
    }
}
