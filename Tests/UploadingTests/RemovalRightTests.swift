import Archive
import Synchronization
import TestRecordings
import TestSpools
import TestStores
import Testing

@testable import Uploading

/// Removal from a store that several programs use, of which one may remove.
@Suite struct RemovalRightTests {
    private static let session = "s"

    private func scene() throws -> (UploadScene, [SegmentKey]) {
        let scene = UploadScene()
        try scene.archive.addSession(Self.session, segments: 2)
        scene.live()
        try scene.expectStored(Self.session)
        return (scene, try scene.segments(Self.session))
    }

    @Test func `without the right nothing is deleted in the store, but the disk is freed`() throws {
        let (scene, segments) = try scene()
        let objects = Set(scene.bucket.objects.keys)
        scene.mayRemove.withLock { $0 = { _ in false } }
        scene.live(also: segments.map { .forget(scene.expired($0)) })
        #expect(Set(scene.bucket.objects.keys) == objects)
        #expect(try scene.segments(Self.session).isEmpty)
        // A collector that gets the right later removes them.
        scene.mayRemove.withLock { $0 = { _ in true } }
        scene.live(also: segments.map { .forget(scene.expired($0)) })
        for segment in segments {
            #expect(scene.bucket.objects[segment.description] == nil)
            #expect(scene.bucket.objects[segment.path(.proof)] == nil)
        }
    }

    @Test(arguments: [UploadStep.deleteProof, .deleteObject])
    func `the right is asked for before each step, and its loss in between does no harm`(
        lost: UploadStep
    ) throws {
        let (scene, segments) = try scene()
        let segment = try #require(segments.first)
        // The right is missing at one check, and present at the next.
        let isLost = Mutex(true)
        scene.mayRemove.withLock {
            $0 = { step in
                guard step == lost else { return true }
                return isLost.withLock { isFirst in
                    defer { isFirst = false }
                    return !isFirst
                }
            }
        }
        let began = scene.clock.now
        scene.live(also: [.forget(scene.expired(segment))])
        #expect(!isLost.withLock { $0 })
        #expect(scene.clock.now - began >= 5_000_000_000)
        #expect(scene.bucket.objects[segment.description] == nil)
        #expect(scene.bucket.objects[segment.path(.proof)] == nil)
        #expect(!FileSystem.exists(scene.layout.segment(segment)))
    }

    @Test func `removing an object that was already removed succeeds`() throws {
        let (scene, segments) = try scene()
        let segment = try #require(segments.first)
        let place = UploadTarget(
            scene.bucket, scene.layout, settings: scene.settings,
            surroundings: scene.surroundings, figures: UploadFigures())
        try StoredRemoval(in: place).delete(segment)
        try StoredRemoval(in: place).delete(segment)
        scene.live(also: [.forget(scene.expired(segment))])
        #expect(scene.bucket.objects[segment.description] == nil)
        #expect(!FileSystem.exists(scene.layout.segment(segment)))
    }

    @Test func `a postponed removal is tried again after five seconds`() throws {
        var queue = UploadQueue(random: { 1 })
        queue.add(.forgetSession("s"), now: 0)
        #expect(queue.take(now: 0) == .forgetSession("s"))
        queue.postponed(.forgetSession("s"), now: 0)
        // The program's end does not wait for it.
        #expect(queue.isExhausted && !queue.isIdle)
        #expect(queue.take(now: 4_999_999_999) == nil)
        #expect(queue.take(now: 5_000_000_000) == .forgetSession("s"))
    }
}
