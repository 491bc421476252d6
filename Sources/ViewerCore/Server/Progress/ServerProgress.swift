import Dispatch
import Media
import Operations
import Synchronization
import Threads

/// Monitors the parts of the viewer that responses depend on: event loops, threads of tasks, and reading threads.
///
/// A separate thread has each part run a closure about once a second, and the next one after that. While all of them respond, it
/// notifies systemd's watchdog; a timer would not detect a hung event loop.
final class ServerProgress: Sendable {
    /// A part of the viewer.
    struct Part: Sendable {
        /// For messages: `an event loop`.
        var name: String
        /// For labels of metrics.
        var label: String
        /// Maximum time without progress.
        var patienceNanoseconds: Int64
        /// Schedules a closure on the part. Does not block.
        var ask: @Sendable (_ run: @escaping @Sendable () -> Void) -> Void
    }

    /// A part that only computes and sends.
    static let patienceNanoseconds = Int64(AlertLimits.progressSeconds * 1e9)
    /// Threads that read files block on disks and stores, whose own timeouts are shorter: a longer block is a hang.
    static let readingPatienceNanoseconds: Int64 = 300_000_000_000
    private static let usualIntervalMilliseconds = 1_000

    private struct State {
        /// Time of each unanswered request to a part, nanoseconds; nil: it has answered.
        var asked: [Int64?]
        var isStopped = false
    }

    private let parts: [Part]
    private let intervalMilliseconds: Int
    private let state: Mutex<State>
    private let thread = JoinableThread()
    private let wake = Semaphore(value: 0)

    init(_ parts: [Part], intervalMilliseconds: Int = ServerProgress.usualIntervalMilliseconds) {
        self.parts = parts
        self.intervalMilliseconds = intervalMilliseconds
        state = Mutex(State(asked: parts.map { _ in nil }))
    }

    /// Starts monitoring. To be called once.
    /// - Parameter alive: called on a separate thread, once per interval, while all parts respond.
    func start(alive: @escaping @Sendable () -> Void) {
        thread.start("progress") { [self] in
            while !state.withLock({ $0.isStopped }) {
                if stalled() == nil { alive() }
                ask()
                _ = wake.wait(timeout: .now() + .milliseconds(intervalMilliseconds))
            }
        }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        wake.signal()
        thread.join()
    }

    /// The part that is longest past its time limit, in words; nil: all make progress.
    func stalled(now: Int64 = SystemClock.monotonic.nowNanoseconds) -> String? {
        let late = zip(parts, ages(now: now)).filter { $0.patienceNanoseconds < $1 }
        guard let (part, age) = late.max(by: { $0.1 < $1.1 }) else { return nil }
        return "\(part.name) has been blocked for \(age / 1_000_000_000) s"
    }

    /// Time without progress by label, nanoseconds: the longest of its parts.
    func agesByLabel(now: Int64 = SystemClock.monotonic.nowNanoseconds) -> [String: Int64] {
        Dictionary(zip(parts.map(\.label), ages(now: now)), uniquingKeysWith: max)
    }

    private func ages(now: Int64) -> [Int64] {
        state.withLock { $0.asked }.map { asked in asked.map { max(0, now - $0) } ?? 0 }
    }

    private func ask() {
        let now = SystemClock.monotonic.nowNanoseconds
        let due = state.withLock { state in
            let due = parts.indices.filter { state.asked[$0] == nil }
            for index in due { state.asked[index] = now }
            return due
        }
        for index in due {
            parts[index].ask { [weak self] in self?.state.withLock { $0.asked[index] = nil } }
        }
    }
}
