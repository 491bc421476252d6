import Archive
import Catalog
import Dispatch
import Synchronization
import Threads

/// The thread on which a collector's catalog follows the spine (``CatalogFollower``).
///
/// Its reports are fetched by the receiving thread. However slow, locked or broken the catalog is, neither the receiving thread
/// nor the disk thread waits for it.
final class CatalogThread: Sendable {
    /// Events that may be queued: minutes of a large site.
    private static let capacity = 16_384

    private struct State {
        var reports: [CatalogReport] = []
        var isStopping = false
    }

    private let place: any CatalogLocation
    private let layout: ArchiveLayout
    private let spine: Spine
    private let listener: SpineListener
    private let state = Mutex(State())
    private let isCancelled = Atomic(false)
    private let work: Semaphore
    private let thread = JoinableThread()
    private let notify: @Sendable () -> Void

    /// - Parameter notify: called on its thread when reports are available.
    init(
        _ place: any CatalogLocation, _ layout: ArchiveLayout, spine: Spine,
        notify: @escaping @Sendable () -> Void
    ) {
        self.place = place
        self.layout = layout
        self.spine = spine
        self.notify = notify
        let work = Semaphore(value: 0)
        self.work = work
        listener = SpineListener([.sessions, .segments, .ledgers], capacity: Self.capacity) {
            work.signal()
        }
    }

    /// Subscribes to the spine: events from here on reach the catalog eventually.
    func start() {
        spine.add(listener)
        thread.start("catalog") { [self] in run() }
    }

    /// Reports on the catalog since the last call.
    func takeReports() -> [CatalogReport] {
        state.withLock { state in
            defer { state.reports.removeAll() }
            return state.reports
        }
    }

    /// Processes the remaining events, and ends the thread. No more events follow.
    /// - Parameter deadline: until when that is waited for.
    /// - Returns: whether it is done.
    @discardableResult
    func stop(until deadline: DispatchTime = .distantFuture) -> Bool {
        state.withLock { $0.isStopping = true }
        isCancelled.store(true, ordering: .relaxed)
        work.signal()
        defer { spine.remove(listener) }
        return thread.join(until: deadline)
    }

    private func run() {
        let clock = ContinuousClock()
        var follower = CatalogFollower(place, layout) { [self] in
            isCancelled.load(ordering: .relaxed)
        }
        while true {
            let isStopping = state.withLock { $0.isStopping }
            let takes = follower.isReady || isStopping
            report(
                follower.follow(takes ? listener.take() : SpineListener.Batch(), now: clock.now))
            if isStopping {
                report(follower.end())
                return
            }
            // Events that were queued while the catalog was locked.
            if follower.isReady, !takes { continue }
            guard let due = follower.due else {
                work.wait()
                continue
            }
            let wait = max(.zero, due - clock.now)
            _ = work.wait(timeout: .now() + .nanoseconds(Int(wait / .nanoseconds(1))))
        }
    }

    private func report(_ reports: [CatalogReport]) {
        guard !reports.isEmpty else { return }
        state.withLock { $0.reports += reports }
        notify()
    }
}
