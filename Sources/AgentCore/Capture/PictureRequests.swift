import Encoding
import Media
import Synchronization

/// Requests to a pipeline's pictures: made on any thread, applied by the pipeline's thread to its next picture.
final class PictureRequests: Sendable {
    /// Requests for the next picture.
    struct Pending: Sendable {
        var isKeyframeWanted = false
        var orientation: PictureOrientation?
        var rates: [(rate: VideoRate, answer: CancellableCall<EncodingError?>)] = []
        var snapshots: [CancellableCall<Snapshot>] = []
    }

    /// A picture as it was captured; its memory is not reused while it is referenced.
    struct Snapshot: Sendable {
        var frame: RawFrame
        var orientation: PictureOrientation
    }

    private let pending = Mutex(Pending())
    /// Checked for every picture.
    private let areAny = Atomic(false)

    /// Adds a request.
    func add(_ change: (inout Pending) -> Void) {
        pending.withLock { change(&$0) }
        areAny.store(true, ordering: .releasing)
    }

    /// Pending requests; nil if there are none.
    func take() -> Pending? {
        guard areAny.load(ordering: .acquiring) else { return nil }
        areAny.store(false, ordering: .relaxed)
        return pending.withLock { pending in
            defer { pending = Pending() }
            return pending
        }
    }
}
