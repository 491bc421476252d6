import Archive
import Catalog
import Glibc
import TestDisks
import Testing

@testable import CollectorCore

@Suite struct DiskWorkerTests {
    @Test func `a session is not called finished while one of its files is stuck`() throws {
        let scene = try DiskScene()
        func ended() -> Bool {
            scene.worker.takeEvents().contains { if case .ended = $0 { true } else { false } }
        }
        scene.disk.setCapacity(0)
        scene.append(3...3, to: 1, of: "one")
        for source in ["one", "two"] { scene.finish(1, of: source) }
        let manifest = scene.layout.manifest("session")
        scene.worker.perform(.endSession(DiskScene.manifest(state: .finished)))
        #expect(!ended() && scene.worker.isStuck)
        #expect(!FileSystem.exists(manifest))
        scene.disk.setCapacity(nil)
        scene.worker.retry()
        #expect(ended() && !scene.worker.isStuck)
        #expect(FileSystem.exists(manifest))
        #expect(scene.report(1, of: "one").state == .finished)
    }

    @Test func `the end of a session that was stuck is reported as free again`() throws {
        let scene = try DiskScene()
        for source in ["one", "two"] { scene.finish(1, of: source) }
        scene.disk.setCapacity(0)
        let manifest = scene.layout.manifest("session")
        scene.worker.perform(.endSession(DiskScene.manifest(state: .finished)))
        scene.hear()
        #expect(scene.stuckPaths == [manifest])
        scene.disk.setCapacity(nil)
        scene.worker.retry()
        scene.hear()
        #expect(scene.stuckPaths.isEmpty)
    }

    @Test func `records that have become durable have the capture time of the oldest`() throws {
        let scene = try DiskScene()
        scene.append(3...5, to: 1, of: "one", capturedNanoseconds: { 1_000 + Int64($0) })
        scene.worker.commit()
        let captured = scene.worker.takeEvents().compactMap { event -> Int64? in
            if case .persisted(let records) = event { records.capturedNanoseconds } else { nil }
        }
        #expect(captured == [1_003])
    }

    @Test func `a directory that cannot be made durable blocks only its own source`() throws {
        let scene = try DiskScene()
        let directory = scene.layout.source("session", "one")
        scene.open(2, of: "one")
        scene.append(3...3, to: 2, of: "one")
        scene.append(3...3, to: 1, of: "two")
        scene.disk.setFault(EIO, at: directory)
        scene.worker.commit()
        scene.hear()
        #expect(scene.persisted("two") == [1...2, 3...3])
        #expect(scene.persisted("one") == [1...2])
        scene.disk.setFault(nil, at: directory)
        scene.worker.commit()
        scene.hear()
        #expect(scene.persisted("one") == [1...2, 3...3])
    }

    @Test func `many unsynchronised bytes of a file are made durable early`() throws {
        let scene = try DiskScene()
        #expect(!scene.worker.mustCommit)
        let megabyte = 1 << 20
        for record in UInt64(3)...9 {
            scene.append(record...record, to: 1, of: "one", bytesEach: 2 * megabyte)
        }
        // Two files, each below the limit, which applies to one file's unsynchronised bytes.
        scene.append(3...3, to: 1, of: "two", bytesEach: 8 * megabyte)
        #expect(!scene.worker.mustCommit)
        scene.append(10...10, to: 1, of: "one", bytesEach: 2 * megabyte)
        #expect(scene.worker.mustCommit)
        scene.worker.commit()
        #expect(!scene.worker.mustCommit)
        scene.append(11...11, to: 1, of: "one", bytesEach: 2 * megabyte)
        #expect(!scene.worker.mustCommit)
    }

    /// A source's ledger says which earlier records this archive lacks.
    @Test func `a source's records are not called durable before its ledger`() throws {
        let scene = try DiskScene()
        let one = SourceKey(session: "session", source: "one")
        let ledger = scene.layout.ledger(one)
        scene.worker.perform(
            .note(one, LedgerEntry(kind: .opened, at: DiskScene.zero), records: nil))
        for source in ["one", "two"] { scene.append(3...3, to: 1, of: source) }
        scene.disk.setFault(EIO, at: ledger)
        scene.worker.commit()
        scene.hear()
        #expect(scene.persisted("one") == [1...2])
        #expect(scene.persisted("two") == [1...2, 3...3])
        scene.disk.setFault(nil, at: ledger)
        scene.worker.commit()
        scene.hear()
        #expect(scene.persisted("one") == [1...2, 3...3])
    }

    @Test func `a removed directory affects only its own source`() throws {
        let scene = try DiskScene()
        let directory = scene.layout.source("session", "one")
        scene.open(2, of: "one")
        scene.append(3...3, to: 2, of: "one")
        scene.append(3...3, to: 1, of: "two")
        try FileSystem.removeTree(directory)
        scene.worker.commit()
        scene.hear()
        #expect(scene.persisted("two") == [1...2, 3...3])
        // The source continues in another directory.
        for _ in 0..<3 {
            scene.worker.retry()
            scene.hear()
        }
        #expect(FileSystem.isDirectory(directory))
        #expect(!scene.worker.rescues.values.contains { !$0.isDone })
        // Records of the lost file are not reported durable.
        #expect(scene.persisted("one") == [1...2])
    }

    @Test func `nothing is created where a detached archive was, and it continues later`() throws {
        let scene = try DiskScene()
        let root = scene.layout.root
        scene.append(3...3, to: 1, of: "one")
        #expect(rename(root, root + ".away") == 0)
        scene.disk.setDetached(true)
        scene.worker.commit()
        scene.worker.perform(.beginSession("later"))
        scene.open(2, of: "one")
        scene.append(4...4, to: 2, of: "one")
        scene.worker.perform(
            .note(
                SourceKey(session: "session", source: "two"),
                LedgerEntry(kind: .time, at: DiskScene.zero), records: nil))
        // It waits for the ledger, too.
        scene.finish(1, of: "two")
        scene.worker.perform(.endSession(DiskScene.manifest(state: .finished)))
        for _ in 0..<3 {
            scene.worker.retry()
            scene.worker.commit()
        }
        scene.hear()
        #expect(!FileSystem.exists(root))
        #expect(scene.worker.isStuck)
        #expect(scene.stuckPaths.isEmpty)
        #expect(scene.attachments == [false])
        #expect(scene.persisted("one") == [1...2])

        #expect(rename(root + ".away", root) == 0)
        scene.disk.setDetached(false)
        for _ in 0..<2 {
            scene.worker.retry()
            scene.worker.commit()
        }
        scene.hear()
        #expect(scene.attachments == [false, true])
        #expect(scene.persisted("one") == [1...2, 3...3, 4...4])
        #expect(scene.rescued.isEmpty && scene.worker.rescues.isEmpty)
        #expect(scene.stuckPaths.isEmpty)
        #expect(scene.report(1, of: "two").state == .finished)
        #expect(FileSystem.isDirectory(scene.layout.session("later")))
    }

    @Test func `jobs that wait for a detached archive are given up with one event`() throws {
        let scene = try DiskScene()
        scene.disk.setDetached(true)
        for source in ["one", "two"] {
            scene.open(2, of: source)
            scene.append(3...3, to: 2, of: source)
        }
        scene.worker.abandon()
        scene.hear()
        let abandoned = scene.events.compactMap { event -> String? in
            if case .abandoned(let path, _) = event { path } else { nil }
        }
        #expect(abandoned == [scene.layout.root])
    }

    @Test func `a failed commit is reported as stuck, and later as free`() throws {
        let scene = try DiskScene()
        let directory = scene.layout.session("session")
        scene.worker.perform(.beginSource(SourceKey(session: "session", source: "three")))
        scene.disk.setFault(EIO, at: directory)
        scene.worker.commit()
        scene.hear()
        #expect(scene.stuckPaths == [directory])
        scene.disk.setFault(nil, at: directory)
        let ledger = scene.layout.ledger("session", "one")
        scene.worker.perform(
            .note(
                SourceKey(session: "session", source: "one"),
                LedgerEntry(kind: .time, at: DiskScene.zero), records: nil))
        scene.disk.setFault(EIO, at: ledger)
        scene.worker.commit()
        scene.hear()
        #expect(scene.stuckPaths == [ledger])
        scene.disk.setFault(nil, at: ledger)
        scene.worker.commit()
        scene.hear()
        #expect(scene.stuckPaths.isEmpty)
    }

    @Test func `no file of a session is written before its description`() throws {
        let scene = try DiskScene()
        let session = "next"
        let layout = scene.layout
        let description = layout.manifest(session)
        let ledger = layout.ledger(session, "one")
        let source = SourceKey(session: session, source: "one")
        let segment = SegmentKey(source, origin: DiskScene.zero)
        let path = layout.segment(segment)
        func line(_ record: UInt64) -> DiskJob {
            var entry = LedgerEntry(kind: .gap, at: DiskScene.zero)
            entry.firstSequence = record
            entry.lastSequence = record
            return .note(source, entry, records: nil)
        }
        scene.disk.setFault(EIO, at: "\(description).new")
        scene.worker.perform(.beginSession(session))
        scene.worker.perform(.describe(DiskScene.manifest(session)))
        scene.worker.perform(.beginSource(source))
        scene.worker.perform(line(3))
        scene.open(segment)
        scene.append(4...4, to: segment)
        scene.worker.perform(line(5))
        scene.worker.retry()
        scene.worker.commit()
        #expect(!FileSystem.exists(ledger) && !FileSystem.exists(path))
        #expect(scene.worker.isStuck)
        // Other sessions do not wait for it.
        scene.append(3...3, to: 1, of: "one")
        #expect(scene.report(1, of: "one").fragments == 2)

        scene.disk.setFault(nil, at: "\(description).new")
        scene.worker.retry()
        #expect(!scene.worker.isStuck && FileSystem.exists(description))
        #expect(try Ledger.read(ledger).entries.map(\.firstSequence) == [3, 5])
        #expect(FileVerifier.verify(path).report.fragments == 1)
    }

    @Test func `a file is created with its first fragment`() throws {
        let scene = try DiskScene()
        scene.open(2, of: "one")
        #expect(!FileSystem.exists(scene.path(2, of: "one")))
        scene.disk.setCapacity(0)
        scene.append(3...3, to: 2, of: "one")
        let directory = scene.layout.source("session", "one")
        #expect(try FileSystem.names(in: directory).count == 1)
        scene.disk.setCapacity(nil)
        scene.worker.retry()
        #expect(scene.report(2, of: "one").fragments == 1)
        #expect(try FileSystem.names(in: directory).count == 2)
    }

    @Test
    func `a local copy is removed only if its proof is about this file`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        let owner = SourceKey(session: "session", source: "one")
        let segment = SegmentKey(owner, origin: DiskScene.zero.advanced(by: 1_000_000_000))
        let path = scene.layout.segment(segment)
        func catalog() throws -> [String]? { try SQLiteCatalog.read(scene.layout)?.dump() }
        func evict() {
            scene.worker.perform(.remove(.localCopy(segment)))
            scene.hear()
        }
        // It grows.
        evict()
        #expect(FileSystem.exists(path))
        scene.finish(1, of: "one")
        evict()
        #expect(FileSystem.exists(path))
        let content = try #require(try SegmentContent(path))
        var proof = SegmentProof(
            of: segment, content: content, partBytes: 1 << 20,
            parts: [Digest(of: try FileSystem.read(path, limit: 1 << 20))],
            store: "s3://test/archive", tag: "\"1\"", at: DiskScene.zero)
        proof.modifiedNanoseconds -= 1
        try FileSystem.replace(
            scene.layout.path(of: segment, .proof), with: proof.encoded(), on: scene.layout.disk)
        evict()
        #expect(FileSystem.exists(path))
        proof.modifiedNanoseconds += 1
        try FileSystem.replace(
            scene.layout.path(of: segment, .proof), with: proof.encoded(), on: scene.layout.disk)
        let before = try catalog()
        evict()
        #expect(!FileSystem.exists(path))
        #expect(try catalog() == before)
        #expect(try SessionVerifier.verify("session", in: scene.layout).isIntact)

        let expired = ExpiredSegment(
            segment: ArchivedSegment(
                SourceKey(session: "session", source: "one"), path: path, sizeBytes: 1,
                ended: DiskScene.zero, isProtected: false, isOpen: false, place: .store),
            cause: .age)
        scene.worker.perform(.remove(.segment(expired)))
        scene.hear()
        #expect(!FileSystem.exists(scene.layout.path(of: segment, .proof)))
        let removed = try Ledger.read(scene.layout.ledger(owner)).entries.filter {
            $0.kind == .removed
        }
        #expect(removed.map(\.sequences) == [[1...2]])
        #expect(try catalog() != before)
        #expect(try SessionVerifier.verify("session", in: scene.layout).isIntact)
    }
}
