import Archive
import Foundation
import Testing

@testable import CollectorCore

/// The catalog of a collector that cannot write it for a while.
@Suite struct CatalogKeeperTests {
    /// What the files say, as the catalog would.
    private func wanted(_ scene: DiskScene) throws -> [String] {
        let fresh = try Catalog.inMemory()
        _ = try CatalogIndexing.update(fresh, scene.layout, everything: true)
        return try fresh.dump()
    }

    private func kept(_ scene: DiskScene) throws -> [String]? {
        try Catalog.read(scene.layout)?.dump()
    }

    /// Has the catalog fail: what has changed cannot be read.
    private func lose(_ scene: DiskScene) throws {
        let path = scene.layout.manifest("session")
        let manifest = try FileSystem.read(path, limit: 1 << 20)
        scene.worker.perform(.manifest(path: path, Array("{".utf8)))
        scene.hear()
        try FileSystem.replace(path, with: manifest)
    }

    @Test func `lost, it is gone at once, and made again from the files when its time has come`()
        throws
    {
        let scene = try DiskScene(keepsCatalog: true)
        try lose(scene)
        #expect(scene.catalogNews == (lost: 1, made: 0))
        #expect(try kept(scene) == nil)
        // What happens meanwhile is in the files.
        scene.open(2, of: "one")
        scene.append(3...3, to: 2, of: "one")
        scene.mendCatalog(after: CatalogKeeper.firstPause - .nanoseconds(1))
        #expect(try kept(scene) == nil)
        scene.mendCatalog(after: CatalogKeeper.firstPause)
        #expect(scene.catalogNews == (lost: 1, made: 1))
        #expect(try kept(scene) == wanted(scene))
        // And it is kept from there on.
        scene.finish(2, of: "one")
        scene.hear()
        #expect(try kept(scene) == wanted(scene))
    }

    @Test func `what happens while it is made again is in it`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        try lose(scene)
        let now = ContinuousClock.now
        scene.worker.mendCatalog(now: now)
        scene.worker.mendCatalog(now: now + CatalogKeeper.firstPause)
        // It has read everything, and waits to be taken.
        try #require(scene.worker.catalog.remaking).wait()
        scene.finish(1, of: "one")
        scene.open(2, of: "two")
        scene.append(3...3, to: 2, of: "two")
        scene.worker.mendCatalog(now: now + CatalogKeeper.firstPause)
        scene.hear()
        #expect(scene.catalogNews == (lost: 1, made: 1))
        #expect(try kept(scene) == wanted(scene))
    }

    @Test func `it is tried again less and less often while something is in its way`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        try lose(scene)
        let path = Catalog.path(scene.layout)
        try FileSystem.makeDirectories(path)
        scene.mendCatalog(after: CatalogKeeper.firstPause)
        #expect(scene.catalogNews == (lost: 2, made: 0))
        #expect(rmdir(path) == 0)
        scene.mendCatalog(after: CatalogKeeper.firstPause * 2 - .nanoseconds(1))
        #expect(scene.catalogNews == (lost: 2, made: 0))
        scene.mendCatalog(after: CatalogKeeper.firstPause * 2)
        #expect(scene.catalogNews == (lost: 2, made: 1))
        #expect(try kept(scene) == wanted(scene))
    }

    @Test func `a collector that ends leaves none that is not whole`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        try lose(scene)
        let now = ContinuousClock.now
        scene.worker.mendCatalog(now: now)
        scene.worker.mendCatalog(now: now + CatalogKeeper.firstPause)
        scene.finish(1, of: "one")
        scene.worker.abandon()
        #expect(try kept(scene) == nil)
    }

    @Test func `a collector that starts without one says so, and makes it`() throws {
        let scene = try DiskScene(keepsCatalog: true)
        try Catalog.remove(scene.layout)
        scene.worker = DiskWorker(
            layout: scene.layout, space: FreeSpace(reserveBytes: 0, directory: scene.layout.root),
            catalog: .lost(.system(operation: "open", path: "catalog", errno: EIO)))
        scene.hear()
        #expect(scene.catalogNews == (lost: 1, made: 0))
        scene.mendCatalog(after: CatalogKeeper.firstPause)
        #expect(scene.catalogNews == (lost: 1, made: 1))
        #expect(try kept(scene) == wanted(scene))
    }
}
