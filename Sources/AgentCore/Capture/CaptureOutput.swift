import Devices
import Media
import Synchronization

/// One pipeline's connection to the sink, and its stop request.
final class CaptureOutput: Sendable {
    /// Maximum sleep of a thread between checks for a stop.
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
        // Within a track an encoder's delay is ordinary sound: silence at the seam.
        if continued.contains(sample.track) { sample.flags.remove(.priming) }
        hub.sample(sample)
    }

    /// Passes on a format that applies from now on.
    func formatChanged(_ format: TrackFormat) { hub.formatChanged(format) }

    /// Reports a loss.
    func lost(_ loss: CaptureLoss) { hub.lost(loss) }

    /// Reports a line for people.
    func noted(_ line: String) { hub.noted(line) }

    /// Passes on levels and rate of the sound.
    func heard(_ report: AudioReport) { hub.heard(report) }

    /// Stops this pipeline only.
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

    /// Iterations of the thread.
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
