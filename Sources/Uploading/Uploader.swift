package import Archive
package import Dispatch
import Media
package import ObjectStore
import Synchronization
package import Threads

/// Uploads an archive to an object store in the background.
///
/// The files are authoritative. The uploader is notified of changes (``changed(_:)``), and scans the archive at the start
/// whenever notifications were lost. A proof next to each segment records its upload, so the uploader can be stopped at any
/// moment.
package final class Uploader: Sendable {
    /// A change of an archive.
    package enum Change: Hashable, Sendable {
        /// A segment is an ordinary MP4 now; its source's ledger may have grown.
        case segmentFinished(SegmentKey)
        /// A session's description has changed.
        case described(session: String)
        /// Files of a session have to be checked.
        case session(String)
        /// The changes are unknown.
        case everything
        /// The local copy of a segment is to be removed.
        case evict(SegmentKey)
        /// A segment has expired.
        case forget(ExpiredSegment)
    }

    private let place: UploadTarget
    private let desk: UploadBoard
    private let figures: UploadFigures
    private let hooks: UploadHooks
    private let shutdown: Shutdown
    private let isStopping = Atomic(false)
    private let wake = Semaphore(value: 0)
    private let threads: [JoinableThread]

    /// Maximum time for running requests after a stop: a responsive store has answered by then.
    private static let graceSeconds = 2

    /// Minimum sleep of an idle worker.
    private static let leastWaitNanoseconds: Int64 = 20_000_000
    /// Maximum sleep, because a worker is not woken when another one makes work ready.
    private static let longestWaitNanoseconds: Int64 = 2_000_000_000

    /// - Parameters:
    ///   - shutdown: ends every wait for the bucket.
    ///   - mustGiveWay: whether recording needs the disk and the network now; called before each step.
    ///   - mayRemove: whether expired segments may be removed from the store now; asked before each step of that.
    package convenience init(
        _ layout: ArchiveLayout, to bucket: any ObjectBucket, settings: UploadSettings,
        hooks: UploadHooks, shutdown: Shutdown,
        mustGiveWay: @escaping @Sendable () -> Bool = { false },
        mayRemove: @escaping @Sendable () -> Bool = { true }
    ) {
        self.init(
            layout, to: bucket, settings: settings, hooks: hooks,
            surroundings: .system(mustGiveWay: mustGiveWay, mayRemove: mayRemove),
            shutdown: shutdown)
    }

    /// - Parameter surroundings: their checkpoint is called in addition to ``stop()``.
    package init(
        _ layout: ArchiveLayout, to bucket: any ObjectBucket, settings: UploadSettings,
        hooks: UploadHooks, surroundings: UploadSurroundings, shutdown: Shutdown = Shutdown()
    ) {
        self.shutdown = shutdown
        figures = UploadFigures()
        desk = UploadBoard(
            UploadQueue(random: surroundings.random, endsWithWork: settings.endsWithWork))
        self.hooks = hooks
        place = UploadTarget(
            bucket, layout, settings: settings, surroundings: surroundings, figures: figures)
        threads = (0..<max(1, settings.connections)).map { _ in JoinableThread() }
    }

    /// Current figures, and queued work.
    package var status: UploadStatus {
        var status = figures.current
        let now = place.surroundings.utc().nanoseconds
        desk.state.withLock { $0.queue.describe(&status, utcNanoseconds: now) }
        return status
    }

    /// Starts its threads.
    /// - Parameter looking: whether to begin with a survey of the whole archive.
    package func start(looking: Bool = true) {
        if looking { changed(.everything) }
        for thread in threads { thread.start("upload") { [self] in run() } }
    }

    /// Ends the threads at their next step, without waiting for a store that does not respond. Pending work is found at the next
    /// start.
    /// - Parameter deadline: of the wait for the threads, because a disk may hang, too.
    package func stop(until deadline: DispatchTime = .distantFuture) {
        isStopping.store(true, ordering: .releasing)
        shutdown.begin(afterSeconds: Self.graceSeconds)
        for _ in threads { wake.signal() }
        for thread in threads { thread.join(until: deadline) }
    }

    /// Waits until only work is left that has failed repeatedly, or the store is unavailable: for a minute, or for a reason
    /// that does not pass by itself.
    /// - Parameter isCancelled: whether to stop waiting.
    package func drain(_ isCancelled: @Sendable () -> Bool) {
        while !isCancelled(), !isStopping.load(ordering: .acquiring) {
            let now = place.surroundings.now()
            let (isDone, hasTrouble) = desk.state.withLock { state in
                let isDone =
                    state.surveys.isEmpty && state.surveying == 0 && !state.isCutShort
                    && state.queue.isExhausted
                return (isDone, state.queue.hasLastingOutage(now: now))
            }
            if isDone || hasTrouble { return }
            place.surroundings.sleep(Self.leastWaitNanoseconds)
        }
    }

    /// Takes note of a change. Never blocks.
    package func changed(_ change: Change) {
        let now = place.surroundings.now()
        let stamp: FileStamp? =
            if case .segmentFinished(let segment) = change {
                FileStamp(place.layout.segment(segment))
            } else {
                nil
            }
        desk.state.withLock { state in
            switch change {
            case .segmentFinished(var segment):
                segment.revision = 0
                if !state.queue.hasRoom { state.isCutShort = true }
                state.queue.add(
                    .segment(segment), sizeBytes: stamp?.sizeBytes ?? 0,
                    endedNanoseconds: stamp?.modifiedNanoseconds, now: now)
                state.queue.add(.documents(session: segment.session), now: now)
            case .described(let session):
                state.queue.add(.documents(session: session), now: now)
            case .session(let session): state.surveys.insert(session)
            case .everything: state.surveys.insert(nil)
            case .evict(var segment):
                segment.revision = 0
                state.queue.add(.evict(segment), now: now)
            case .forget(let expired): state.queue.add(.forget(expired), now: now)
            }
        }
        wake.signal()
    }

    private func run() {
        var worker = UploadWorker(
            place.stopping { [self] in isStopping.load(ordering: .acquiring) }, desk: desk,
            figures: figures, hooks: hooks)
        while !isStopping.load(ordering: .acquiring) {
            switch worker.turn() {
            case .worked: continue
            case .stopped: return
            case .idle(let until):
                let now = place.surroundings.now()
                let wait = min(
                    max((until ?? .max / 2) - now, Self.leastWaitNanoseconds),
                    Self.longestWaitNanoseconds)
                _ = wake.wait(timeout: .now() + .nanoseconds(Int(wait)))
            }
        }
    }
}

extension UploadSurroundings {
    /// The system's clocks.
    package static func system(
        mustGiveWay: @escaping @Sendable () -> Bool = { false },
        mayRemove: @escaping @Sendable () -> Bool = { true }
    ) -> UploadSurroundings {
        UploadSurroundings(
            now: { SystemClock.monotonic.nowNanoseconds },
            utc: { UTCTime(nanoseconds: SystemClock.utc.nowNanoseconds) },
            sleep: { nanoseconds in
                _ = Semaphore(value: 0).wait(
                    timeout: .now() + .nanoseconds(Int(nanoseconds)))
            }, random: { UInt64.random(in: 0 ... .max) }, mustGiveWay: mustGiveWay,
            mayRemove: mayRemove)
    }
}

extension UploadTarget {
    /// A copy whose work also ends when `isStopping` returns true.
    fileprivate func stopping(_ isStopping: @escaping @Sendable () -> Bool) -> UploadTarget {
        var place = self
        let checkpoint = surroundings.checkpoint
        place.surroundings.checkpoint = { step throws(UploadStop) in
            if isStopping() { throw UploadStop() }
            try checkpoint(step)
        }
        return place
    }
}
