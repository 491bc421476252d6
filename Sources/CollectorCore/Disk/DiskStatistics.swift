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
    /// The time since which the disk thread has been busy, on the monotonic clock; 0: idle.
    private let busySince = Atomic<Int64>(0)
    /// The start of its present operation, on the monotonic clock; 0: idle, or an operation that may take long.
    private let operationSince = Atomic<Int64>(0)
    /// Duration of an operation from which on the disk hangs: a working disk, even a slow one, is faster.
    private static let hangNanoseconds: Int64 = 4_000_000_000

    private let now: @Sendable () -> Int64

    /// - Parameter now: the monotonic clock, nanoseconds.
    init(now: @escaping @Sendable () -> Int64 = { SystemClock.monotonic.nowNanoseconds }) {
        self.now = now
    }

    var current: Figures { figures.withLock { $0 } }

    /// The disk thread starts to process its queue.
    func begin() {
        busySince.store(now(), ordering: .relaxed)
    }

    /// The disk thread begins one write, synchronisation or similar operation; whatever it did before is done.
    /// - Parameter mayTakeLong: whether it may take long on a disk that answers: the removal of a session with many files.
    func beginOperation(mayTakeLong: Bool = false) {
        operationSince.store(mayTakeLong ? 0 : now(), ordering: .relaxed)
    }

    func rest() {
        operationSince.store(0, ordering: .relaxed)
        busySince.store(0, ordering: .relaxed)
    }

    /// Whether the disk accepted an operation and has not answered for so long that agents should not wait for it.
    /// - Parameter now: the monotonic clock.
    func isHanging(now: Int64) -> Bool {
        let since = operationSince.load(ordering: .relaxed)
        return since != 0 && now - since >= Self.hangNanoseconds
    }

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
