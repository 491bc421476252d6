import Archive
import Catalog
import TestDisks
import Glibc
import Testing

@testable import CollectorCore

/// Files that fail while others do not.
@Suite struct RescueTests {
    @Test func `an error on one source's file ends that file, and no other`() throws {
        let scene = try DiskScene()
        scene.disk.setFault(EIO, at: scene.path(1, of: "one"))
        for source in ["one", "two"] { scene.append(3...3, to: 1, of: source) }
        // Records before the failure is handled are lost.
        scene.append(4...4, to: 1, of: "one")
        scene.worker.commit()
        scene.hear()
        #expect(scene.persisted("one") == [1...2])
        #expect(scene.persisted("two") == [1...2, 3...3])

        // The source waits while the file cannot be truncated.
        scene.worker.retry()
        scene.hear()
        #expect(scene.rescued.isEmpty && scene.worker.isStuck)
        scene.disk.setFault(nil, at: scene.path(1, of: "one"))
        scene.worker.retry()
        scene.hear()
        let rescued = try #require(scene.rescued.first)
        #expect(rescued.id == SourceKey(session: "session", source: "one"))
        #expect(rescued.spools.map(\.sequences) == [SequenceSet(upTo: 2)])
        #expect(!scene.worker.isStuck)
        let report = scene.report(1, of: "one")
        #expect(report.state == .finished && report.findings.isEmpty)
        let ledger = try Ledger.read(scene.layout.ledger("session", "one"))
        #expect(ledger.entries.map(\.kind) == [.failed])
        #expect(ledger.entries[0].text?.contains("Input/output error") == true)

        // It continues in another file on request.
        scene.append(5...5, to: 1, of: "one")
        scene.worker.perform(.goOn(rescued.id))
        scene.open(2, of: "one")
        scene.append(3...4, to: 2, of: "one")
        scene.worker.commit()
        scene.hear()
        #expect(scene.persisted("one") == [1...2, 3...4])
        #expect(scene.report(2, of: "one").fragments == 1)
        #expect(scene.report(1, of: "two").fragments == 2)
    }

    @Test func `a session is finished after its ledger has the losses of a failed file`() throws {
        let scene = try DiskScene()
        let manifest = scene.layout.manifest("session")
        let ledger = scene.layout.ledger("session", "one")
        scene.append(3...3, to: 1, of: "one")
        scene.disk.setFault(EIO, at: scene.path(1, of: "one"))
        scene.worker.commit()
        for source in ["one", "two"] { scene.finish(1, of: source) }
        scene.worker.perform(.endSession(DiskScene.manifest(state: .finished)))
        scene.disk.setFault(nil, at: scene.path(1, of: "one"))
        scene.worker.retry()
        scene.hear()
        let rescued = try #require(scene.rescued.first)
        // A finished session would hide the missing third record.
        #expect(!FileSystem.exists(manifest) && scene.worker.isStuck)

        var entry = LedgerEntry(kind: .gap, at: DiskScene.zero)
        entry.firstSequence = 3
        entry.lastSequence = 3
        scene.worker.perform(
            .note(
                SourceKey(session: "session", source: "one"), entry,
                records: PersistedRecords(
                    source: "one", spool: DiskScene.spool, sequences: [3...3])))
        scene.worker.perform(.goOn(rescued.id))
        scene.worker.retry()
        scene.hear()
        #expect(FileSystem.exists(manifest) && !scene.worker.isStuck)
        #expect(try Ledger.read(ledger).entries.map(\.kind) == [.failed, .gap])
        #expect(scene.persisted("one") == [1...2, 3...3])
    }

    @Test func `the catalog gets the end of a failed file`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        scene.disk.setFault(EIO, at: scene.path(1, of: "one"))
        // This file has no fragment and is removed.
        scene.open(2, of: "one")
        scene.append(3...3, to: 1, of: "one")
        scene.worker.commit()
        scene.disk.setFault(nil, at: scene.path(1, of: "one"))
        scene.worker.retry()
        scene.hear()
        #expect(scene.rescued.count == 1)
        let kept = try #require(try SQLiteCatalog.read(scene.layout))
        let fresh = try SQLiteCatalog.inMemory()
        _ = try CatalogIndexing.update(fresh, scene.layout, everything: true)
        let one = try kept.segments().filter { $0.source == "one" }
        #expect(one == (try fresh.segments().filter { $0.source == "one" }))
        #expect(one.count == 1 && one.first?.endNanoseconds != nil)
    }

    @Test func `records that a failed fdatasync may have lost are never called durable`() throws {
        let scene = try DiskScene()
        scene.append(3...3, to: 1, of: "one")
        scene.disk.setFault(EIO, at: scene.path(1, of: "one"))
        scene.worker.commit()
        scene.disk.setFault(nil, at: scene.path(1, of: "one"))
        // Linux reports success for the second one although the pages are lost.
        scene.worker.commit()
        scene.worker.retry()
        scene.hear()
        #expect(scene.persisted("one") == [1...2])
        #expect(scene.rescued.map(\.spools[0].sequences) == [SequenceSet(upTo: 2)])
        #expect(scene.report(1, of: "one").fragments == 1)
    }

    @Test func `a disk on which every file fails is tried less and less often`() throws {
        let scene = try DiskScene()
        var rounds: [Int] = []
        for number in 2...5 {
            scene.open(number, of: "one")
            scene.append(3...3, to: number, of: "one")
            let path = scene.path(number, of: "one")
            scene.disk.setFault(EIO, at: path)
            scene.worker.commit()
            scene.disk.setFault(nil, at: path)
            var count = 0
            while scene.worker.isStuck {
                scene.worker.retry()
                count += 1
            }
            rounds.append(count)
            scene.worker.perform(.goOn(SourceKey(session: "session", source: "one")))
        }
        #expect(rounds == [1, 2, 4, 8])
    }

    @Test func `ledger lines that a failed fdatasync may have lost are written again`() throws {
        let scene = try DiskScene()
        let path = scene.layout.ledger("session", "one")
        var entry = LedgerEntry(kind: .gap, at: DiskScene.zero)
        entry.firstSequence = 3
        entry.lastSequence = 4
        let records = PersistedRecords(source: "one", spool: DiskScene.spool, sequences: [3...4])
        scene.worker.perform(
            .note(SourceKey(session: "session", source: "one"), entry, records: records))
        scene.disk.setFault(EIO, at: path)
        scene.worker.commit()
        scene.hear()
        #expect(scene.persisted("one") == [1...2])
        scene.disk.setFault(nil, at: path)
        scene.worker.commit()
        scene.hear()
        #expect(scene.persisted("one") == [1...2, 3...4])
        scene.disk.cutPower()
        #expect(try Ledger.read(path).entries.count == 1)
    }
}
