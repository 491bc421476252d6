import Archive
import Glibc
import Media
import Operations
import Synchronization

/// Disk statistics for monitoring. The disk threads update them about once a second, and the receiving thread reads
/// them as often.
final class DiskStatistics: Sendable {
    struct Figures: Sendable {
        /// `nil` while it cannot be determined.
        var space: (free: UInt64, of: UInt64)?
        var synchronising = LatencyHistogram()
    }

    private let figures = Mutex(Figures())
    /// Since when the disk thread has been busy, on the monotonic clock; 0: idle.
    private let busySince = Atomic<Int64>(0)

    init() {}

    var current: Figures { figures.withLock { $0 } }

    /// The disk thread starts to process its queue.
    func begin() {
        busySince.store(SystemClock.monotonic.nowNanoseconds, ordering: .relaxed)
    }

    func rest() { busySince.store(0, ordering: .relaxed) }

    /// Time for which the disk thread has been busy, seconds.
    func busySeconds(now: Int64) -> Double {
        let since = busySince.load(ordering: .relaxed)
        return since == 0 ? 0 : max(0, Double(now - since) / 1e9)
    }

    /// Records how long files took to become durable, since the start.
    func note(_ synchronising: LatencyHistogram) {
        figures.withLock { $0.synchronising = synchronising }
    }

    /// Measures the disk's free space.
    /// - Parameter directory: a directory on the disk.
    func measure(_ directory: String) {
        do throws(ArchiveError) {
            note(try FileSystem.freeBytes(directory))
        } catch {
            // A writer to that disk will report the error; here the space is only unknown.
            figures.withLock { $0.space = nil }
        }
    }

    func note(_ space: (free: UInt64, of: UInt64)) {
        figures.withLock { $0.space = space }
    }
}
