import CLinux
import Glibc

/// Descriptors of many connections, and which of them are readable (epoll(7)): waiting costs as much as what is ready, however
/// many there are. A descriptor that is closed leaves the set by itself.
final class ReadySet {
    /// What is read per call; the rest is ready the next time.
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
    /// - Parameter number: what ``wait(milliseconds:)`` reports for it.
    /// - Returns: false for a file for which there is nothing to wait, such as `/dev/null`.
    @discardableResult
    func add(_ other: Int32, number: Int) throws -> Bool {
        if CLinux_epoll_add(descriptor, other, UInt32(number)) == 0 { return true }
        guard errno == EPERM else {
            throw LoadError.system(operation: "wait for a descriptor", errno: errno)
        }
        return false
    }

    func remove(_ other: Int32) { _ = CLinux_epoll_remove(descriptor, other) }

    /// The numbers of descriptors that are readable, possibly several times; none when the time is over.
    func wait(milliseconds: Int) throws -> ArraySlice<UInt32> {
        let count = CLinux_epoll_wait(
            descriptor, &numbers, Int32(Self.most), Int32(clamping: milliseconds))
        if count < 0, errno != EINTR {
            throw LoadError.system(operation: "wait for descriptors", errno: errno)
        }
        return numbers.prefix(max(0, Int(count)))
    }
}
