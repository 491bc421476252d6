import Devices
import Media
import Synchronization

/// Where a capture's threads meet: one call at a time reaches the sink, formats first and the end last.
final class CaptureOutput: Sendable {
    private struct State {
        var hasBegun = false
        var running: Int
        var failure: String?
    }

    /// The longest that a thread sleeps before it looks whether it should stop.
    private static let longestNapNanoseconds: Int64 = 100_000_000

    private let sink: any CaptureSink
    private let clock: any CaptureClock
    private let formats: [TrackFormat]
    private let state: Mutex<State>
    /// Somebody asked for the end. Not part of the state: a sink may ask from within a call.
    private let isStopRequested = Atomic(false)
    /// The threads are to come to an end, for whatever reason.
    private let isStopping = Atomic(false)

    /// `lanes` threads report to this output.
    init(
        sink: any CaptureSink, clock: any CaptureClock, formats: [TrackFormat], lanes: Int
    ) {
        self.sink = sink
        self.clock = clock
        self.formats = formats
        state = Mutex(State(running: lanes))
    }

    /// Passes on a sample.
    func sample(_ sample: EncodedSample) { deliver { $0.sample(sample) } }

    /// Passes on a format that holds from now on.
    func formatChanged(_ format: TrackFormat) { deliver { $0.formatChanged(format) } }

    /// Passes on what was lost.
    func lost(_ loss: CaptureLoss) { deliver { $0.lost(loss) } }

    /// Passes on what people may want to know.
    func noted(_ line: String) { deliver { $0.noted(line) } }

    /// Passes on how sound does.
    func heard(_ report: SoundReport) { deliver { $0.heard(report) } }

    /// The last word of each thread. The first failure stops the others, and is how the capture ended.
    func laneEnded(_ end: CaptureEnd) {
        state.withLock { state in
            begin(&state)
            state.running -= 1
            if case .failed(let text) = end {
                if state.failure == nil { state.failure = text }
                isStopping.store(true, ordering: .relaxed)
            }
            guard state.running == 0 else { return }
            if let failure = state.failure {
                sink.ended(.failed(failure))
            } else {
                let isStopped = isStopRequested.load(ordering: .relaxed)
                sink.ended(isStopped ? .stopped : end)
            }
        }
    }

    /// Asks all threads to come to an end; on any thread, also within a call of the sink.
    func stop() {
        isStopRequested.store(true, ordering: .relaxed)
        isStopping.store(true, ordering: .relaxed)
    }

    /// The time of the capture's clock, nanoseconds.
    var nowNanoseconds: Int64 { clock.nowNanoseconds }

    /// The thread is to come to an end.
    var isToStop: Bool { isStopping.load(ordering: .relaxed) }

    /// Sleeps until then; false when the capture is to stop instead.
    func wait(untilNanoseconds: Int64) -> Bool {
        while !isStopping.load(ordering: .relaxed) {
            let now = clock.nowNanoseconds
            if now >= untilNanoseconds { return true }
            clock.sleep(
                untilNanoseconds: min(untilNanoseconds, now + Self.longestNapNanoseconds))
        }
        return false
    }

    private func deliver(_ call: (any CaptureSink) -> Void) {
        state.withLock { state in
            begin(&state)
            call(sink)
        }
    }

    private func begin(_ state: inout State) {
        if state.hasBegun { return }
        state.hasBegun = true
        sink.formats(formats)
    }
}
