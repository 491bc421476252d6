import Devices
import Encoding
import Media
import Synchronization

/// One pipeline's connection to the sink, and its stop request.
final class CaptureOutput: Sendable {
    /// Maximum sleep of a thread between checks for a stop.
    private static let longestNapNanoseconds: Int64 = 100_000_000

    /// Requests to the pipeline's pictures.
    let requests = PictureRequests()

    private let hub: CaptureHub
    /// Tracks whose earlier samples came from another pipeline with the same format.
    private let continued: Set<TrackKind>
    /// Another pipeline replaces this one.
    private let isRetiring = Atomic(false)
    private let turnCount = Atomic<UInt64>(0)
    /// Whether the preview gets encoded pictures.
    private let sharesSamples: Bool
    private let isShortOfMemory = Atomic(false)
    private let presentTrouble = Mutex<CaptureTrouble?>(nil)

    /// - Parameter sharesSamples: whether the pipeline has no raw pictures for a preview.
    init(_ hub: CaptureHub, continued: Set<TrackKind> = [], sharesSamples: Bool = false) {
        self.hub = hub
        self.continued = continued
        self.sharesSamples = sharesSamples
    }

    /// Passes on a sample.
    func sample(_ sample: EncodedSample) {
        var sample = sample
        // Within a track, the priming of a new encoder is presented: it is the silence between the two pipelines.
        if continued.contains(sample.track) { sample.flags.remove(.priming) }
        hub.sample(sample, isShared: sharesSamples)
    }

    /// Gives the preview a picture that is encoded next. Does not block.
    func share(_ picture: RawFrame, _ shape: @autoclosure () -> PictureShape) {
        guard let shared = hub.shared, shared.isWanted else { return }
        shared.offer(
            picture, shape(), isScarce: isShortOfMemory.load(ordering: .relaxed))
    }

    /// Whether the device needs the memory of its pictures back at once: the preview gets none.
    func setShortOfMemory(_ isShort: Bool) { isShortOfMemory.store(isShort, ordering: .relaxed) }

    /// Has the preview return the pictures' memory: the device is about to be closed.
    func reclaimPictures() { hub.shared?.reclaim(hub.clock) }

    /// Passes on a format that applies from now on.
    func formatChanged(_ format: TrackFormat) { hub.formatChanged(format) }

    /// Reports a loss.
    func lost(_ loss: CaptureLoss) { hub.lost(loss) }

    /// Reports one line for logs and screens.
    func noted(_ line: String) { hub.noted(line) }

    /// Passes on levels and rate of the sound.
    func heard(_ report: AudioReport) { hub.heard(report) }

    /// Why the pipeline records nothing of some tracks at present; nil if it does.
    var trouble: CaptureTrouble? {
        get { presentTrouble.withLock { $0 } }
        set { presentTrouble.withLock { $0 = newValue } }
    }

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
