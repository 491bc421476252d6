/// Fragments that wait to be handed to the disk, and whether they may.
///
/// Waking the disk's thread for each fragment costs more than writing it, and nothing is durable before the next commit anyway. So
/// fragments wait for it, unless a source needs the credit that they hold, or there are many.
struct PendingMedia: Hashable, Sendable {
    /// Of all sources: more than that would make the disk's work uneven.
    private static let manyBytes = 8 << 20
    /// Of one source: a quarter of the largest credit window.
    private static let manyOfSourceBytes = 2 << 20

    private var bytes = 0
    private var bytesBySource: [String: Int] = [:]
    /// Whether they may not wait.
    var isUrgent = false

    mutating func add(_ sizeBytes: Int, of source: String) {
        bytes += sizeBytes
        bytesBySource[source, default: 0] += sizeBytes
        if bytes >= Self.manyBytes { isUrgent = true }
    }

    /// Checks whether a source needs its credit back.
    /// - Parameter roomBytes: how much of it may wait.
    mutating func check(_ source: String, roomBytes: Int) {
        guard bytes > 0, let waiting = bytesBySource[source] else { return }
        if waiting >= min(roomBytes, Self.manyOfSourceBytes) { isUrgent = true }
    }

    mutating func clear() {
        bytes = 0
        bytesBySource.removeAll(keepingCapacity: true)
        isUrgent = false
    }
}
