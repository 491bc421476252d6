import Encoding
import Media
import Synchronization

/// What people ask of a lane's pictures while they come: anybody asks, the lane's thread does it with its next picture.
final class PictureWishes: Sendable {
    /// What is to be done with the next picture.
    struct Wishes: Sendable {
        var isKeyframeWanted = false
        var orientation: PictureOrientation?
        var rates: [(rate: VideoRate, answer: OneAnswer<EncodingError?>)] = []
        var snapshots: [OneAnswer<Snapshot>] = []
    }

    /// A picture as it was captured, which stays as it is while somebody holds it.
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
