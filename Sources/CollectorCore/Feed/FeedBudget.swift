import Media

/// Caps the bytes queued for subscribers.
///
/// Samples past the limit are dropped up to the source's next keyframe, because those in between could not be decoded.
/// Subscribers detect the loss by message numbers.
struct FeedBudget: Hashable, Sendable {
    /// Bytes queued for all subscribers: two seconds of 64 sources of 4 Mbit/s.
    static let maximumBytes = 64 << 20

    private let maximumBytes: Int
    /// Sources that have ever sent too much; bounded by the number of sources.
    private var gates: [String: KeyframeGate] = [:]

    init(maximumBytes: Int = FeedBudget.maximumBytes) { self.maximumBytes = maximumBytes }

    /// Whether more than half of the limit is used.
    func isCrowded(_ heldBytes: Int) -> Bool { heldBytes > maximumBytes / 2 }

    /// Whether `bytes` fit in addition to `heldBytes`.
    func hasRoom(for bytes: Int, besides heldBytes: Int) -> Bool {
        heldBytes <= maximumBytes - bytes
    }

    /// Whether samples of a source are sent.
    mutating func admits(
        _ source: String, sizeBytes: Int, beginsDecodable: Bool, besides heldBytes: Int
    ) -> Bool {
        guard hasRoom(for: sizeBytes, besides: heldBytes) else {
            gates[source, default: KeyframeGate()].skip()
            return false
        }
        return gates[source]?.admits(beginsDecodable: beginsDecodable) ?? true
    }
}
