import Archive
import Media

/// The part of a message that is to be recorded, where an earlier collector had the rest on disk.
struct PartialMessage: Hashable, Sendable {
    /// Offset of the samples' bytes in the payload; nil: the whole message is to be recorded.
    var offsetBytes: Int?
    /// The end of each track before the samples.
    var ends: [TrackKind: TrackEnd]
}
