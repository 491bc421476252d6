import Archive
import Dispatch
import Logging
import Media
import ObjectStore
import Operations
import Uploading

/// Passes events of the spine to the ``Uploader``.
///
/// It has its own thread: neither the disk thread nor the receiving thread waits for it, and neither is used by the
/// uploading threads. Local copies are removed by the disk thread, like all removals.
final class ArchiveUploads: Sendable {
    /// Events that may be queued: an hour of a large site. Lost events are recovered by a scan of the archive.
    private static let capacity = 4_096
    /// Segments that are passed on after one survey: the next survey, half a minute later, finds the rest.
    private static let removalsTogether = 1_024
    /// Uploads pause when the disk thread has been busy for longer: recording has priority.
    private static let giveWaySeconds = 0.5

    private let uploader: Uploader
    private let events: SpineFollower
    private let name: String
    private let logger: Logger
    private let lease: LeaseKeeper?
    /// The records in the object store; nil: not tracked.
    let records: StoredRecords?

    /// - Parameters:
    ///   - countsRecords: whether to track the records in the object store.
    ///   - meter: measures how long the disk thread has been busy.
    ///   - lease: on removing from the store; nil: no other collector does so.
    ///   - remove: has the disk thread remove an item; called on an uploading thread.
    init(
        _ settings: StoreSettings, layout: ArchiveLayout, countsRecords: Bool, spine: Spine,
        meter: DiskStatistics, lease: LeaseKeeper?, logger: Logger,
        remove: @escaping @Sendable (Removal) -> Void
    ) {
        self.lease = lease
        self.logger = logger
        name = settings.bucket.name
        events = SpineFollower(spine, [.sessions, .segments], capacity: Self.capacity)
        records =
            countsRecords
            ? StoredRecords(layout, now: { SystemClock.utc.nowNanoseconds }) {
                logger.warning("\($0)")
            } : nil
        var hooks = UploadHooks(
            log: { level, line in
                switch level {
                case .info: logger.notice("\(line)")
                case .warning: logger.warning("\(line)")
                }
            },
            stored: { segment, proof in
                spine.publish([
                    .segmentStored(segment, sizeBytes: UInt64(clamping: proof.sizeBytes))
                ])
            },
            evict: { remove(.localCopy($0)) }, forget: { remove(.segment($0)) })
        hooks.records = records
        uploader = Uploader(
            layout, to: settings.bucket, settings: settings.upload, hooks: hooks,
            shutdown: settings.shutdown,
            mustGiveWay: {
                meter.busySeconds(now: SystemClock.monotonic.nowNanoseconds) > Self.giveWaySeconds
            }, mayRemove: { lease?.isHeld ?? true })
    }

    var status: StoreStatus {
        var status = StoreStatus(uploader.status, name: name)
        status.retention = lease?.status
        return status
    }

    /// Subscribes to the spine, and scans the archive.
    func start() {
        events.start("uploads", each: follow)
        uploader.start()
    }

    /// Waits until everything is in the store, or the store cannot be used.
    /// - Parameter isCancelled: whether to stop waiting.
    func drain(_ isCancelled: @escaping @Sendable () -> Bool) {
        follow(events.take())
        uploader.drain(isCancelled)
    }

    /// Ends the threads. Pending uploads are found at the next start.
    /// - Parameter deadline: of the wait for the threads.
    func stop(until deadline: DispatchTime) {
        events.stop(until: deadline)
        uploader.stop(until: deadline)
    }

    /// Evicts segments from the disk, if the store is proven to have them.
    func evict(_ segments: [ArchivedSegment]) {
        for segment in segments.prefix(Self.removalsTogether) {
            if let key = segment.key { uploader.changed(.evict(key)) }
        }
    }

    /// Removes expired segments from the store and the disk.
    func forget(_ segments: [ExpiredSegment]) {
        for segment in segments.prefix(Self.removalsTogether) {
            uploader.changed(.forget(segment))
        }
    }

    /// A session's small files have changed without an event.
    func documentsChanged(of session: String) { uploader.changed(.described(session: session)) }

    private func follow(_ heard: SpineListener.Batch) {
        for event in heard.events {
            switch event {
            case .segmentFinished(let segment, _, _, _):
                uploader.changed(.segmentFinished(segment))
            case .sessionDescribed(let manifest), .sessionEnded(let manifest):
                uploader.changed(.described(session: manifest.session))
            case .sourceEnded(let source):
                uploader.changed(.described(session: source.session))
            case .sessionChanged(let session), .sessionRemoved(let session):
                uploader.changed(.session(session))
            case .sourceMended(let source): uploader.changed(.session(source.session))
            case .segmentRemoved(let segment, _):
                // Its ledger records that.
                uploader.changed(.described(session: segment.session))
            case .sourceBegan, .segmentBegan, .fragmentAppended, .durable, .noted, .segmentStored,
                .segmentMoved:
                break
            }
        }
        switch heard.lost {
        case .nothing: break
        case .sessions(let sessions):
            for session in sessions { uploader.changed(.session(session)) }
        case .everything: uploader.changed(.everything)
        }
    }
}

extension StoreStatus {
    fileprivate init(_ status: UploadStatus, name: String) {
        self.init(name: name)
        storedSegments = status.segments
        sentBytes = status.sentBytes
        evictedSegments = status.evicted
        failures = Dictionary(
            uniqueKeysWithValues: UploadStatus.kinds.map { ($0, status.failures[$0] ?? 0) })
        waitingSegments = status.waiting
        waitingBytes = status.waitingBytes
        oldestSeconds = status.oldestSeconds
        setAside = status.setAside
        trouble = status.trouble
    }
}
