import CZeroMQ
import Glibc

/// Wakes a polling thread from any other (eventfd(2)).
package final class WakeUp: Sendable {
    /// For the poller: readable once signalled.
    package let descriptor: Int32

    package init() throws(MessagingError) {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard descriptor >= 0 else {
            throw .system(operation: "make", subject: "an eventfd", errno: errno)
        }
    }

    deinit {
        close(descriptor)
    }

    /// Makes the descriptor readable; any number of signals before a drain counts as one.
    package func signal() {
        var one: UInt64 = 1
        // Fails only when the counter is full, and then the descriptor is readable anyway.
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Clears all signals; returns whether there was one.
    @discardableResult
    package func drain() -> Bool {
        var count: UInt64 = 0
        return read(descriptor, &count, MemoryLayout<UInt64>.size) > 0
    }
}
