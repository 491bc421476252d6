import CLinux
import Glibc

/// Descriptors of many connections and their readiness (epoll(7)): a wait's cost depends on the ready ones alone. A
/// closed descriptor leaves the set.
final class ReadySet {
    /// Events read per call; the rest is ready at the next one.
    private static let most = 256

    private let descriptor: Int32
    private var numbers = [UInt32](repeating: 0, count: ReadySet.most)

    init() throws {
        descriptor = CLinux_epoll_create()
        guard descriptor >= 0 else {
            throw LoadError.system(operation: "make an epoll instance", errno: errno)
        }
    }

    deinit {
        close(descriptor)
    }

    /// Adds a descriptor.
    /// - Parameter number: reported by ``wait(milliseconds:)``.
    /// - Returns: false for a file that cannot be waited for, such as `/dev/null`.
    @discardableResult
    func add(_ other: Int32, number: Int) throws -> Bool {
        if CLinux_epoll_add(descriptor, other, UInt32(number)) == 0 { return true }
        guard errno == EPERM else {
            throw LoadError.system(operation: "wait for a descriptor", errno: errno)
        }
        return false
    }

    func remove(_ other: Int32) { _ = CLinux_epoll_remove(descriptor, other) }

    /// Numbers of readable descriptors, with possible repetitions; empty after the timeout.
    func wait(milliseconds: Int) throws -> ArraySlice<UInt32> {
        let count = CLinux_epoll_wait(
            descriptor, &numbers, Int32(Self.most), Int32(clamping: milliseconds))
        if count < 0, errno != EINTR {
            throw LoadError.system(operation: "wait for descriptors", errno: errno)
        }
        return numbers.prefix(max(0, Int(count)))
    }
}
