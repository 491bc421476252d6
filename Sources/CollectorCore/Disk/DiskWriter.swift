import Archive
import CLinux
import Dispatch
import Glibc
import Media
import Synchronization
import Threads

/// The one thread that writes recordings.
///
/// The receiving thread submits jobs and continues; results are returned as events. The queue is bounded by the credit
/// granted to agents: credit returns only when payloads have been written.
///
/// Every ``commitInterval``, all files that have grown are made durable together. Write-back is started on all of them
/// first, so that the disk receives one batch and the file system needs few journal commits. When many bytes arrive
/// together, as after an outage or from a replay, files are made durable as soon as ``commitBytes`` have been written,
/// or one file has as much as recovery can check (``DiskWorker/mustCommit``): the sender keeps them until then.
///
/// A file that cannot be written (disk full, or worse) keeps its jobs, and writing is retried every second. Meanwhile
/// its agents keep their samples, because nothing is acknowledged. Other files are not delayed.
final class DiskWriter: Sendable {
    /// Interval between commits: the maximum loss at a power cut, in addition to the fragment being collected.
    ///
    /// Half a second, because the batch that ends a fragment may wait as long at its agent: together they are about a
    /// second at most. A file grows about once a second, so each commit finds about half of the files grown, and the
    /// number of file synchronisations is that of commits once a second.
    static let commitInterval: Duration = .milliseconds(500)
    /// How much earlier a commit may be when the thread is awake anyway, and how much later, so that jobs submitted
    /// twice a second are always committed with their own batch.
    private static let commitSlack: Duration = .milliseconds(100)
    /// Maximum bytes written before they are made durable: a second of 64 sources at 8 Mbit/s.
    static let commitBytes = 64 << 20
    /// A quarter of one source's largest credit window.
    private static let urgentBytes = 2 << 20
    private static let retryInterval: Duration = .seconds(1)

    private struct Shared {
        var jobs: [DiskJob] = []
        var events: [DiskEvent] = []
        /// A caller waits for the jobs to be done.
        var isAwaited = false
        var isStopping = false
    }

    private let shared = Mutex(Shared())
    private let work = Semaphore(value: 0)
    private let thread = JoinableThread()
    private let layout: ArchiveLayout
    private let space: FreeSpace
    private let spine: Spine
    private let meter: DiskStatistics
    private let notify: @Sendable () -> Void

    /// - Parameters:
    ///   - layout: the archive.
    ///   - space: the writable space of its disk.
    ///   - spine: receives events about recordings.
    ///   - meter: receives the disk thread's statistics.
    ///   - notify: called on the disk thread whenever new events are available.
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
        thread.start("disk") {
            var worker = DiskWorker(
                layout: self.layout, space: self.space, spine: self.spine, meter: self.meter)
            self.run(&worker)
        }
    }

    /// Submits jobs; never blocks.
    /// - Parameter isAwaited: `notify` is called as soon as they are written, and not only when much has been.
    func submit(_ jobs: [DiskJob], isAwaited: Bool = false) {
        guard !jobs.isEmpty else { return }
        shared.withLock {
            $0.jobs += jobs
            if isAwaited { $0.isAwaited = true }
        }
        work.signal()
    }

    /// Events since the last call.
    func takeEvents() -> [DiskEvent] {
        shared.withLock { shared in
            defer { shared.events.removeAll(keepingCapacity: true) }
            return shared.events
        }
    }

    /// Performs all queued jobs, makes everything durable, and ends the thread.
    func stop() {
        shared.withLock { $0.isStopping = true }
        work.signal()
        thread.join()
    }

    private func run(_ worker: inout DiskWorker) {
        let clock = ContinuousClock()
        var nextCommit = clock.now + Self.commitInterval
        var nextRetry = clock.now + Self.retryInterval
        var unannouncedBytes = 0
        var uncommittedBytes = 0
        while true {
            let (jobs, isAwaited, isStopping) = shared.withLock { shared in
                defer {
                    shared.jobs.removeAll(keepingCapacity: true)
                    shared.isAwaited = false
                }
                return (shared.jobs, shared.isAwaited, shared.isStopping)
            }
            meter.begin()
            for job in jobs { worker.perform(job) }
            uncommittedBytes += worker.writtenBytes
            // Credit returns with the write, before the commit.
            publish(worker.takeEvents(), isAwaited: isAwaited, &unannouncedBytes)
            let now = clock.now
            if worker.isStuck, isStopping || now >= nextRetry {
                nextRetry = now + Self.retryInterval
                worker.retry()
                meter.measure(layout.sessions)
                uncommittedBytes += worker.writtenBytes
            }
            if worker.isDirty,
                isStopping || now >= nextCommit - Self.commitSlack
                    || uncommittedBytes >= Self.commitBytes
                    || worker.mustCommit
            {
                worker.commit()
                uncommittedBytes = 0
                meter.note(worker.synchronising)
                meter.measure(layout.sessions)
                // On a slow disk, other work gets its turn between two commits.
                nextCommit = max(now + Self.commitInterval, clock.now + Self.commitSlack * 2)
            }
            if isStopping { worker.abandon() }
            publish(worker.takeEvents(), isAwaited: isStopping, &unannouncedBytes)
            meter.rest()
            if isStopping { return }
            waitForWork(worker, clock: clock, nextCommit: nextCommit, nextRetry: nextRetry)
        }
    }

    private func publish(
        _ events: [DiskEvent], isAwaited: Bool, _ unannouncedBytes: inout Int
    ) {
        guard !events.isEmpty else { return }
        shared.withLock { $0.events += events }
        if isUrgent(events, &unannouncedBytes) || isAwaited { notify() }
    }

    /// Whether the receiving thread must be notified of the events immediately. Written bytes give agents credit, and
    /// agents have credit in reserve: waking a thread for every fragment would cost more than writing it.
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
        _ worker: DiskWorker, clock: ContinuousClock,
        nextCommit: ContinuousClock.Instant, nextRetry: ContinuousClock.Instant
    ) {
        var deadlines: [ContinuousClock.Instant] = []
        if worker.isDirty { deadlines.append(nextCommit + Self.commitSlack) }
        if worker.isStuck { deadlines.append(nextRetry) }
        guard let deadline = deadlines.min() else {
            work.wait()
            return
        }
        let wait = max(.zero, deadline - clock.now)
        _ = work.wait(timeout: .now() + .nanoseconds(Int(wait / .nanoseconds(1))))
    }
}
