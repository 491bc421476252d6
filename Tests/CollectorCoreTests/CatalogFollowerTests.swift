import Archive
import Catalog
import Glibc
import Testing

@testable import CollectorCore

/// A collector's catalog follows its events.
@Suite struct CatalogFollowerTests {
    /// The catalog rows that the files imply.
    private func wanted(_ scene: DiskScene) throws -> [String] {
        let fresh = try SQLiteCatalog.inMemory()
        _ = try CatalogIndexing.update(fresh, scene.layout, everything: true)
        return try fresh.dump()
    }

    private func kept(_ scene: DiskScene) throws -> [String]? {
        try SQLiteCatalog.read(scene.layout)?.dump()
    }

    private func line(_ record: UInt64) -> LedgerEntry {
        var entry = LedgerEntry(kind: .gap, at: DiskScene.zero)
        entry.firstSequence = record
        entry.lastSequence = record
        entry.samples = 1
        return entry
    }

    private let one = SourceKey(session: "session", source: "one")

    @Test func `the catalog equals the files after all changes to them`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        #expect(try kept(scene) == wanted(scene))
        scene.worker.perform(.note(one, line(3), records: nil))
        scene.worker.perform(.note(one, line(3), records: nil))
        scene.open(2, of: "one")
        scene.append(4...4, to: 2, of: "one")
        scene.finish(1, of: "one")
        scene.hear()
        #expect(try kept(scene) == wanted(scene))
        for number in [2] { scene.finish(number, of: "one") }
        scene.finish(1, of: "two")
        scene.worker.perform(.endSession(DiskScene.manifest(state: .finished)))
        scene.hear()
        #expect(try kept(scene) == wanted(scene))
        #expect(try kept(scene)?.filter { $0.contains("event") && $0.contains("gap") }.count == 2)
    }

    @Test func `a session that another program has changed is read again`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        for source in ["one", "two"] { scene.finish(1, of: source) }
        scene.worker.perform(.endSession(DiskScene.manifest(state: .finished)))
        scene.hear()
        try FileSystem.replace(
            "\(scene.layout.session("session"))/notes.json",
            with: SessionNotes(name: "rehearsal").encoded())
        scene.spine.publish([.sessionChanged("other")])
        scene.hear()
        #expect(try kept(scene) != wanted(scene))
        scene.spine.publish([.sessionChanged("session")])
        scene.hear()
        #expect(try kept(scene) == wanted(scene))
    }

    @Test func `a locked catalog delays nothing, and gets all changes afterwards`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        let catalog = FaultyCatalog(scene.layout)
        scene.follower = CatalogFollower(catalog, scene.layout)
        scene.hear()
        catalog.setFault(EBUSY)
        // More than a listener's queue holds.
        for record in 3...202 as ClosedRange<UInt64> {
            scene.append(record...record, to: 1, of: "one")
            scene.worker.perform(.note(one, line(record), records: nil))
            scene.worker.commit()
            scene.hear()
        }
        // Everything of it is acknowledged.
        #expect(scene.persisted("one").last == 202...202)
        #expect(try kept(scene) != wanted(scene))
        let attempts = catalog.attempts
        scene.pass(CatalogFollower.lockPause - .nanoseconds(1))
        #expect(catalog.attempts == attempts)
        scene.pass(.nanoseconds(1))
        #expect(catalog.attempts > attempts)
        catalog.setFault(nil)
        scene.pass(CatalogFollower.lockPause)
        scene.pass(.zero)
        #expect(try kept(scene) == wanted(scene))
        #expect(
            scene.reports.contains { if case .locked = $0 { true } else { false } }
                && scene.reports.contains { if case .unlocked = $0 { true } else { false } })
    }

    @Test func `a failing catalog is removed at once, and rebuilt from the files later`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        let catalog = FaultyCatalog(scene.layout)
        scene.follower = CatalogFollower(catalog, scene.layout)
        scene.hear()
        let made = scene.catalogNews.made
        catalog.setFault(EIO)
        scene.open(2, of: "one")
        scene.append(3...3, to: 2, of: "one")
        scene.hear()
        #expect(scene.catalogNews == (lost: 1, made: made))
        #expect(try kept(scene) == nil)
        // Changes meanwhile are in the files.
        scene.worker.perform(.note(one, line(9), records: nil))
        scene.hear()
        scene.pass(CatalogFollower.firstPause - .nanoseconds(1))
        #expect(try kept(scene) == nil)
        // Retries become less frequent while the failure lasts.
        scene.pass(.nanoseconds(1))
        #expect(scene.catalogNews == (lost: 2, made: made))
        catalog.setFault(nil)
        scene.pass(CatalogFollower.firstPause * 2 - .nanoseconds(1))
        #expect(try kept(scene) == nil)
        scene.pass(.nanoseconds(1))
        #expect(scene.catalogNews == (lost: 2, made: made + 1))
        #expect(try kept(scene) == wanted(scene))
        // And it is kept from there on.
        scene.finish(2, of: "one")
        scene.hear()
        #expect(try kept(scene) == wanted(scene))
    }

    @Test func `changes beyond the queue's capacity are read from the files`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        scene.hear()
        for record in 3...300 as ClosedRange<UInt64> {
            scene.worker.perform(.note(one, line(record), records: nil))
        }
        scene.finish(1, of: "one")
        scene.hear()
        #expect(try kept(scene) == wanted(scene))
    }

    @Test func `a collector that ends removes an incomplete catalog`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        let catalog = FaultyCatalog(scene.layout)
        scene.follower = CatalogFollower(catalog, scene.layout)
        scene.hear()
        scene.finish(1, of: "one")
        catalog.setFault(EBUSY)
        scene.hear()
        _ = scene.follower?.end()
        #expect(try kept(scene) == nil)
    }

    @Test func `a stale catalog is updated from the files at the start`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        scene.hear()
        scene.follower = nil
        scene.finish(1, of: "one")
        scene.worker.perform(.note(one, line(9), records: nil))
        scene.hear()
        #expect(try kept(scene) != wanted(scene))
        scene.follower = CatalogFollower(SQLiteCatalogLocation(scene.layout), scene.layout)
        scene.hear()
        #expect(try kept(scene) == wanted(scene))
    }

    @Test func `a catalog of an unreachable server stays, and gets all changes later`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        let catalog = FaultyCatalog(scene.layout)
        scene.follower = CatalogFollower(catalog, scene.layout)
        scene.hear()
        catalog.setAway()
        for record in 3...202 as ClosedRange<UInt64> {
            scene.append(record...record, to: 1, of: "one")
            scene.worker.perform(.note(one, line(record), records: nil))
            scene.worker.commit()
            scene.hear()
        }
        #expect(scene.persisted("one").last == 202...202)
        catalog.setFault(nil)
        scene.pass(CatalogFollower.lockPause)
        scene.pass(.zero)
        #expect(try kept(scene) == wanted(scene))
        // It was trusted throughout: no file was read again.
        #expect(catalog.removals == 0)
    }

    @Test func `a server that is away at the start is asked again, and logged once`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        let catalog = FaultyCatalog(scene.layout)
        catalog.setAway()
        scene.follower = CatalogFollower(catalog, scene.layout)
        scene.hear()
        for _ in 0..<5 { scene.pass(CatalogFollower.longestServerPause) }
        let locked = scene.reports.filter { if case .locked = $0 { true } else { false } }
        #expect(locked.count == 1)
        catalog.setFault(nil)
        scene.pass(CatalogFollower.longestServerPause)
        #expect(try kept(scene) == wanted(scene) && catalog.removals == 0)
    }

    @Test func `an end without the server keeps the catalog if files show the changes`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        let catalog = FaultyCatalog(scene.layout)
        scene.follower = CatalogFollower(catalog, scene.layout)
        scene.hear()
        scene.finish(1, of: "one")
        catalog.setAway()
        scene.hear()
        let last = scene.follower?.end()
        #expect(last?.isEmpty == true && catalog.removals == 0)
        catalog.setFault(nil)
        scene.follower = CatalogFollower(catalog, scene.layout)
        scene.hear()
        #expect(try kept(scene) == wanted(scene))
        // An edit changes no file's name, so the catalog is not trusted afterwards.
        catalog.setAway()
        scene.spine.publish([.sessionChanged("session")])
        scene.hear()
        _ = scene.follower?.end()
        #expect(catalog.removals == 1)
    }
}
