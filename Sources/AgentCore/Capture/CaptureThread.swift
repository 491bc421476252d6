import CLinux
import Glibc

/// A thread with a name, for work that blocks in C.
enum CaptureThread {
    /// Linux keeps this many bytes of a name.
    private static let longestName = 15

    /// Runs `body` on a new thread.
    ///
    /// - Throws: when the system has no room for another thread.
    static func start(
        _ name: String, _ body: @escaping @Sendable () -> Void
    ) throws(CaptureError) {
        precondition(name.utf8.count <= longestName)
        let work = Unmanaged.passRetained(Work(name: name, body: body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let work = Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
                _ = CLinux_name_thread(work.name)
                work.body()
                return nil
            }, work.toOpaque())
        guard result == 0 else {
            work.release()
            throw .settings("cannot start the thread \(name): \(String(cString: strerror(result)))")
        }
        pthread_detach(thread)
    }

    private final class Work: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}
