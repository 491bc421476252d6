import Archive
import CLinux
import Dispatch
import Glibc
import Media
import Synchronization
import Threads

/// The one thread that writes recordings.
///
/// The receiving thread hands it jobs and goes on at once; what it has done comes back as events. Its queue is bounded by the
/// credit that agents are granted: credit returns only when payloads have been written.
///
/// Every ``commitInterval`` all files that have grown are made durable together: write-back is started on all of them first, so that
/// the disk sees one batch and the file system needs few journal commits. Where much comes at once, as after an outage or from a
/// replay, that is done as soon as ``commitBytes`` have been written: whoever sent them keeps them until then.
///
/// A file that cannot be written (disk full, or worse) keeps its jobs and is tried again every second. Its agents keep their
/// samples meanwhile, because nothing is acknowledged; other files are not held up.
final class DiskWriter<Payload: MediaPayload>: Sendable {
    /// How often grown files are made durable: what a power cut may cost besides the fragment being collected.
    static var commitInterval: Duration { .seconds(1) }
    /// What is written before it is made durable, at most: a second of 64 sources at 8 Mbit/s.
    static var commitBytes: Int { 64 << 20 }
    /// A quarter of one source's credit window.
    static var urgentBytes: Int { 2 << 20 }
    private static var retryInterval: Duration { .seconds(1) }

    private struct Shared {
        var jobs: [DiskJob<Payload>] = []
        var events: [DiskEvent] = []
        var isStopping = false
    }

    private let shared = Mutex(Shared())
    private let work = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let layout: ArchiveLayout
    private let space: FreeSpace
    private let spine: Spine
    private let meter: DiskStatistics
    private let notify: @Sendable () -> Void

    /// - Parameters:
    ///   - layout: the archive.
    ///   - space: what of its disk may be written to.
    ///   - spine: is told what happens to recordings.
    ///   - meter: told what the disk thread sees of the disk.
    ///   - notify: called on the disk thread whenever new events are there.
    init(
        layout: ArchiveLayout, space: FreeSpace, spine: Spine, meter: DiskStatistics,
        notify: @escaping @Sendable () -> Void
    ) {
        self.meter = meter
        self.spine = spine
        self.layout = layout
        self.space = space
        self.notify = notify
    }

    /// Starts the thread.
    func start() {
        NamedThread.start("disk") {
            var worker = DiskWorker<Payload>(
                layout: self.layout, space: self.space, spine: self.spine)
            self.run(&worker)
            self.ended.signal()
        }
    }

    /// Hands over jobs; never blocks.
    func submit(_ jobs: [DiskJob<Payload>]) {
        guard !jobs.isEmpty else { return }
        shared.withLock { $0.jobs += jobs }
        work.signal()
    }

    /// What has happened since the last call.
    func takeEvents() -> [DiskEvent] {
        shared.withLock { shared in
            defer { shared.events.removeAll(keepingCapacity: true) }
            return shared.events
        }
    }

    /// Does all jobs that are there, makes everything durable, and ends the thread.
    func stop() {
        shared.withLock { $0.isStopping = true }
        work.signal()
        ended.wait()
    }

    private func run(_ worker: inout DiskWorker<Payload>) {
        let clock = ContinuousClock()
        var nextCommit = clock.now + Self.commitInterval
        var nextRetry = clock.now + Self.retryInterval
        var unannouncedBytes = 0
        var uncommittedBytes = 0
        while true {
            let (jobs, isStopping) = shared.withLock { shared in
                defer { shared.jobs.removeAll(keepingCapacity: true) }
                return (shared.jobs, shared.isStopping)
            }
            meter.begin()
            for job in jobs { worker.perform(job) }
            let now = clock.now
            if worker.isStuck, isStopping || now >= nextRetry {
                nextRetry = now + Self.retryInterval
                worker.retry()
            }
            uncommittedBytes += worker.writtenBytes
            if worker.isDirty,
                isStopping || now >= nextCommit || uncommittedBytes >= Self.commitBytes
            {
                worker.commit()
                uncommittedBytes = 0
                meter.note(worker.synchronising)
                meter.measure(layout.sessions)
                nextCommit = clock.now + Self.commitInterval
            }
            if isStopping { worker.abandon() }
            let events = worker.takeEvents()
            if !events.isEmpty {
                shared.withLock { $0.events += events }
                if isUrgent(events, &unannouncedBytes) || isStopping { notify() }
            }
            meter.rest()
            if isStopping { return }
            waitForWork(worker, clock: clock, nextCommit: nextCommit, nextRetry: nextRetry)
        }
    }

    /// Whether the receiving thread has to hear of the events at once. That bytes have been written gives agents credit, and
    /// there is credit for a while: waking a thread for every fragment would cost more than writing it.
    private func isUrgent(_ events: [DiskEvent], _ unannouncedBytes: inout Int) -> Bool {
        for event in events {
            guard case .written(_, let amount) = event else {
                unannouncedBytes = 0
                return true
            }
            unannouncedBytes += amount.sizeBytes
        }
        guard unannouncedBytes >= Self.urgentBytes else { return false }
        unannouncedBytes = 0
        return true
    }

    private func waitForWork(
        _ worker: DiskWorker<Payload>, clock: ContinuousClock,
        nextCommit: ContinuousClock.Instant, nextRetry: ContinuousClock.Instant
    ) {
        var deadlines: [ContinuousClock.Instant] = []
        if worker.isDirty { deadlines.append(nextCommit) }
        if worker.isStuck { deadlines.append(nextRetry) }
        guard let deadline = deadlines.min() else {
            work.wait()
            return
        }
        let wait = max(.zero, deadline - clock.now)
        _ = work.wait(timeout: .now() + .nanoseconds(Int(wait / .nanoseconds(1))))
    }
}
