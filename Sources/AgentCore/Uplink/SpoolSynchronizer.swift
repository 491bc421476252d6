import Dispatch
import Spooling
import Synchronization
import Threads

/// Synchronises a spool's files on a separate thread, because an SD card needs seconds for it.
final class SpoolSynchronizer: Sendable {
    private struct State {
        var names: [String] = []
        var isBusy = false
        var isStopped = false
        var failure: SpoolError?
    }

    private let state = Mutex(State())
    private let work = Semaphore(value: 0)

    /// Starts the thread; it ends with ``stop()``.
    init(_ storage: any SpoolStorage) {
        NamedThread.start("spool-sync") { [self] in
            while true {
                work.wait()
                let (names, isStopped) = state.withLock { ($0.names, $0.isStopped) }
                if isStopped { return }
                var failure: SpoolError?
                do throws(SpoolError) {
                    try storage.synchronize(names)
                } catch {
                    failure = error
                }
                state.withLock { state in
                    state.isBusy = false
                    state.failure = failure
                }
            }
        }
    }

    /// Whether it can accept more files.
    var isIdle: Bool { state.withLock { !$0.isBusy } }

    /// Synchronises these files, soon.
    func start(_ names: [String]) {
        state.withLock { state in
            precondition(!state.isBusy, "one at a time")
            state.names = names
            state.isBusy = true
        }
        work.signal()
    }

    /// The error since the last call.
    func takeFailure() -> SpoolError? {
        state.withLock { state in
            defer { state.failure = nil }
            return state.failure
        }
    }

    /// Ends the thread after its current work.
    func stop() {
        state.withLock { $0.isStopped = true }
        work.signal()
    }
}
