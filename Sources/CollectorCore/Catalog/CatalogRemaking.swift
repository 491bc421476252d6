import Archive
import Dispatch
import Synchronization
import Threads

/// A catalog that is being made again from the files, on a thread of its own: there may be a hundred thousand of them, and the disk
/// thread has recordings to write meanwhile.
final class CatalogRemaking: Sendable {
    enum Outcome: Sendable {
        /// - Parameter problems: one line each: what cannot be read, and is not in it.
        case made(Catalog, problems: [String])
        case failed(ArchiveError)
    }

    private let outcome = Mutex<Outcome?>(nil)
    private let isCancelled = Atomic(false)
    private let ended = DispatchSemaphore(value: 0)

    /// Starts it.
    /// - Parameter wake: called on its thread when there is an outcome.
    init(_ layout: ArchiveLayout, wake: @escaping @Sendable () -> Void) {
        NamedThread.start("catalog") {
            let outcome = self.make(layout)
            self.outcome.withLock { $0 = outcome }
            self.ended.signal()
            wake()
        }
    }

    /// What came of it; nil while it goes on.
    var result: Outcome? { outcome.withLock { $0 } }

    /// Blocks until there is an outcome.
    func wait() {
        ended.wait()
        ended.signal()
    }

    /// Ends it after the session that it is reading, and waits for that. The catalog is not whole then.
    func cancel() {
        isCancelled.store(true, ordering: .relaxed)
        wait()
    }

    private func make(_ layout: ArchiveLayout) -> Outcome {
        do throws(ArchiveError) {
            // What is there may be old, and must not be believed.
            try Catalog.remove(layout)
            let catalog = try CatalogIndexing.openMended(layout).catalog
            let summary = try CatalogIndexing.update(catalog, layout, everything: true) {
                isCancelled.load(ordering: .relaxed)
            }
            return .made(catalog, problems: summary.problems)
        } catch {
            return .failed(error)
        }
    }
}
