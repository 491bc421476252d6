import Encoding
import Media
import Synchronization

/// What people ask of a pipeline's pictures while they come: anybody asks, the pipeline's thread does it with its next picture.
final class PictureRequests: Sendable {
    /// What is to be done with the next picture.
    struct Wishes: Sendable {
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

    private let wishes = Mutex(Wishes())
    /// Looked at for every picture.
    private let areAny = Atomic(false)

    /// Adds to what is to be done.
    func add(_ change: (inout Wishes) -> Void) {
        wishes.withLock { change(&$0) }
        areAny.store(true, ordering: .releasing)
    }

    /// What is to be done now; nil: nothing.
    func take() -> Wishes? {
        guard areAny.load(ordering: .acquiring) else { return nil }
        areAny.store(false, ordering: .relaxed)
        return wishes.withLock { wishes in
            defer { wishes = Wishes() }
            return wishes
        }
    }
}
