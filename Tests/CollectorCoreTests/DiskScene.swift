import Archive
import Catalog
import Foundation
import Media
import TestDisks

@testable import CollectorCore

/// Two sources in one session on a disk with injectable faults.
final class DiskScene {
    static let format = TrackFormat.video(
        .h264(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ],
            pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16))
    static let zero = UTCTime(nanoseconds: 1_800_000_000_000_000_000)
    static let spool = SpoolID(high: 7, low: 7)

    let disk: FaultyDisk
    let layout: ArchiveLayout
    var worker: DiskWorker
    private(set) var events: [DiskEvent] = []
    let spine = Spine()
    let listener = SpineListener([.sessions, .segments, .ledgers], capacity: 64)
    var follower: CatalogFollower?
    private(set) var reports: [CatalogReport] = []
    /// The follower's clock.
    var now = ContinuousClock.now

    /// - Parameter keepsCatalog: and a session's description, without which there is nothing to index.
    init(keepsCatalog: Bool = false) throws {
        let root = NSTemporaryDirectory() + "tributary-\(UUID().uuidString)"
        try FileSystem.makeDirectories(root)
        disk = FaultyDisk(root: root, seed: 1)
        layout = ArchiveLayout(root: root, on: disk)
        worker = DiskWorker(
            layout: layout, space: FreeSpace(reserveBytes: 0, directory: root),
            spine: spine)
        if keepsCatalog {
            spine.add(listener)
            follower = CatalogFollower(SQLiteCatalogLocation(layout), layout)
            worker.perform(.beginSession("session"))
            worker.perform(.describe(Self.manifest()))
        }
        for source in ["one", "two"] {
            worker.perform(.beginSource(SourceKey(session: "session", source: source)))
            open(1, of: source)
            append(1...2, to: 1, of: source)
        }
        worker.commit()
        hear()
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: layout.root)
        } catch {
            print("left behind \(layout.root): \(error)")
        }
    }

    static func manifest(
        _ session: String = "session", state: SessionManifest.State = .recording
    ) -> SessionManifest {
        var manifest = SessionManifest(
            session: session, zero: zero, zeroMonotonicNanoseconds: 0, startAt: .firstSample,
            startWindowNanoseconds: 0, segmentNanoseconds: 1_000_000_000, software: "test")
        manifest.state = state
        return manifest
    }

    func path(_ number: Int, of source: String) -> String { layout.segment(id(number, source)) }

    private func id(_ number: Int, _ source: String) -> SegmentKey {
        SegmentKey(
            SourceKey(session: "session", source: source),
            origin: Self.zero.advanced(by: Int64(number) * 1_000_000_000))
    }

    func open(_ number: Int, of source: String) { open(id(number, source)) }

    func open(_ id: SegmentKey) {
        let plan = SegmentPlan(
            originNanoseconds: id.origin.nanoseconds - Self.zero.nanoseconds,
            tracks: [.init(format: Self.format, originTicks: 0, shiftTicks: 0)])
        worker.perform(
            .open(id, plan, sessionZero: Self.zero))
    }

    /// A fragment of a picture for each record.
    func append(
        _ records: ClosedRange<UInt64>, to number: Int, of source: String, bytesEach: Int = 8,
        capturedNanoseconds: (UInt64) -> Int64 = { _ in 0 }
    ) {
        append(
            records, to: id(number, source), bytesEach: bytesEach,
            capturedNanoseconds: capturedNanoseconds)
    }

    func append(
        _ records: ClosedRange<UInt64>, to id: SegmentKey, bytesEach: Int = 8,
        capturedNanoseconds: (UInt64) -> Int64 = { _ in 0 }
    ) {
        let samples = records.map { record in
            PlannedSample(
                sizeBytes: UInt32(bytesEach), dts: Int64(record) * 3_000,
                pts: Int64(record) * 3_000,
                duration: 3_000, flags: .keyframe,
                agentDTSNanoseconds: capturedNanoseconds(record) - 10,
                appliedOffsetNanoseconds: 10)
        }
        let payload = TestPayload(count: bytesEach * records.count)
        let length = withUnsafeBytes(of: UInt32(bytesEach - 4).bigEndian) { Array($0) }
        for picture in 0..<records.count {
            UnsafeMutableRawBufferPointer(
                rebasing: payload.buffer[picture * bytesEach..<(picture + 1) * bytesEach]
            ).copyBytes(from: length + [0x65, 1, 2, 3])
        }
        let piece = PlannedPiece(
            payload: payload, range: 0..<bytesEach * records.count, digest: nil,
            runs: [
                PlannedRun(
                    track: .video, firstSequence: records.lowerBound, samples: samples)
            ])
        let context = FragmentContext(
            spool: Self.spool, epoch: EpochID(high: 3, low: 3),
            clock: .init(offsetNanoseconds: 0, boundNanoseconds: 0, skewPartsPerBillion: 0),
            collectorZeroNanoseconds: 0)
        worker.perform(
            .append(id, FragmentPlan(context: context, pieces: [piece])))
    }

    func finish(_ number: Int, of source: String) { worker.perform(.finish(id(number, source))) }

    func hear() {
        events += worker.takeEvents()
        guard follower?.isReady == true else { return }
        reports += follower?.follow(listener.take(), now: now) ?? []
    }

    /// Advances the catalog's clock.
    func pass(_ pause: Duration) {
        now += pause
        reports += follower?.follow(listener.take(), now: now) ?? []
    }

    /// How often the catalog was lost, and how often it was made.
    var catalogNews: (lost: Int, made: Int) {
        reports.reduce(into: (0, 0)) { news, report in
            if case .lost = report { news.0 += 1 }
            if case .made = report { news.1 += 1 }
        }
    }

    /// Paths reported stuck and not yet recovered.
    var stuckPaths: Set<String> {
        events.reduce(into: []) { paths, event in
            if case .stuck(let path, _) = event { paths.insert(path) }
            if case .unstuck(let path) = event { paths.remove(path) }
        }
    }

    /// Whether the archive was there, after each change.
    var attachments: [Bool] {
        events.compactMap {
            switch $0 {
            case .detached: false
            case .attached: true
            default: nil
            }
        }
    }

    /// A source's durable sequences.
    func persisted(_ source: String) -> [ClosedRange<UInt64>] {
        events.flatMap { event -> [ClosedRange<UInt64>] in
            guard case .persisted(let records) = event, records.source == source else {
                return []
            }
            return records.sequences
        }
    }

    var rescued: [RescuedSource] {
        events.compactMap { if case .rescued(let rescued) = $0 { rescued } else { nil } }
    }

    func report(_ number: Int, of source: String) -> FileReport {
        FileVerifier.verify(path(number, of: source)).report
    }
}
