import Archive
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
        scene.worker.perform(.endSession("session", path: manifest, Array("{}".utf8)))
        #expect(!ended() && scene.worker.isStuck)
        #expect(!FileSystem.exists(manifest))
        scene.disk.setCapacity(nil)
        scene.worker.retry()
        #expect(ended() && !scene.worker.isStuck)
        #expect(FileSystem.exists(manifest))
        #expect(scene.report(1, of: "one").state == .finished)
    }

    @Test func `a file is there when it has its first fragment, and not before`() throws {
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
}
