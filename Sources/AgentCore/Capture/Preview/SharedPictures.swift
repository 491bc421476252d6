import Devices
import Encoding
import Media
import Synchronization

/// Passes a source's pictures on to its preview: raw ones without a copy before they are encoded, or encoded ones of a source
/// that is not encoded here.
///
/// Exists for each source of a group and outlives its captures. Without subscriptions, all calls return at once.
package final class SharedPictures: Sendable {
    /// Time for previews to process the last pictures, before the waiting ones are dropped.
    private static let graceNanoseconds: Int64 = 250_000_000
    /// Further time for previews to scale the picture that they are processing.
    private static let longestReclaimNanoseconds: Int64 = 500_000_000
    private static let napNanoseconds: Int64 = 1_000_000

    private let subscriptions = Mutex<[PictureSubscription]>([])
    private let areWanted = Atomic(false)

    package init() {}

    /// Whether there is a subscription.
    var isWanted: Bool { areWanted.load(ordering: .acquiring) }

    /// The pictures from now on.
    func subscribe() -> PictureSubscription {
        let subscription = PictureSubscription()
        subscriptions.withLock { $0.append(subscription) }
        areWanted.store(true, ordering: .releasing)
        return subscription
    }

    /// A picture that is encoded next.
    /// - Parameter isScarce: whether the source needs its memory at once.
    func offer(_ picture: RawFrame, _ shape: PictureShape, isScarce: Bool) {
        pass { $0.put(picture, shape, isScarce: isScarce) }
    }

    /// A picture of a source that is not encoded here.
    func offer(_ sample: EncodedSample, _ format: VideoFormat) { pass { $0.put(sample, format) } }

    /// Pictures that the source lacks.
    func lost(_ loss: CaptureLoss) { pass { $0.put(loss) } }

    /// The pipeline has ended, and another one may follow.
    func interrupt(_ cause: CaptureLossCause, _ text: String) {
        pass { $0.interrupt(cause, text) }
    }

    /// The source has ended.
    func end(_ end: CaptureEnd) { pass { $0.end(end) } }

    /// Returns when no preview refers to memory of earlier pictures: the device that owns it is about to be closed. Waits for the
    /// picture that is being scaled.
    func reclaim(_ clock: any CaptureClock) {
        guard isWanted else { return }
        let current = subscriptions.withLock { $0 }
        func wait(atMost nanoseconds: Int64) {
            let end = clock.nowNanoseconds + nanoseconds
            while current.contains(where: \.hasMemory), clock.nowNanoseconds < end {
                clock.sleep(untilNanoseconds: clock.nowNanoseconds + Self.napNanoseconds)
            }
        }
        wait(atMost: Self.graceNanoseconds)
        for subscription in current { subscription.put { $0.dropRaw() } }
        wait(atMost: Self.longestReclaimNanoseconds)
    }

    private func pass(_ change: (inout PictureBacklog) -> Void) {
        guard isWanted else { return }
        let current = subscriptions.withLock { subscriptions in
            subscriptions.removeAll(where: \.isCancelled)
            if subscriptions.isEmpty { areWanted.store(false, ordering: .releasing) }
            return subscriptions
        }
        for subscription in current { subscription.put(change) }
    }
}
