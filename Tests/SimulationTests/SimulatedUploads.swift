import Archive
import Media
import ObjectStore
import Synchronization
import TestSpools
import TestStores

@testable import CollectorCore
@testable import Uploading

/// The simulation's time, for uploads.
final class SharedTime: Sendable {
    private let nanoseconds = Mutex<Int64>(0)

    var now: Int64 {
        get { nanoseconds.withLock { $0 } }
        set { nanoseconds.withLock { $0 = newValue } }
    }
}

/// The work of a collector's upload threads, one step at a time. It ends with its collector.
struct SimulatedUploads {
    private let desk: UploadBoard
    private var worker: UploadWorker
    let records: StoredRecords
    private let time: SharedTime

    init(_ layout: ArchiveLayout, to bucket: SimulatedBucket, time: SharedTime, seed: UInt64) {
        self.time = time
        let surroundings = Self.surroundings(time, seed: seed)
        records = StoredRecords(layout, now: { time.now }) { _ in }
        desk = UploadBoard(UploadQueue(random: surroundings.random))
        let figures = UploadFigures()
        var hooks = UploadHooks(log: { _, _ in })
        hooks.records = records
        worker = UploadWorker(
            Self.place(layout, bucket, surroundings, figures), desk: desk, figures: figures,
            hooks: hooks)
    }

    /// Performs up to `most` steps, optionally surveying the archive first.
    mutating func work(_ most: Int, looks: Bool) {
        if looks { desk.state.withLock { _ = $0.surveys.insert(nil) } }
        for _ in 0..<most {
            guard case .worked = worker.turn() else { return }
        }
    }

    static func place(
        _ layout: ArchiveLayout, _ bucket: SimulatedBucket, time: SharedTime, seed: UInt64
    ) -> UploadTarget {
        place(layout, bucket, surroundings(time, seed: seed), UploadFigures())
    }

    private static func place(
        _ layout: ArchiveLayout, _ bucket: SimulatedBucket, _ surroundings: UploadSurroundings,
        _ figures: UploadFigures
    ) -> UploadTarget {
        var settings = UploadSettings()
        // Small, so that segments have several parts.
        settings.partBytes = 20_000
        return UploadTarget(
            bucket, layout, settings: settings, surroundings: surroundings, figures: figures)
    }

    private static func surroundings(_ time: SharedTime, seed: UInt64) -> UploadSurroundings {
        let random = Mutex(SeededGenerator(seed: seed))
        return UploadSurroundings(
            now: { time.now }, utc: { UTCTime(nanoseconds: SystemSimulation.utc + time.now) },
            sleep: { _ in }, random: { random.withLock { $0.next() } })
    }
}
