import Messaging
import Synchronization

/// Control and progress of a replay for other threads.
package final class ReplayControl: Sendable {
    /// Pending requests.
    struct Requests {
        var isPaused = false
        var steps = 0
        /// No more of the recording is sent.
        var isStopping = false
        /// All waits end.
        var isAbandoned = false
    }

    /// Ends the replay's waits.
    let wakeUp: WakeUp
    private let requests: Mutex<Requests>
    private let stopping: @Sendable () -> Void
    private let abandoning: @Sendable () -> Void
    private let statusNow = Mutex(ReplayStatus())

    /// - Parameters:
    ///   - stopping: called by ``stop()`` on its caller's thread, to limit blocking calls.
    ///   - abandoning: called by ``abandon()`` on its caller's thread, to cancel blocking calls.
    package init(
        startsPaused: Bool, stopping: @escaping @Sendable () -> Void = {},
        abandoning: @escaping @Sendable () -> Void = {}
    ) throws(ReplayError) {
        self.stopping = stopping
        self.abandoning = abandoning
        requests = Mutex(Requests(isPaused: startsPaused))
        do throws(MessagingError) {
            wakeUp = try WakeUp()
        } catch {
            throw ReplayError("\(error)")
        }
    }

    /// Requests the end of the replay; sent samples are completed.
    package func stop() {
        change { $0.isStopping = true }
        stopping()
    }

    /// Ends the replay without waiting for acknowledgements.
    package func abandon() {
        change {
            $0.isStopping = true
            $0.isAbandoned = true
        }
        abandoning()
    }

    package func togglePause() { change { $0.isPaused.toggle() } }

    /// Pauses, and plays the next sample.
    package func step() {
        change {
            $0.isPaused = true
            $0.steps += 1
        }
    }

    package var status: ReplayStatus { statusNow.withLock { $0 } }

    // MARK: For the replay's thread

    /// Pending requests; steps are returned once.
    func takeRequests() -> Requests {
        wakeUp.drain()
        return requests.withLock { requests in
            defer { requests.steps = 0 }
            return requests
        }
    }

    func setStatus(_ status: ReplayStatus) { statusNow.withLock { $0 = status } }

    private func change(_ body: (inout Requests) -> Void) {
        requests.withLock { body(&$0) }
        wakeUp.signal()
    }
}
