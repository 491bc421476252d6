import Archive
import Media
import Synchronization
import TestRecordings
import TestSpools
import TestStores
import Testing

@testable import Uploading

/// A clock that advances only with sleeps.
final class VirtualClock: Sendable {
    private let nanoseconds = Mutex<Int64>(1_000_000_000_000)

    var now: Int64 { nanoseconds.withLock { $0 } }

    func sleep(_ duration: Int64) { nanoseconds.withLock { $0 += max(0, duration) } }

    func advance(to time: Int64) { nanoseconds.withLock { $0 = max($0, time) } }
}

/// An archive on disk, a simulated store, and an uploader whose program can be killed before each of its steps.
final class UploadScene: Sendable {
    /// Small, so that a segment of some kilobytes has several parts.
    static let partBytes: Int64 = 600

    struct Log: Sendable {
        var lines: [String] = []
        var stored: [String] = []
        /// Steps begun, over all lives.
        var steps: [UploadStep] = []
    }

    let archive = SmallArchive()
    let bucket: SimulatedBucket
    let clock = VirtualClock()
    let log = Mutex(Log())
    let settings: UploadSettings
    private let random: Mutex<SeededGenerator>
    /// Whether this program is the one that removes from the store.
    let mayRemove = Mutex<@Sendable (UploadStep?) -> Bool>({ _ in true })
    /// Number of steps that may still begin; nil: any number.
    private let life = Mutex<Int?>(nil)

    var layout: ArchiveLayout { archive.layout }

    init(
        seed: UInt64 = 1, returnsDigests: Bool = true, listsDigests: Bool = true,
        readBack: UploadSettings.ReadBack = .sample, partBytes: Int64 = UploadScene.partBytes,
        partsAtOnce: Int = 1, beforePart: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        bucket = SimulatedBucket(
            returnsDigests: returnsDigests, listsDigests: listsDigests, beforePart: beforePart)
        random = Mutex(SeededGenerator(seed: seed))
        var settings = UploadSettings()
        settings.partBytes = partBytes
        settings.readBack = readBack
        // Requests in sequence, so that a test can select the failing one.
        settings.partsAtOnce = partsAtOnce
        self.settings = settings
    }

    var lines: [String] { log.withLock { $0.lines } }
    var stored: [String] { log.withLock { $0.stored } }
    var steps: [UploadStep] { log.withLock { $0.steps } }

    /// The segments on the disk, by path in the archive.
    func segments(_ session: String) throws -> [SegmentKey] {
        let owner = SourceKey(session: session, source: "camera")
        return try layout.segmentNames(owner).compactMap { SegmentKey(owner, fileName: $0) }
    }

    /// A program's life, which begins with a survey of the archive.
    /// - Parameter steps: number of steps after which it is killed; nil: until everything is done.
    /// - Returns: whether it was killed.
    @discardableResult
    func live(steps: Int? = nil, also work: [UploadWork] = []) -> Bool {
        life.withLock { $0 = steps }
        let surroundings = surroundings
        let figures = UploadFigures()
        let desk = UploadBoard(UploadQueue(random: surroundings.random))
        desk.state.withLock { state in
            _ = state.surveys.insert(nil)
            for work in work { state.queue.add(work, now: clock.now) }
        }
        var worker = UploadWorker(
            UploadTarget(
                bucket, layout, settings: settings, surroundings: surroundings, figures: figures),
            desk: desk, figures: figures, hooks: hooks)
        for _ in 0..<10_000 {
            switch worker.turn() {
            case .worked: continue
            case .stopped: return true
            case .idle(let until):
                guard let until, !desk.state.withLock({ $0.queue.isIdle }) else { return false }
                clock.advance(to: until)
            }
        }
        Issue.record("the uploader never came to an end")
        return false
    }

    var surroundings: UploadSurroundings {
        UploadSurroundings(
            now: { [clock] in clock.now },
            utc: { [clock] in
                UTCTime(nanoseconds: SmallArchive.zero.nanoseconds + clock.now)
            }, sleep: { [clock] in clock.sleep($0) },
            random: { [self] in random.withLock { $0.next() } },
            mayRemove: { [self] in mayRemove.withLock { $0 }(steps.last) },
            checkpoint: { [self] step throws(UploadStop) in
                let isOver = life.withLock { left in
                    guard let more = left else { return false }
                    left = more - 1
                    return more <= 0
                }
                if isOver { throw UploadStop() }
                log.withLock { $0.steps.append(step) }
            })
    }

    /// The collector's disk thread, with its permission check.
    var hooks: UploadHooks {
        UploadHooks(
            log: { [self] _, line in log.withLock { $0.lines.append(line) } },
            stored: { [self] segment, _ in
                log.withLock { $0.stored.append(segment.description) }
            },
            evict: { [self] segment in
                expectProven(segment, with: layout.segment(segment))
                do {
                    #expect(try LocalCopyRemoval.remove(segment, in: layout) == nil)
                } catch {
                    Issue.record(error)
                }
            },
            forget: { [self] expired in
                let key = expired.segment.key?.description ?? ""
                #expect(bucket.objects[key] == nil && bucket.objects[key + ".json"] == nil)
                do {
                    try forget(expired)
                } catch {
                    Issue.record(error)
                }
            })
    }

    private func forget(_ expired: ExpiredSegment) throws(ArchiveError) {
        let path = expired.segment.path
        let owner = expired.segment.owner
        let session = owner.session
        if FileSystem.exists(path) {
            try SegmentRemoval.remove(
                path, cause: expired.cause.rawValue, now: SmallArchive.zero
            ) { lines throws(ArchiveError) in try archive.append(lines, session: session)
            }
        } else if let segment = expired.segment.key,
            let proof = try SegmentProof.read(segment, in: layout)
        {
            try SegmentRemoval.remove(
                proof, of: path, cause: expired.cause.rawValue,
                ledger: Ledger.read(layout.ledger(owner)), now: SmallArchive.zero
            ) { lines throws(ArchiveError) in try archive.append(lines, session: session)
            }
        }
    }

    /// Expects the store to have a segment as in its file, with a matching proof.
    func expectProven(
        _ segment: SegmentKey, with path: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let key = "\(segment.session)/\(segment.source)/\(segment.fileName)"
        do {
            let file = try FileSystem.read(path, limit: 1 << 20)
            #expect(bucket.objects[key]?.bytes == file, sourceLocation: sourceLocation)
            let bytes = try #require(
                bucket.objects[SegmentCompanion.proof.path(of: key)], sourceLocation: sourceLocation
            ).bytes
            let proof = try SegmentProof.parse(bytes, path: key)
            #expect(proof.sizeBytes == Int64(file.count), sourceLocation: sourceLocation)
            #expect(proof.tag == bucket.objects[key]?.tag, sourceLocation: sourceLocation)
            for (index, digest) in proof.parts.enumerated() {
                let range = proof.range(ofPart: index)
                let part = Array(file[Int(range.lowerBound)..<Int(range.upperBound)])
                #expect(digest == Digest(of: part).description, sourceLocation: sourceLocation)
            }
            #expect(
                try SegmentProof.read(segment, in: layout)?.digest == proof.digest,
                sourceLocation: sourceLocation)
        } catch {
            Issue.record(error, sourceLocation: sourceLocation)
        }
    }

    /// Expects everything of a session in the store, and nothing else of it.
    func expectStored(
        _ session: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        var wanted: Set<String> = ["\(session)/session.json"]
        for segment in try segments(session) {
            expectProven(segment, with: layout.segment(segment), sourceLocation: sourceLocation)
            wanted.insert(segment.description)
            wanted.insert(segment.path(.proof))
            #expect(
                !FileSystem.exists(layout.path(of: segment, .upload)),
                sourceLocation: sourceLocation)
        }
        if FileSystem.exists(layout.ledger(session, "camera")) {
            wanted.insert("\(session)/camera/ledger.jsonl")
        }
        let found = Set(bucket.objects.keys.filter { $0.hasPrefix("\(session)/") })
        #expect(found == wanted, sourceLocation: sourceLocation)
    }

    func expired(_ segment: SegmentKey) -> ExpiredSegment {
        ExpiredSegment(
            segment: ArchivedSegment(
                segment.owner, path: layout.segment(segment), sizeBytes: 1,
                ended: SmallArchive.zero, isProtected: false, isOpen: false, place: .diskAndStore),
            cause: .age)
    }
}
