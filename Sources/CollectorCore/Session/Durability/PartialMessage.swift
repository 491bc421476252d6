import Archive
import Media

/// What is to be recorded of a message that an earlier collector had a part of on disk.
struct PartialMessage: Hashable, Sendable {
    /// Where in the payload the samples' bytes begin; none when the whole message is to be recorded.
    var offsetBytes: Int?
    /// Where their tracks stand before them.
    var ends: [TrackKind: TrackEnd]
}
