import Devices
import Media
import Synchronization

/// One pipeline's connection to the sink, and the request that it ends.
final class CaptureOutput: Sendable {
    /// The longest that a thread sleeps before it looks whether it should stop.
    private static let longestNapNanoseconds: Int64 = 100_000_000

    /// Requests to the pipeline's pictures.
    let wishes = PictureRequests()

    private let hub: CaptureHub
    /// Tracks whose earlier samples came from another pipeline with the same format.
    private let continued: Set<TrackKind>
    /// Another pipeline replaces this one.
    private let isRetiring = Atomic(false)
    private let turnCount = Atomic<UInt64>(0)

    init(_ hub: CaptureHub, continued: Set<TrackKind> = []) {
        self.hub = hub
        self.continued = continued
    }

    /// Passes on a sample.
    func sample(_ sample: EncodedSample) {
        var sample = sample
        // In the middle of a track an encoder's delay is sound like any other: silence, that makes the seam.
        if continued.contains(sample.track) { sample.flags.remove(.priming) }
        hub.sample(sample)
    }

    /// Passes on a format that holds from now on.
    func formatChanged(_ format: TrackFormat) { hub.formatChanged(format) }

    /// Reports a loss.
    func lost(_ loss: CaptureLoss) { hub.lost(loss) }

    /// Reports a line for people.
    func noted(_ line: String) { hub.noted(line) }

    /// Passes on how sound does.
    func heard(_ report: AudioReport) { hub.heard(report) }

    /// Has this pipeline alone come to an end.
    func retire() { isRetiring.store(true, ordering: .relaxed) }

    /// Whether the pipeline was replaced.
    var isRetired: Bool { isRetiring.load(ordering: .relaxed) }

    /// The time of the capture's clock, nanoseconds.
    var nowNanoseconds: Int64 { hub.clock.nowNanoseconds }

    /// Whether the thread has to end. Called in each iteration, so it also records progress.
    var isToStop: Bool {
        turnCount.wrappingAdd(1, ordering: .relaxed)
        return hub.isStopping || isRetired
    }

    /// How often the thread has come round.
    var turns: UInt64 { turnCount.load(ordering: .relaxed) }

    /// Sleeps until then; false when the pipeline is to stop instead.
    func wait(untilNanoseconds: Int64) -> Bool {
        while !isToStop {
            let now = hub.clock.nowNanoseconds
            if now >= untilNanoseconds { return true }
            hub.clock.sleep(
                untilNanoseconds: min(untilNanoseconds, now + Self.longestNapNanoseconds))
        }
        return false
    }
}
