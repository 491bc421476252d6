import Archive
import Foundation
import Glibc
import Media
import Synchronization
import TestDisks
import TestSpools
import Testing

/// Marks in fragments of their file's durable part, on a disk that loses power.
@Suite struct DurableMarkTests {
    /// Every second `fdatasync` of a file returns before anything is durable.
    private final class HastyDisk: Disk {
        private let disk: FaultyDisk
        private let calls = Mutex<[Int32: Int]>([:])

        init(_ disk: FaultyDisk) { self.disk = disk }

        /// Whether the last `synchronize` of a file has made it durable.
        func isHonest(_ descriptor: Int32) -> Bool {
            calls.withLock { $0[descriptor, default: 0] % 2 == 1 }
        }

        func synchronize(_ descriptor: Int32) -> Int32 {
            calls.withLock { $0[descriptor, default: 0] += 1 }
            return isHonest(descriptor) ? disk.synchronize(descriptor) : 0
        }

        func open(_ path: String, flags: Int32, mode: UInt32) -> Int32 {
            let descriptor = disk.open(path, flags: flags, mode: mode)
            calls.withLock { $0[descriptor] = nil }
            return descriptor
        }

        func close(_ descriptor: Int32) { disk.close(descriptor) }
        func write(
            _ descriptor: Int32, _ parts: ArraySlice<UnsafeRawBufferPointer>, at offset: Int64
        ) -> Int { disk.write(descriptor, parts, at: offset) }
        func truncate(_ descriptor: Int32, to sizeBytes: Int64) -> Int32 {
            disk.truncate(descriptor, to: sizeBytes)
        }
        func startWriteback(_ descriptor: Int32, from offset: Int64, count: Int64) {
            disk.startWriteback(descriptor, from: offset, count: count)
        }
        func synchronizeFileSystem(of directory: String) -> Int32 {
            disk.synchronizeFileSystem(of: directory)
        }
        func forget(_ descriptor: Int32, from offset: Int64) {
            disk.forget(descriptor, from: offset)
        }
        func synchronizeDirectory(_ path: String) -> Int32 { disk.synchronizeDirectory(path) }
        func makeDirectory(_ path: String) -> Int32 { disk.makeDirectory(path) }
        func rename(_ path: String, to new: String) -> Int32 { disk.rename(path, to: new) }
        func unlink(_ path: String) -> Int32 { disk.unlink(path) }
        func removeDirectory(_ path: String) -> Int32 { disk.removeDirectory(path) }
    }

    private typealias Scene = RecoveryScene

    /// Records a file with power cuts at random, and resumes it after each.
    /// - Parameter isHasty: marks lie, and nothing else: what is promised to agents is counted honestly.
    /// - Returns: the errors.
    private func run(_ seed: UInt64, isHasty: Bool) throws -> [String] {
        let root = NSTemporaryDirectory() + "tributary-mark-\(UUID().uuidString)"
        mkdir(root, 0o755)
        defer {
            do {
                try FileManager.default.removeItem(atPath: root)
            } catch {
                print("left behind \(root): \(error)")
            }
        }
        var random = SeededGenerator(seed: seed)
        let disk = FaultyDisk(root: root, seed: random.next())
        let hasty = HastyDisk(disk)
        let layout = ArchiveLayout(root: root, on: isHasty ? hasty : disk)
        let session = Scene.zero.fileName
        let source = layout.source(session, "camera")
        try FileSystem.makeDirectories(source, on: disk)
        try FileSystem.replace(
            layout.manifest(session), with: Scene.manifest(session).encoded(), on: disk)
        let plan = SegmentPlan(
            originNanoseconds: 0,
            tracks: [.init(format: Scene.format, originTicks: 0, shiftTicks: 0)])
        var path = layout.segment(session, "camera", origin: Scene.zero)
        var count = 0
        var open: UnfinishedSegment?
        for round in 0..<5 {
            let writer =
                try open.map { try SegmentWriter(continuing: $0, on: layout.disk) }
                ?? SegmentWriter(path: path, plan: plan, sessionZero: Scene.zero, on: layout.disk)
            var durable = open == nil ? 0 : count
            var calls = open == nil ? 1 : 0
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                try writer.append(
                    Scene.fragment(
                        count, bytesPerPicture: .random(in: 25...3_000, using: &random)))
                count += 1
                guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
                try writer.synchronize()
                try FileSystem.synchronizeDirectory(source, on: disk)
                calls += 1
                if !isHasty || calls % 2 == 1 { durable = count }
            }
            disk.cutPower()
            let archive = try ArchiveRecovery.run(
                layout, now: Scene.zero, idleTimeoutNanoseconds: 0)
            open = archive.session?.sources.first?.open
            let found = Int(open?.fragments ?? 0)
            if found < durable { return ["round \(round): \(durable) were durable, not \(found)"] }
            count = found
            guard let open else { continue }
            path = open.path
            let flaws = FileVerifier.verify(path).report.findings.filter(\.severity.isDamage)
            if !flaws.isEmpty { return ["round \(round): \(flaws[0].text)"] }
            if archive.spools["camera"]?.first?.sequences.watermark != UInt64(10 * found) {
                return ["round \(round): other records than those of \(found) fragments"]
            }
        }
        return []
    }

    @Test func `everything that recovery keeps after a power cut is complete`() throws {
        for seed in 0..<UInt64(Sweep.isWhole ? 500 : 60) {
            #expect(try run(seed, isHasty: false) == [], "seed \(seed)")
        }
    }

    @Test func `a mark that is written before its fdatasync is found out`() throws {
        var found: UInt64?
        for seed in 0..<200 as Range<UInt64> where found == nil {
            if try !run(seed, isHasty: true).isEmpty { found = seed }
        }
        #expect(found != nil)
    }

    /// A file of some fragments, of which the first were synchronised.
    private func scene(fragments: Int, durable: Int) throws -> (scene: Scene, media: [Range<Int>]) {
        let scene = try Scene()
        try scene.writeManifest()
        let plan = SegmentPlan(
            originNanoseconds: 0,
            tracks: [.init(format: Scene.format, originTicks: 0, shiftTicks: 0)])
        let writer = try SegmentWriter(
            path: scene.path(0), plan: plan, sessionZero: Scene.zero)
        var media: [Range<Int>] = []
        for index in 0..<fragments {
            try writer.append(Scene.fragment(index))
            media.append(Int(writer.sizeBytes) - 250..<Int(writer.sizeBytes))
            if index + 1 == durable { try writer.synchronize() }
        }
        return (scene, media)
    }

    private func flip(_ byte: Int, of scene: Scene) throws {
        var bytes = try scene.bytes(scene.path(0))
        bytes[byte] ^= 1
        try FileSystem.replace(scene.path(0), with: bytes)
    }

    @Test func `media after the mark are read again, media before it are not`() throws {
        for (index, kept) in [(3, 12), (8, 8), (11, 11)] {
            let (scene, media) = try scene(fragments: 12, durable: 6)
            try flip(media[index].lowerBound + 40, of: scene)
            let open = try #require(try scene.recover().session?.sources.first?.open)
            #expect(Int(open.fragments) == kept, "fragment \(index)")
        }
    }

    /// Fragment 6 is the first with the mark, but its head is covered only by fragment 7.
    @Test func `the last fragment's own mark is not used`() throws {
        for (fragments, kept) in [(7, 3), (8, 8)] {
            let (scene, media) = try scene(fragments: fragments, durable: 6)
            try flip(media[3].lowerBound + 40, of: scene)
            let open = try #require(try scene.recover().session?.sources.first?.open)
            #expect(Int(open.fragments) == kept, "\(fragments) fragments")
        }
    }
}
