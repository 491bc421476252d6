/// Fragments that wait to be submitted to the disk, and whether they may.
///
/// Waking the disk's thread for each fragment costs more than writing it, and nothing is durable before the next commit
/// anyway. So fragments wait for it, unless a source needs the credit that they hold, or there are many.
struct PendingMedia: Hashable, Sendable {
    /// Limit of pending bytes of all sources: more would make the disk's load uneven.
    private static let manyBytes = 8 << 20
    /// Limit of pending bytes of one source: a quarter of the largest credit window.
    private static let manyOfSourceBytes = 2 << 20

    private var bytes = 0
    private var bytesBySource: [String: Int] = [:]
    /// Whether they may not wait.
    private(set) var isUrgent = false
    /// Whether a source waits for the credit that they hold.
    private(set) var isCreditAwaited = false

    mutating func add(_ sizeBytes: Int, of source: String) {
        bytes += sizeBytes
        bytesBySource[source, default: 0] += sizeBytes
        if bytes >= Self.manyBytes || bytesBySource[source, default: 0] >= Self.manyOfSourceBytes {
            isUrgent = true
        }
    }

    /// A job other than media is waiting.
    mutating func hurry() { isUrgent = true }

    /// Whether any media of a source waits.
    func holds(_ source: String) -> Bool { bytes > 0 && bytesBySource[source] != nil }

    /// A source has little credit left.
    mutating func awaitCredit(of source: String) {
        guard holds(source) else { return }
        isUrgent = true
        isCreditAwaited = true
    }

    mutating func clear() {
        bytes = 0
        bytesBySource.removeAll(keepingCapacity: true)
        isUrgent = false
        isCreditAwaited = false
    }
}
