import Media
import Synchronization

/// Where a collector's status hangs for whoever wants to know: replaced about once a second by the thread that receives, read by others.
package final class StatusBoard: Sendable {
    private struct State {
        var status: CollectorStatus?
        var publishedNanoseconds: Int64 = 0
        var isStopping = false
        /// What is waited for before anything can be received.
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

    /// A sign of life of the work itself: called where the work is done.
    package func publish(_ status: CollectorStatus) {
        let now = now()
        state.withLock { state in
            state.status = status
            state.publishedNanoseconds = now
        }
    }

    /// The collector finishes its files, and ends.
    package func stopping() { state.withLock { $0.isStopping = true } }

    /// Nothing is received yet, for this reason, in a few words; nil: nothing is in the way.
    package func waiting(for obstacle: String?) { state.withLock { $0.obstacle = obstacle } }

    /// `/healthz`.
    package var liveness: HealthAnswer { liveness(moment) }

    /// `/readyz`.
    package var readiness: HealthAnswer { readiness(moment) }

    /// `/metrics`.
    package var metrics: String {
        let moment = moment
        return CollectorMetrics.text(
            moment.status, ageSeconds: moment.ageSeconds, readiness: readiness(moment),
            version: version, process: .current())
    }

    /// `/status`, and what `tributary top` shows.
    package var view: SiteView {
        let moment = moment
        return SiteView(
            moment.status, ageSeconds: moment.ageSeconds, readiness: readiness(moment),
            version: version, process: .current())
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
