import Archive
import Dispatch
import Foundation
import Media
import Synchronization
import Testing
import Wire

@testable import CollectorCore

private let second: Int64 = 1_000_000_000

/// A disk that accepts operations, and does not answer.
@Suite struct HangingDiskTests {
    /// The kernel's disk, on which the test decides how long it takes to make a directory's names durable.
    private final class SlowDisk: Disk {
        private let system = SystemDisk()
        private let wait: @Sendable () -> Void

        init(wait: @escaping @Sendable () -> Void) { self.wait = wait }

        func synchronizeDirectory(_ path: String) -> Int32 {
            wait()
            return system.synchronizeDirectory(path)
        }

        func open(_ path: String, flags: Int32, mode: UInt32) -> Int32 {
            system.open(path, flags: flags, mode: mode)
        }
        func close(_ descriptor: Int32) { system.close(descriptor) }
        func write(
            _ descriptor: Int32, _ parts: ArraySlice<UnsafeRawBufferPointer>, at offset: Int64
        ) -> Int { system.write(descriptor, parts, at: offset) }
        func truncate(_ descriptor: Int32, to sizeBytes: Int64) -> Int32 {
            system.truncate(descriptor, to: sizeBytes)
        }
        func synchronize(_ descriptor: Int32) -> Int32 { system.synchronize(descriptor) }
        func startWriteback(_ descriptor: Int32, from offset: Int64, count: Int64) {
            system.startWriteback(descriptor, from: offset, count: count)
        }
        func synchronizeFileSystem(of directory: String) -> Int32 {
            system.synchronizeFileSystem(of: directory)
        }
        func forget(_ descriptor: Int32, from offset: Int64) {
            system.forget(descriptor, from: offset)
        }
        func makeDirectory(_ path: String) -> Int32 { system.makeDirectory(path) }
        func rename(_ path: String, to new: String) -> Int32 { system.rename(path, to: new) }
        func unlink(_ path: String) -> Int32 { system.unlink(path) }
        func removeDirectory(_ path: String) -> Int32 { system.removeDirectory(path) }
    }

    private func inArchive(
        on disk: SlowDisk, _ body: (ArchiveLayout, FreeSpace) throws -> Void
    ) throws {
        let root = NSTemporaryDirectory() + "tributary-\(UUID().uuidString)"
        try FileSystem.makeDirectories(root)
        try body(
            ArchiveLayout(root: root, on: disk), FreeSpace(reserveBytes: 0, directory: root))
        try FileManager.default.removeItem(atPath: root)
    }

    @Test func `an operation without an answer for four seconds is a hang`() throws {
        let begun = DispatchSemaphore(value: 0)
        let answered = DispatchSemaphore(value: 0)
        let disk = SlowDisk {
            begun.signal()
            answered.wait()
            answered.signal()
        }
        try inArchive(on: disk) { layout, space in
            let meter = DiskStatistics()
            let writer = DiskWriter(layout: layout, space: space, spine: Spine(), meter: meter) {}
            writer.start()
            writer.submit([.beginSession("session")])
            #expect(begun.wait(timeout: .now() + 10) == .success)
            let now = SystemClock.monotonic.nowNanoseconds
            #expect(!meter.isHanging(now: now + 3 * second))
            #expect(meter.isHanging(now: now + 4 * second))
            answered.signal()
            writer.stop()
            #expect(!meter.isHanging(now: .max))
        }
    }

    @Test func `a slow disk with many files does not hang`() throws {
        let clock = Atomic<Int64>(second)
        let meter = DiskStatistics { clock.load(ordering: .relaxed) }
        let found = Mutex<[Bool]>([])
        let disk = SlowDisk {
            let now = clock.add(3 * second, ordering: .relaxed).newValue
            found.withLock { $0.append(meter.isHanging(now: now)) }
        }
        try inArchive(on: disk) { layout, space in
            var worker = DiskWorker(layout: layout, space: space, meter: meter)
            worker.perform(.beginSession("session"))
            worker.perform(.beginSource(SourceKey(session: "session", source: "camera")))
            worker.commit()
        }
        let answers = found.withLock { $0 }
        #expect(answers.count > 1)
        #expect(!answers.contains(true))
    }

    @Test func `an operation that may take long is not a hang`() {
        let meter = DiskStatistics { second }
        meter.beginOperation()
        #expect(meter.isHanging(now: 5 * second))
        meter.beginOperation(mayTakeLong: true)
        #expect(!meter.isHanging(now: 60 * second))
    }

    @Test func `agents with another collector are sent there while the disk does not answer`() {
        var engine = CollectorEngine(
            settings: SessionSettings(
                layout: ArchiveLayout(root: "/archive"), startAt: .firstSample,
                segmentNanoseconds: 600 * second, idleTimeoutNanoseconds: 0, software: "test"),
            recovered: RecoveredArchive(), host: HostClock(boot: "this"),
            at: SessionHarness.instant(second))
        func greet(_ number: UInt8, hasOthers: Bool) {
            var hello = Hello(
                software: "agent", agent: "box", spool: .random(),
                epochs: [Epoch(number: 1, identity: .random())],
                sources: [
                    SourceOffer(
                        name: "camera\(number)", tracks: [DiskScene.format], firstSequence: 1)
                ])
            hello.statement.hasOthers = hasOthers
            engine.receive(
                IncomingMessage(
                    peer: PeerID([number]), address: "10.0.0.\(number)",
                    header: WireMessage.hello(hello).encoded(), payloadSizeBytes: nil),
                payload: nil, at: SessionHarness.instant(second))
        }
        /// Peers that were refused since the last call, and why.
        func refused() -> [PeerID: RefusalReason] {
            var refused: [PeerID: RefusalReason] = [:]
            for (peer, header) in engine.takeOutgoing() {
                guard case .refusal(let refusal)? = try? WireMessage(decoding: header) else {
                    continue
                }
                refused[peer] = refusal.reason
            }
            return refused
        }
        greet(1, hasOthers: true)
        greet(2, hasOthers: false)
        engine.tick(at: SessionHarness.instant(2 * second))
        #expect(refused().isEmpty)
        engine.setDiskHanging(true)
        engine.tick(at: SessionHarness.instant(3 * second))
        #expect(refused() == [PeerID([1]): .elsewhere])
        greet(3, hasOthers: true)
        greet(4, hasOthers: false)
        #expect(refused() == [PeerID([3]): .elsewhere])
        // Whether it is ready is a matter of half a minute: with one collector, agents wait.
        #expect(engine.trouble == nil)
        engine.setDiskHanging(false)
        engine.tick(at: SessionHarness.instant(4 * second))
        greet(5, hasOthers: true)
        #expect(refused().isEmpty)
        let lines = engine.takeLines().map(\.text)
        #expect(lines.count { $0.hasPrefix("the disk does not answer: agents") } == 1)
        #expect(lines.count { $0 == "the disk answers again" } == 1)
    }
}
