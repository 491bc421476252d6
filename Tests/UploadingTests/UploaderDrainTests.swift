import Archive
import Glibc
import TestRecordings
import TestStores
import Testing

@testable import Uploading

/// The end of an upload by hand.
@Suite(.timeLimit(.minutes(1))) struct UploaderDrainTests {
    /// - Parameter speed: of the simulated clock, relative to the real one, which the upload's thread waits by.
    private func drained(
        _ scene: UploadScene, speed: Int64 = 1
    ) -> (status: UploadStatus, passedNanoseconds: Int64) {
        var surroundings = scene.surroundings
        surroundings.sleep = { [clock = scene.clock] nanoseconds in
            clock.sleep(nanoseconds)
            usleep(UInt32(nanoseconds / speed / 1_000))
        }
        let uploader = Uploader(
            scene.layout, to: scene.bucket, settings: scene.settings, hooks: scene.hooks,
            surroundings: surroundings)
        let began = scene.clock.now
        uploader.start()
        uploader.drain { false }
        let passed = scene.clock.now - began
        uploader.stop()
        return (uploader.status, passed)
    }

    @Test(arguments: [SimulatedBucket.Fault.slowDown, .serverError, .cut])
    func `one refusal of a busy store does not end a push`(_ fault: SimulatedBucket.Fault) throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 2)
        scene.bucket.fail(fault, after: 5)
        let (status, _) = drained(scene)
        #expect(status.trouble == nil && status.waiting == 0)
        try scene.expectStored("s")
    }

    @Test func `work that can be begun again is, while the store is busy, for a minute`() throws {
        let scene = UploadScene()
        let place = UploadTarget(
            scene.bucket, scene.layout, settings: scene.settings,
            surroundings: scene.surroundings, figures: UploadFigures())
        func list() throws(UploadError) -> [String] {
            try place.patiently { () throws(UploadError) in
                try StoredSessionFetch(from: place).sessionNames()
            }
        }
        scene.bucket.fail(.slowDown)
        scene.bucket.fail(.cut, after: 2)
        #expect(try list().isEmpty)
        scene.bucket.failAlways(.slowDown)
        let began = scene.clock.now
        #expect(throws: UploadError.self) { try list() }
        #expect((20_000_000_000..<60_000_000_000).contains(scene.clock.now - began))
        let requests = scene.bucket.requests
        scene.bucket.failAlways(.denied)
        #expect(throws: UploadError.self) { try list() }
        #expect(scene.bucket.requests == requests + 1)
    }

    @Test func `an outage ends a push after a minute`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 1)
        scene.bucket.failAlways(.cut)
        let (status, passed) = drained(scene, speed: 100)
        #expect(status.trouble != nil)
        #expect(passed >= 60_000_000_000)
    }

    @Test(arguments: [SimulatedBucket.Fault.denied, .full, .bucketGone, .clock])
    func `a store that cannot be used without help ends a push at once`(
        _ fault: SimulatedBucket.Fault
    ) throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 1)
        scene.bucket.failAlways(fault)
        let (status, passed) = drained(scene)
        #expect(status.trouble != nil)
        #expect(passed < 60_000_000_000)
    }
}
