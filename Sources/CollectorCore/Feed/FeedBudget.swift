/// Decides which samples of a feed are sent, so that those which wait have a most of bytes.
///
/// What does not fit is left out up to the source's next keyframe: what comes between could not be decoded, and would take the room of
/// others. Subscribers see it by the numbers of the messages.
struct FeedBudget: Hashable, Sendable {
    /// All that waits for subscribers: two seconds of 64 sources of 4 Mbit/s.
    static let maximumBytes = 64 << 20

    private let maximumBytes: Int
    /// Sources that wait for a keyframe; at most those that have ever sent.
    private var skipping: Set<String> = []

    init(maximumBytes: Int = FeedBudget.maximumBytes) { self.maximumBytes = maximumBytes }

    /// Whether more than half of the room is taken.
    func isCrowded(_ heldBytes: Int) -> Bool { heldBytes > maximumBytes / 2 }

    /// Whether so many bytes fit besides those that wait.
    func hasRoom(for bytes: Int, besides heldBytes: Int) -> Bool {
        heldBytes <= maximumBytes - bytes
    }

    /// Whether samples of a source are sent.
    mutating func admits(
        _ source: String, sizeBytes: Int, beginsDecodable: Bool, besides heldBytes: Int
    ) -> Bool {
        if skipping.contains(source), !beginsDecodable { return false }
        guard hasRoom(for: sizeBytes, besides: heldBytes) else {
            skipping.insert(source)
            return false
        }
        skipping.remove(source)
        return true
    }
}
