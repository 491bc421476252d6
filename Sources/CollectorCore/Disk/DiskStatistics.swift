import Archive
import Glibc
import Operations
import Synchronization

/// What the threads that use the disk know of it, for people who watch: told by them about once a second, asked by the receiving thread as
/// often.
final class DiskStatistics: Sendable {
    struct Figures: Sendable {
        /// Nil while it cannot be asked.
        var space: (free: UInt64, of: UInt64)?
        var synchronising = LatencyHistogram()
    }

    private let figures = Mutex(Figures())
    /// Since when the disk thread has been at its present work, on the monotonic clock; 0: it waits for some.
    private let busySince = Atomic<Int64>(0)

    init() {}

    var current: Figures { figures.withLock { $0 } }

    /// The disk thread begins with what is there to be done.
    func begin() {
        busySince.store(Instant.nanoseconds(CLOCK_MONOTONIC), ordering: .relaxed)
    }

    /// It has done that.
    func rest() { busySince.store(0, ordering: .relaxed) }

    /// For how long it has been at it, seconds.
    func busySeconds(now: Int64) -> Double {
        let since = busySince.load(ordering: .relaxed)
        return since == 0 ? 0 : max(0, Double(now - since) / 1e9)
    }

    /// How long files took to become durable, since the start.
    func note(_ synchronising: LatencyHistogram) {
        figures.withLock { $0.synchronising = synchronising }
    }

    /// Asks the disk what it has free.
    /// - Parameter directory: on it.
    func measure(_ directory: String) {
        do throws(ArchiveError) {
            note(try FileSystem.freeBytes(directory))
        } catch {
            // Who writes there will say what is wrong with it; here it is only that nothing is known.
            figures.withLock { $0.space = nil }
        }
    }

    func note(_ space: (free: UInt64, of: UInt64)) {
        figures.withLock { $0.space = space }
    }
}
