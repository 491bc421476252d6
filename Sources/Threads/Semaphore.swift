import CLinux
package import Dispatch
import Glibc

/// A counting semaphore whose timed waits follow the monotonic clock. Those of `DispatchSemaphore` follow the wall clock on Linux
/// (`sem_timedwait`): when it is set back by an hour, a wait of a second takes an hour.
///
/// Sendable, because the mutex protects the value, and the pointers never change.
package final class Semaphore: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// Protected by the mutex.
    private var value: Int

    package init(value: Int) {
        precondition(value >= 0, "a semaphore counts from 0 on")
        self.value = value
        var attributes = pthread_condattr_t()
        let isReady =
            pthread_condattr_init(&attributes) == 0
            && pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0
            && pthread_mutex_init(mutex, nil) == 0 && pthread_cond_init(condition, &attributes) == 0
        precondition(isReady, "a mutex and a condition need no resources on Linux")
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Ends one wait, the present or the next one.
    package func signal() {
        pthread_mutex_lock(mutex)
        value += 1
        // glibc before 2.41 can lose the wake-up of a single thread (bug 25847).
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Blocks until there is a signal.
    package func wait() {
        pthread_mutex_lock(mutex)
        while value == 0 { pthread_cond_wait(condition, mutex) }
        value -= 1
        pthread_mutex_unlock(mutex)
    }

    /// Blocks until there is a signal, or for this time.
    /// - Returns: whether there was a signal.
    package func wait(milliseconds: Int) -> Bool {
        wait(timeout: .now() + .milliseconds(milliseconds)) == .success
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
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while value == 0 {
            if pthread_cond_timedwait(condition, mutex, &end) != 0, value == 0 { return .timedOut }
        }
        value -= 1
        return .success
    }
}
