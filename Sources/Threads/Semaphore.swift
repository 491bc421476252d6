import CLinux
package import Dispatch
import Glibc

/// A counting semaphore whose timed waits follow the monotonic clock. Those of `DispatchSemaphore` follow the wall clock on Linux
/// (`sem_timedwait`): when it is set back by an hour, a wait of a second takes an hour.
///
/// Sendable, because POSIX semaphores synchronise by themselves, and the pointer never changes.
package final class Semaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    package init(value: Int) {
        let isReady = sem_init(semaphore, 0, UInt32(value)) == 0
        precondition(isReady, "a semaphore needs no resources on Linux")
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Ends one wait, the present or the next one.
    package func signal() { sem_post(semaphore) }

    /// Blocks until there is a signal.
    package func wait() {
        // Interrupted by a signal of the process.
        while sem_wait(semaphore) != 0 {}
    }

    /// Blocks until there is a signal, or until a deadline of the monotonic clock.
    package func wait(timeout deadline: DispatchTime) -> DispatchTimeoutResult {
        guard deadline != .distantFuture else {
            wait()
            return .success
        }
        // Dispatch's uptime is CLOCK_MONOTONIC.
        let nanoseconds = deadline.uptimeNanoseconds
        var end = timespec(
            tv_sec: Int(clamping: nanoseconds / 1_000_000_000),
            tv_nsec: Int(nanoseconds % 1_000_000_000))
        while sem_clockwait(semaphore, CLOCK_MONOTONIC, &end) != 0 {
            if errno != EINTR { return .timedOut }
        }
        return .success
    }
}
