import Archive
import Dispatch
import ObjectStore
import Synchronization
import TestRecordings
import TestSpools
import TestStores
import Testing

@testable import Uploading

/// A store with ordinary faults.
@Suite struct UploadFaultTests {
    private static let transient: [SimulatedBucket.Fault] = [
        .serverError, .slowDown, .cut, .lostAnswer, .wrongDigest, .full, .denied, .clock,
        .bucketGone, .uploadsGone,
    ]

    @Test(arguments: transient)
    func `one fault at any request only delays the upload`(_ fault: SimulatedBucket.Fault) throws {
        for number in 1...40 {
            let scene = UploadScene(seed: UInt64(number))
            try scene.archive.addSession("s", segments: 2)
            scene.bucket.fail(fault, after: number)
            scene.live()
            try scene.expectStored("s")
            for segment in try scene.segments("s") {
                #expect(
                    scene.bucket.made[segment.description] == 1, "\(fault) at request \(number)")
            }
        }
    }

    @Test func `with random faults and kills, nothing is lost, repeated or removed unproven`()
        throws
    {
        for seed in UInt64(1)...60 {
            var random = SeededGenerator(seed: seed)
            let scene = UploadScene(
                seed: seed, returnsDigests: seed % 2 == 0,
                partBytes: seed % 3 == 0 ? 1 << 20 : UploadScene.partBytes)
            try scene.archive.addSession("s", segments: 3)
            let bytes = try scene.segments("s").map {
                ($0, try FileSystem.read(scene.layout.segment($0), limit: 1 << 20))
            }
            scene.bucket.failAtRandom(seed, oneIn: 4, Self.transient)
            for _ in 0..<6 {
                scene.live(
                    steps: Int(random.next() % 40),
                    also: try scene.segments("s").map(UploadWork.evict))
            }
            scene.bucket.failNoMore()
            scene.live(also: try scene.segments("s").map(UploadWork.evict))
            scene.live(also: try scene.segments("s").map(UploadWork.evict))
            #expect(try scene.segments("s").isEmpty, "seed \(seed)")
            for (segment, content) in bytes {
                #expect(
                    scene.bucket.objects[segment.description]?.bytes == content, "seed \(seed)")
                #expect(scene.bucket.made[segment.description] == 1, "seed \(seed)")
            }
            #expect(try SessionVerifier.verify("s", in: scene.layout).isIntact, "seed \(seed)")
        }
    }

    @Test func `parallel parts are neither lost nor repeated at faults`() throws {
        for seed in UInt64(1)...30 {
            var random = SeededGenerator(seed: seed)
            let scene = UploadScene(
                seed: seed, returnsDigests: seed % 2 == 0, partsAtOnce: 2 + Int(seed % 3))
            try scene.archive.addSession("s", segments: 2)
            scene.bucket.failAtRandom(seed, oneIn: 4, Self.transient)
            for _ in 0..<4 { scene.live(steps: Int(random.next() % 30)) }
            scene.bucket.failNoMore()
            scene.live()
            try scene.expectStored("s")
            for segment in try scene.segments("s") {
                #expect(scene.bucket.made[segment.description] == 1, "seed \(seed)")
            }
        }
    }

    @Test func `the second of two parallel parts is not sent again when the first fails`() throws {
        let scene = UploadScene(partsAtOnce: 2)
        try scene.archive.addSession("s", segments: 1)
        scene.live()
        let parts = scene.bucket.sentParts
        for number in 1...20 {
            let other = UploadScene(partsAtOnce: 2)
            try other.archive.addSession("s", segments: 1)
            other.bucket.fail(.serverError, after: number)
            other.live()
            try other.expectStored("s")
            #expect(other.bucket.sentParts == parts, "request \(number)")
        }
    }

    @Test func `a slow part does not delay parallel ones`() throws {
        // Part 2 arrives when part 4 has set out, which is when part 1 has arrived.
        let fourth = DispatchSemaphore(value: 0)
        let isHeldUp = Mutex(false)
        let scene = UploadScene(partsAtOnce: 3) { number in
            if number == 4 { fourth.signal() }
            guard number == 2, fourth.wait(timeout: .now() + .seconds(60)) == .timedOut else {
                return
            }
            isHeldUp.withLock { $0 = true }
        }
        try scene.archive.addSession("s", segments: 1)
        scene.live()
        try scene.expectStored("s")
        #expect(scene.bucket.sentParts >= 4)
        #expect(!isHeldUp.withLock { $0 })
    }

    @Test(arguments: [
        (SimulatedBucket.Operation.put, ObjectStoreError.Kind.changed, true), (.put, .exists, true),
        (.complete, .changed, false), (.complete, .gone, false), (.putPart, .gone, false),
        (.read, .changed, false), (.read, .changed, true),
    ])
    func `a store that answers a segment with the same refusal is tried few times, then set aside`(
        _ operation: SimulatedBucket.Operation, _ kind: ObjectStoreError.Kind, _ isSmall: Bool
    ) throws {
        let scene = UploadScene(
            readBack: .all, partBytes: isSmall ? 1 << 20 : UploadScene.partBytes)
        try scene.archive.addSession("s", segments: 1)
        scene.bucket.answer(operation, with: kind)
        // Endless attempts would begin thousands of steps.
        var surroundings = scene.surroundings
        let steps = Mutex(0)
        let checkpoint = surroundings.checkpoint
        surroundings.checkpoint = { step throws(UploadStop) in
            let count = steps.withLock { count in
                count += 1
                return count
            }
            if count > 400 { throw UploadStop() }
            try checkpoint(step)
        }
        let figures = UploadFigures()
        let desk = UploadBoard(UploadQueue(random: surroundings.random))
        desk.state.withLock { _ = $0.surveys.insert(nil) }
        var worker = UploadWorker(
            UploadTarget(
                scene.bucket, scene.layout, settings: scene.settings, surroundings: surroundings,
                figures: figures), desk: desk, figures: figures, hooks: scene.hooks)
        var turn = UploadWorker.Turn.worked
        while turn == .worked { turn = worker.turn() }
        #expect(turn != .stopped)
        #expect(scene.lines.count == 1)
        #expect(scene.lines.first?.contains("4 attempts") == true, "\(scene.lines)")
        #expect(scene.lines.first?.contains("check ") == true)
        #expect(scene.bucket.uploads == 0)
        #expect(scene.bucket.begunUploads <= 4)
        var status = UploadStatus()
        desk.state.withLock { $0.queue.describe(&status, utcNanoseconds: 0) }
        #expect(status.setAside == 1 && status.trouble == nil)
        // An hour later the store works.
        scene.bucket.answer(operation, with: nil)
        scene.live()
        try scene.expectStored("s")
        #expect(scene.bucket.uploads == 0)
    }

    @Test(arguments: [
        SimulatedBucket.Fault.serverError, .cut, .full, .denied, .clock, .bucketGone,
    ])
    func `an unreachable store is logged once, and again when it is back`(
        _ fault: SimulatedBucket.Fault
    ) throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 2)
        let surroundings = scene.surroundings
        let figures = UploadFigures()
        let desk = UploadBoard(UploadQueue(random: surroundings.random))
        desk.state.withLock { _ = $0.surveys.insert(nil) }
        var worker = UploadWorker(
            UploadTarget(
                scene.bucket, scene.layout, settings: scene.settings, surroundings: surroundings,
                figures: figures), desk: desk, figures: figures, hooks: scene.hooks)
        scene.bucket.failAlways(fault)
        let began = scene.clock.now
        var requests = 0
        while scene.clock.now - began < 3_600_000_000_000 {
            let before = scene.bucket.requests
            if case .idle(let until) = worker.turn() {
                scene.clock.advance(to: try #require(until))
            }
            requests += scene.bucket.requests - before
        }
        // An hour of pauses of up to five minutes.
        #expect(scene.lines.count == 1)
        #expect((12...60).contains(requests))
        #expect(scene.bucket.objects.isEmpty)
        scene.bucket.failAlways(nil)
        while true {
            guard case .idle(let until) = worker.turn() else { continue }
            guard let until, !desk.state.withLock({ $0.queue.isIdle }) else { break }
            scene.clock.advance(to: until)
        }
        try scene.expectStored("s")
        #expect(scene.lines.count == 2)
        #expect(scene.lines.last?.contains("can be used again") == true)
    }

    @Test func `a file that the store refuses is set aside with a line, and the others go up`()
        throws
    {
        let scene = UploadScene(partBytes: 1 << 20)
        try scene.archive.addSession("s", segments: 3)
        // The session's identity, its description, then the first segment: queried and put.
        scene.bucket.fail(.refused, after: 4)
        let surroundings = scene.surroundings
        let figures = UploadFigures()
        let desk = UploadBoard(UploadQueue(random: surroundings.random))
        desk.state.withLock { _ = $0.surveys.insert(nil) }
        var worker = UploadWorker(
            UploadTarget(
                scene.bucket, scene.layout, settings: scene.settings, surroundings: surroundings,
                figures: figures), desk: desk, figures: figures, hooks: scene.hooks)
        while !desk.state.withLock({ $0.queue.isIdle && $0.surveys.isEmpty }) {
            if case .idle(let until) = worker.turn() {
                scene.clock.advance(to: try #require(until))
            }
        }
        #expect(scene.lines.count == 1)
        #expect(scene.stored.count == 2)
        var status = UploadStatus()
        desk.state.withLock { $0.queue.describe(&status, utcNanoseconds: 0) }
        #expect(status.setAside == 1 && status.waiting == 1)
        // An hour later it is tried again.
        scene.clock.sleep(3_600_000_000_000)
        while case .worked = worker.turn() {}
        #expect(scene.stored.count == 3)
    }

    @Test func `a copy stays on the disk when the store no longer has it as it was proven`() throws
    {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 4)
        scene.live()
        let segments = try scene.segments("s")
        scene.bucket.lose(segments[0].description)
        scene.bucket.replace(segments[1].description, with: [1, 2, 3])
        scene.bucket.lose(segments[2].path(.proof))
        scene.live(also: segments.map(UploadWork.evict))
        #expect(try scene.segments("s") == Array(segments.prefix(3)))
        #expect(scene.lines.count == 3)
        try scene.expectStoredBesides(segments[3])
    }

    @Test func `a file that was changed after its proof is not removed`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 1)
        scene.live()
        let segment = try #require(try scene.segments("s").first)
        let path = scene.layout.segment(segment)
        let bytes = try FileSystem.read(path, limit: 1 << 20)
        try FileSystem.replace(path, with: bytes + [0, 0, 0, 8] + Array("free".utf8))
        #expect(try LocalCopyRemoval.remove(segment, in: scene.layout) == .changed)
        scene.live(also: [.evict(segment)])
        #expect(FileSystem.exists(path))
        scene.expectProven(segment, with: path)
    }

    @Test func `protected sessions keep their local copies`() throws {
        let scene = UploadScene()
        try scene.archive.addSession("s", segments: 1)
        scene.live()
        let segment = try #require(try scene.segments("s").first)
        try FileSystem.replace(scene.layout.protection("s"), with: [])
        #expect(try LocalCopyRemoval.remove(segment, in: scene.layout) == .protected)
        #expect(FileSystem.exists(scene.layout.segment(segment)))
    }
}

extension UploadScene {
    /// Expects all segments of the session `s` that are on the disk in the store, and a moved one too.
    func expectStoredBesides(_ moved: SegmentKey) throws {
        for segment in try segments("s") { expectProven(segment, with: layout.segment(segment)) }
        #expect(bucket.objects[moved.description] != nil)
    }
}
