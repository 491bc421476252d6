import CLinux
import Glibc

/// A thread for blocking work, with a name for `top -H` and debuggers.
package enum NamedThread {
    private final class Work: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// Starts a thread; it ends when `body` returns.
    /// - Parameter name: at most 15 bytes, the kernel's limit.
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        precondition(name.utf8.count <= 15, "the kernel keeps 15 bytes of a thread's name")
        let work = Unmanaged.passRetained(Work(name: name, body: body))
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let result = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                let work = Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
                _ = CLinux_name_thread(work.name)
                work.body()
                return nil
            }, work.toOpaque())
        pthread_attr_destroy(&attributes)
        precondition(result == 0, "the system has no thread left")
    }
}
