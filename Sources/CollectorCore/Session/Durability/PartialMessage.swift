import Archive
import Media

/// The part of a message that is to be recorded, where an earlier collector had the rest on disk.
struct PartialMessage: Hashable, Sendable {
    /// Offset of the samples' bytes in the payload; none when the whole message is to be recorded.
    var offsetBytes: Int?
    /// Where their tracks end before them.
    var ends: [TrackKind: TrackEnd]
}
