import Archive
import Foundation
import Logging
import Media
import TestDisks
import TestStores
import Testing

@testable import CollectorCore
@testable import Uploading

/// A takeover from the bucket on a disk that fails meanwhile, then a collector started with other options.
@Suite struct TakeOverCrashTests {
    private static let zero = UTCTime(nanoseconds: 1_790_000_000_000_000_000)
    private static let spool = SpoolID(high: 3, low: 3)

    /// A session with two segments of ten records each, and a gap of two.
    private static func bucket() -> SimulatedBucket {
        let bucket = SimulatedBucket()
        var manifest = SessionManifest(
            session: "s", zero: zero, zeroMonotonicNanoseconds: 0, startAt: .firstSample,
            startWindowNanoseconds: 0, segmentNanoseconds: 10_000_000_000, software: "test")
        manifest.sources = [
            .init(name: "camera", agent: "box", address: "", tracks: [], isComplete: false)
        ]
        bucket.replace("s/session.json", with: manifest.encoded())
        bucket.replace("s/notes.json", with: Array("{}".utf8))
        var gap = LedgerEntry(kind: .gap, at: zero)
        gap.spool = spool.description
        gap.ranges = [[21, 22]]
        bucket.replace("s/camera/ledger.jsonl", with: Ledger.line(gap))
        for index in 0..<2 {
            let origin = UTCTime(nanoseconds: zero.nanoseconds + Int64(index) * 10_000_000_000)
            let name = "\(origin.fileName).mp4"
            let media = [UInt8](repeating: UInt8(index), count: 100)
            bucket.replace("s/camera/\(name)", with: media)
            let digest = Digest(of: media)
            let proof = """
                {"format": 1, "session": "s", "source": "camera", "segment": "\(name)",
                 "sizeBytes": 100, "revision": 0, "partBytes": 1000, "parts": ["\(digest)"],
                 "digest": "\(SegmentProof.digest(of: [digest]))", "store": "\(bucket.name)",
                 "records": [{"spool": "\(spool)", "ranges": [[\(index * 10 + 1), \(index * 10 + 10)]]}],
                 "tag": \(quoted(bucket.objects["s/camera/\(name)"]?.tag ?? "")),
                 "modifiedNanoseconds": 1, "at": "\(zero)"}
                """
            bucket.replace("s/camera/\(name).json", with: Array(proof.utf8))
        }
        return bucket
    }

    private static func quoted(_ text: String) -> String {
        "\"\(text.replacing("\"", with: "\\\""))\""
    }

    /// An empty directory.
    private final class Directory {
        let path = "/tmp/tributary-test-\(UUID().uuidString)"
        init() throws { try FileSystem.makeDirectories(path) }
        deinit { try? FileSystem.removeTree(path) }
    }

    private func takeOver(_ bucket: SimulatedBucket, _ layout: ArchiveLayout) throws(UploadError) {
        let place = SimulatedUploads.place(layout, bucket, time: SharedTime(), seed: 1)
        var attempt = ArchiveTakeOver(
            from: place, now: Self.zero, idleTimeoutNanoseconds: 0, connections: 1)
        let outcome = try attempt.run()
        #expect(outcome.problems.isEmpty)
    }

    private func expectComplete(_ layout: ArchiveLayout, _ comment: Comment) throws {
        #expect(try !ArchiveTakeOver.isNeeded(layout), comment)
        #expect(
            FileSystem.exists("\(layout.session("s"))/notes.json"), comment)
        let archive = try ArchiveRecovery.run(
            layout, now: Self.zero, idleTimeoutNanoseconds: 0)
        #expect(archive.session != nil, comment)
        #expect(archive.spools["camera"]?.first?.sequences == SequenceSet(upTo: 22), comment)
        #expect(archive.notes.allSatisfy { $0.level == .info }, comment)
    }

    @Test func `everything is durable before the mark is removed`() throws {
        for seed in 0..<40 as Range<UInt64> {
            let directory = try Directory()
            let disk = FaultyDisk(root: directory.path, seed: seed)
            let layout = ArchiveLayout(root: directory.path, on: disk)
            try takeOver(Self.bucket(), layout)
            disk.cutPower()
            try expectComplete(layout, "seed \(seed)")
        }
    }

    @Test(arguments: [false, true])
    func `killed or without power between any two changes of the disk, it is begun again`(
        _ losesPower: Bool
    ) throws {
        var isWhole = false
        for count in 1...200 where !isWhole {
            for seed in 0..<4 as Range<UInt64> {
                let directory = try Directory()
                let disk = FaultyDisk(root: directory.path, seed: seed)
                let layout = ArchiveLayout(root: directory.path, on: disk)
                let bucket = Self.bucket()
                disk.stop(afterOperations: count)
                do {
                    try takeOver(bucket, layout)
                    isWhole = true
                } catch {
                    #expect(disk.isDead)
                }
                if losesPower { disk.cutPower() } else { disk.restart() }
                if try ArchiveTakeOver.isNeeded(layout) { try takeOver(bucket, layout) }
                try expectComplete(layout, "change \(count), seed \(seed)")
            }
        }
        #expect(isWhole)
    }

    @Test func `a take-over succeeds after disk errors`() throws {
        let bucket = Self.bucket()
        for seed in 0..<20 as Range<UInt64> {
            let directory = try Directory()
            let disk = FaultyDisk(root: directory.path, seed: seed)
            let layout = ArchiveLayout(root: directory.path, on: disk)
            disk.setFaults(oneIn: 6)
            do {
                try takeOver(bucket, layout)
            } catch {
                guard case .archive = error else { throw error }
            }
            disk.setFaults(oneIn: nil)
            if try ArchiveTakeOver.isNeeded(layout) { try takeOver(bucket, layout) }
            try expectComplete(layout, "seed \(seed)")
        }
    }

    private func collector(
        _ archive: String, _ change: (inout CollectorSettings) -> Void
    ) throws -> Collector {
        var settings = CollectorSettings(
            endpoint: "tcp://127.0.0.1:*", archive: archive, segmentNanoseconds: 1_000_000_000,
            startAt: .firstSample, startWindowNanoseconds: 0, endsWithSession: false,
            changeable: ChangeableSettings(idleTimeoutNanoseconds: 0), software: "test")
        change(&settings)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return try Collector(settings: settings, logger: logger) { _ in }
    }

    @Test func `a partial take-over cannot be recorded into without its store`() throws {
        let directory = try Directory()
        let layout = ArchiveLayout(root: directory.path)
        let bucket = Self.bucket()
        // The listings, then the description: the mark exists.
        bucket.fail(.cut, after: 5)
        #expect(throws: UploadError.self) { try takeOver(bucket, layout) }
        #expect(try ArchiveTakeOver.unfinished(in: layout) == bucket.name)
        let store = StoreSettings(bucket: bucket)
        let otherwise: [(inout CollectorSettings) -> Void] = [
            { _ in }, { $0.store = store }, { $0.release = .stored },
        ]
        for (index, change) in otherwise.enumerated() {
            let collector = try collector(directory.path, change)
            // Ends it even if it records.
            let ending = Task.detached {
                try? await Task.sleep(for: .seconds(2))
                collector.stop(endsSession: true)
            }
            do throws(CollectorError) {
                _ = try collector.run()
                Issue.record("it recorded: \(index)")
            } catch {
                #expect(
                    error.description.contains("half taken over from s3://test/archive"),
                    "\(index)")
                #expect(error.description.contains("--release stored"))
            }
            ending.cancel()
        }
        try takeOver(bucket, layout)
        try expectComplete(layout, "afterwards")
    }

    @Test func `a collector that waits for its store can be stopped`() async throws {
        let directory = try Directory()
        let bucket = Self.bucket()
        bucket.failAlways(.cut)
        let collector = try collector(directory.path) {
            $0.store = StoreSettings(bucket: bucket)
            $0.release = .stored
        }
        let run = Task.detached { try collector.run() }
        while bucket.requests < 2 { try await Task.sleep(for: .milliseconds(10)) }
        collector.stop(endsSession: true)
        // One request may be in flight.
        let requests = bucket.requests + 1
        #expect(try await run.value.failures.isEmpty)
        #expect(bucket.requests <= requests)
    }

    @Test func `a proof's statement about earlier records ends with its own records`() throws {
        let bucket = Self.bucket()
        let key = try #require(bucket.objects.keys.first { $0.hasSuffix(".mp4.json") })
        var proof = try SegmentProof.parse(
            try #require(bucket.objects[key]).bytes, path: key)
        proof.records[0].ranges = [[11, 20]]
        for (through, expected) in [(5 as UInt64, 5 as UInt64), (1 << 40, 20)] {
            proof.storedThrough = [Self.spool.description: through]
            let records = StoredRecords(ArchiveLayout(root: "/tmp"), now: { 0 }) { _ in }
            records.proven(proof, isNew: false)
            #expect(records.take().first?.sequences.watermark == expected)
            #expect(records.take().isEmpty)
        }
    }
}
