/// The writes that turn a growing recording into an ordinary MP4, in place.
///
/// In this order, each followed by `fdatasync`: truncate the file at ``movieOffset`` (which removes a torn tail), write
/// ``movie`` there, read it back, write ``header`` at ``headerOffset``. Before that last write the file is a fragmented
/// MP4 with an extra `moov` at its end; after it, `ftyp`, `mdat`, `moov`. It is playable in both states.
package struct InPlaceFinish: Hashable, Sendable {
    /// The end of the fragments and offset of the final `moov`.
    package let movieOffset: Int64
    /// The final `moov`.
    package let movie: [UInt8]
    /// Offset of the placeholder.
    package let headerOffset: Int64
    /// The 16 bytes of the `mdat` header that encloses the initial `moov` and all fragments.
    package let header: [UInt8]

    /// - Parameters:
    ///   - layout: of the growing file.
    ///   - validEnd: the end of its last whole fragment.
    ///   - movie: the result of ``FinalMovieBuilder``.
    package init(layout: RecordingLayout, validEnd: Int64, movie: [UInt8]) {
        precondition(!layout.isFinished, "a file is finished once")
        precondition(validEnd >= layout.fragments.lowerBound)
        movieOffset = validEnd
        self.movie = movie
        headerOffset = layout.placeholderOffset
        header = Self.header(from: layout.placeholderOffset, to: validEnd)
    }

    /// The header of the `mdat` from the placeholder's offset to `end`.
    static func header(from start: Int64, to end: Int64) -> [UInt8] {
        var writer = BoxWriter(reserving: FragmentedHeader.placeholderSizeBytes)
        writer.u32(1)
        writer.fourCC("mdat")
        writer.i64(end - start)
        return writer.bytes
    }
}
