import Media
import Synchronization

/// The latest status of a collector, replaced about once a second by the receiving thread, and read by other threads.
package final class StatusBoard: Sendable {
    private struct State {
        var status: CollectorStatus?
        var publishedNanoseconds: Int64 = 0
        var isStopping = false
        /// The reason why the collector does not receive yet.
        var obstacle: String?
    }

    private let state = Mutex(State())
    private let version: String
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - version: of the program.
    ///   - now: a monotonic clock, nanoseconds.
    package init(
        version: String, now: @escaping @Sendable () -> Int64 = StatusBoard.monotonicNanoseconds
    ) {
        self.version = version
        self.now = now
    }

    /// Publishes the status. Also proves that the calling thread is alive, so call it on the working thread.
    package func publish(_ status: CollectorStatus) {
        let now = now()
        state.withLock { state in
            state.status = status
            state.publishedNanoseconds = now
        }
    }

    /// The collector is finishing its files.
    package func stopping() { state.withLock { $0.isStopping = true } }

    /// The collector does not receive yet, for this reason, in a few words; nil: no reason.
    package func waiting(for obstacle: String?) { state.withLock { $0.obstacle = obstacle } }

    /// `/healthz`.
    package var liveness: HealthAnswer { liveness(moment) }

    /// `/readyz`.
    package var readiness: HealthAnswer { readiness(moment) }

    /// `/metrics`.
    package var metrics: String {
        let moment = moment
        return CollectorMetrics.text(
            moment.status, ageSeconds: moment.ageSeconds, readiness: recording(moment),
            version: version, process: .current())
    }

    /// `/status`, and the data of `tributary top`.
    package var view: SiteView {
        let moment = moment
        return SiteView(
            moment.status, ageSeconds: moment.ageSeconds, readiness: recording(moment),
            version: version, process: .current(), obstacle: moment.obstacle)
    }

    private struct Moment {
        var status: CollectorStatus?
        var ageSeconds: Double?
        var isStopping: Bool
        var obstacle: String?
    }

    private var moment: Moment {
        let state = state.withLock { $0 }
        let age = Double(now() - state.publishedNanoseconds) / 1e9
        return Moment(
            status: state.status, ageSeconds: state.status == nil ? nil : age,
            isStopping: state.isStopping, obstacle: state.obstacle)
    }

    private func liveness(_ moment: Moment) -> HealthAnswer {
        .liveness(ageSeconds: moment.ageSeconds, isStopping: moment.isStopping)
    }

    /// As ``readiness(_:)``; a drained collector records.
    private func recording(_ moment: Moment) -> HealthAnswer {
        .recording(
            moment.status, ageSeconds: moment.ageSeconds, isStopping: moment.isStopping,
            obstacle: moment.obstacle)
    }

    private func readiness(_ moment: Moment) -> HealthAnswer {
        .readiness(
            moment.status, ageSeconds: moment.ageSeconds, isStopping: moment.isStopping,
            obstacle: moment.obstacle)
    }

    /// `CLOCK_MONOTONIC`.
    @Sendable package static func monotonicNanoseconds() -> Int64 {
        SystemClock.monotonic.nowNanoseconds
    }
}
