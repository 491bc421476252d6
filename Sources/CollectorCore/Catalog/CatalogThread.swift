import Archive
import Catalog
import Dispatch
import Synchronization

/// The thread on which a collector's catalog follows the spine (``CatalogFollower``).
///
/// Its reports are fetched by the receiving thread. However slow, locked or broken the catalog is, neither the receiving thread
/// nor the disk thread waits for it.
final class CatalogThread: Sendable {
    /// Events that may be queued: minutes of a large site.
    private static let capacity = 16_384

    private let place: any CatalogLocation
    private let layout: ArchiveLayout
    private let events: SpineFollower
    private let reports = Mutex<[CatalogReport]>([])
    private let notify: @Sendable () -> Void

    /// - Parameter notify: called on its thread when reports are available.
    init(
        _ place: any CatalogLocation, _ layout: ArchiveLayout, spine: Spine,
        notify: @escaping @Sendable () -> Void
    ) {
        self.place = place
        self.layout = layout
        self.notify = notify
        events = SpineFollower(
            spine, [.sessions, .segments, .ledgers], capacity: Self.capacity)
    }

    /// Subscribes to the spine: events from here on reach the catalog eventually.
    func start() {
        events.start("catalog") { [self] in run() }
    }

    /// Reports on the catalog since the last call.
    func takeReports() -> [CatalogReport] {
        reports.withLock { reports in
            defer { reports.removeAll() }
            return reports
        }
    }

    /// Processes the remaining events, and ends the thread. No more events follow.
    /// - Parameter deadline: until when that is waited for.
    /// - Returns: whether it is done.
    @discardableResult
    func stop(until deadline: DispatchTime = .distantFuture) -> Bool {
        events.stop(until: deadline)
    }

    private func run() {
        let clock = ContinuousClock()
        var follower = CatalogFollower(place, layout) { [events] in events.isStopping }
        while true {
            let isStopping = events.isStopping
            let takes = follower.isReady || isStopping
            report(
                follower.follow(takes ? events.take() : SpineListener.Batch(), now: clock.now))
            if isStopping {
                report(follower.end())
                return
            }
            // Events that were queued while the catalog was locked.
            if follower.isReady, !takes { continue }
            events.wait(until: follower.due)
        }
    }

    private func report(_ reports: [CatalogReport]) {
        guard !reports.isEmpty else { return }
        self.reports.withLock { $0 += reports }
        notify()
    }
}
