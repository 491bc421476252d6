import Archive
import Foundation
import Media
import TestDisks

@testable import CollectorCore

/// Two sources in one session, on a disk that can be made to fail.
final class DiskScene {
    static let format = TrackFormat.h264(
        H264Format(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ],
            pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16))
    static let zero = UTCTime(nanoseconds: 1_800_000_000_000_000_000)
    static let spool = [UInt8](repeating: 7, count: 16)

    let disk: FaultyDisk
    let layout: ArchiveLayout
    var worker: DiskWorker<TestPayload>
    private(set) var events: [DiskEvent] = []

    /// - Parameter keepsCatalog: and a session's description, without which there is nothing to index.
    init(keepsCatalog: Bool = false) throws {
        let root = NSTemporaryDirectory() + "tributary-\(UUID().uuidString)"
        try FileSystem.makeDirectories(root)
        disk = FaultyDisk(root: root, seed: 1)
        layout = ArchiveLayout(root: root, on: disk)
        worker = DiskWorker(
            layout: layout, space: FreeSpace(reserveBytes: 0, directory: root),
            catalog: keepsCatalog ? .kept(try Catalog.open(layout)) : .notKept)
        if keepsCatalog {
            let manifest = SessionManifest(
                session: "session", zero: Self.zero, zeroMonotonicNanoseconds: 0,
                startAt: .firstSample, startWindowNanoseconds: 0,
                segmentNanoseconds: 1_000_000_000, software: "test")
            worker.perform(.makeDirectory(layout.session("session")))
            worker.perform(.manifest(path: layout.manifest("session"), manifest.encoded()))
        }
        for source in ["one", "two"] {
            worker.perform(.makeDirectory(layout.source("session", source)))
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

    func path(_ number: Int, of source: String) -> String {
        layout.segment(
            "session", source,
            origin: UTCTime(
                nanoseconds: Self.zero.nanoseconds + Int64(number) * 1_000_000_000))
    }

    private func id(_ number: Int, _ source: String) -> SegmentID {
        SegmentID(session: "session", source: source, number: number)
    }

    func open(_ number: Int, of source: String) {
        open(id(number, source), path: path(number, of: source))
    }

    func open(_ id: SegmentID, path: String) {
        let plan = SegmentPlan(
            originNanoseconds: 0,
            tracks: [.init(format: Self.format, originTicks: 0, shiftTicks: 0)])
        worker.perform(
            .open(id, path: path, plan: plan, sessionZero: Self.zero))
    }

    /// A fragment of a picture for each record.
    func append(_ records: ClosedRange<UInt64>, to number: Int, of source: String) {
        append(records, to: id(number, source))
    }

    func append(_ records: ClosedRange<UInt64>, to id: SegmentID) {
        let samples = records.map { record in
            PlannedSample(
                sizeBytes: 8, dts: Int64(record) * 3_000, pts: Int64(record) * 3_000,
                duration: 3_000, flags: .keyframe, agentDTSNanoseconds: 0,
                appliedOffsetNanoseconds: 0)
        }
        let payload = TestPayload(count: 8 * records.count)
        for picture in 0..<records.count {
            UnsafeMutableRawBufferPointer(
                rebasing: payload.buffer[picture * 8..<picture * 8 + 8]
            ).copyBytes(from: [0, 0, 0, 4, 0x65, 1, 2, 3])
        }
        let piece = PlannedPiece(
            payload: payload, range: 0..<8 * records.count, digest: nil,
            runs: [
                PlannedRun(
                    track: .video, firstSequence: records.lowerBound, samples: samples)
            ])
        let context = FragmentContext(
            spool: Self.spool, epoch: [UInt8](repeating: 3, count: 16),
            clock: .init(offsetNanoseconds: 0, boundNanoseconds: 0, skewPartsPerBillion: 0),
            collectorZeroNanoseconds: 0)
        worker.perform(
            .append(id, FragmentPlan(context: context, pieces: [piece])))
    }

    func finish(_ number: Int, of source: String) { worker.perform(.finish(id(number, source))) }

    func hear() { events += worker.takeEvents() }

    /// Lets the disk thread's time pass until there is a catalog again, or an attempt to make it has failed.
    func mendCatalog(after pause: Duration) {
        let now = ContinuousClock.now
        worker.mendCatalog(now: now)
        worker.mendCatalog(now: now + pause)
        worker.catalog.remaking?.wait()
        worker.mendCatalog(now: now + pause)
        hear()
    }

    /// How often the catalog was lost, and how often it was made again.
    var catalogNews: (lost: Int, made: Int) {
        events.reduce(into: (0, 0)) { news, event in
            if case .catalogLost = event { news.0 += 1 }
            if case .catalogMade = event { news.1 += 1 }
        }
    }

    /// What is said to be stuck, and not to be free again.
    var stuckPaths: Set<String> {
        events.reduce(into: []) { paths, event in
            if case .stuck(let path, _) = event { paths.insert(path) }
            if case .unstuck(let path) = event { paths.remove(path) }
        }
    }

    /// What is durable of a source.
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
