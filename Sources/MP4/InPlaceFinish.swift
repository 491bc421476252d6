/// The writes that turn a growing recording into an ordinary MP4, in place.
///
/// In this order, each followed by `fdatasync`: cut the file at ``movieOffset`` (a torn tail goes), write ``movie``
/// there, read it back, write ``header`` at ``headerOffset``. Before that last write the file is a fragmented MP4
/// with a `moov` too many at its end; after it, `ftyp`, `mdat`, `moov`. Either way it plays.
package struct InPlaceFinish: Hashable, Sendable {
    /// Where fragments end and the final `moov` begins.
    package let movieOffset: Int64
    /// The final `moov`.
    package let movie: [UInt8]
    /// Where the placeholder lies.
    package let headerOffset: Int64
    /// The 16 bytes of the `mdat` header that swallows the initial `moov` and all fragments.
    package let header: [UInt8]

    /// - Parameters:
    ///   - layout: of the growing file.
    ///   - validEnd: the byte behind its last whole fragment.
    ///   - movie: what ``FinalMovieBuilder`` made of the fragments.
    package init(layout: RecordingLayout, validEnd: Int64, movie: [UInt8]) {
        precondition(!layout.isFinished, "a file is finished once")
        precondition(validEnd >= layout.fragments.lowerBound)
        movieOffset = validEnd
        self.movie = movie
        headerOffset = layout.placeholderOffset
        header = Self.header(from: layout.placeholderOffset, to: validEnd)
    }

    /// The header of the `mdat` that begins in the placeholder's place and ends at `end`.
    static func header(from start: Int64, to end: Int64) -> [UInt8] {
        var writer = BoxWriter(reserving: FragmentedHeader.placeholderSizeBytes)
        writer.u32(1)
        writer.fourCC("mdat")
        writer.i64(end - start)
        return writer.bytes
    }
}
