import Dispatch
import Synchronization
import Threads

/// The request that a collector stops. Thread-safe.
final class StopRequest: Sendable {
    /// How long services that only read are waited for: recordings are complete by then.
    private static let seconds = 3
    /// Maximum wait for these services if the collector ends by itself.
    private static let longestSeconds = 60

    private let hasBegun = Atomic(false)
    private let endsSessions = Atomic(false)
    private let requested = Mutex<DispatchTime?>(nil)
    /// Ends a pause before the collector listens.
    private let signal = Semaphore(value: 0)

    /// - Parameter endsSession: whether the session ends and its files are finished.
    func begin(endsSession: Bool) {
        endsSessions.store(endsSession, ordering: .releasing)
        hasBegun.store(true, ordering: .releasing)
        requested.withLock { $0 = $0 ?? .now() + .seconds(Self.seconds) }
        signal.signal()
    }

    /// Whether the collector is to stop.
    var isMade: Bool { hasBegun.load(ordering: .acquiring) }
    var endsSession: Bool { endsSessions.load(ordering: .acquiring) }
    /// Until when services are waited for at the end.
    var deadline: DispatchTime {
        requested.withLock { $0 } ?? .now() + .seconds(Self.longestSeconds)
    }

    /// Blocks for this long, or until a stop is requested.
    func pause(seconds: Int) { _ = signal.wait(timeout: .now() + .seconds(seconds)) }
}
