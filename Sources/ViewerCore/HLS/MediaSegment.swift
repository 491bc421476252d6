import Media

/// A media segment of a recorded source (RFC 8216 §3): whole groups of pictures that lie back to back in one file.
package struct MediaSegment: Hashable, Sendable {
    /// Index in ``MediaSegmentation/files``.
    package var file: Int
    /// Its bytes in that file.
    package var range: Range<Int64>
    /// When its first picture is presented, nanoseconds of session time; where the file has no pictures, its first sound.
    package var startNanoseconds: Int64
    /// Up to the beginning of the next segment of the file, or up to its own end where the file or a gap follows. Positive.
    package var durationNanoseconds: Int64
    /// In its file, time jumps between the segment before and this one.
    package var followsGap: Bool

    package var endNanoseconds: Int64 { startNanoseconds.clampedAdding(durationNanoseconds) }
}
