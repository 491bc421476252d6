/// The start of a recording's file, and the phase of its life.
///
/// Growing: `ftyp`, a `free` box of 16 bytes, the initial `moov`, fragments. Finished: the `free` box has become the
/// header of an `mdat` that encloses all of that, and the final `moov` follows.
package struct RecordingLayout: Sendable {
    /// Offset of the placeholder, or of the header that replaced it.
    package let placeholderOffset: Int64
    /// Whether the placeholder has become `mdat`.
    package let isFinished: Bool
    /// The initial `moov`.
    package let initialMovie: Movie
    /// The range of fragments: from the initial `moov` to the end of the file, or of the big `mdat`.
    package let fragments: Range<Int64>
    /// Whether a finished file's `mdat` is longer than the file.
    package let isCutShort: Bool

    /// Reads the start of a file.
    ///
    /// - Throws: ``MP4Error/notARecording(offset:reason:)`` if it is not a recording.
    package init(of source: some ByteSource) throws(MP4Error) {
        do {
            var boxes = BoxReader(source)
            guard let fileType = try boxes.next(), fileType.type == "ftyp" else {
                throw MP4Error.notARecording(offset: 0, reason: "no ftyp")
            }
            let start = fileType.end
            let front = try source.read(
                at: start,
                count: Int(min(Int64(BoxHeader.maximumSizeBytes), source.sizeBytes - start)))
            // The size is not limited to the file's: the end of a finished file may have been lost.
            let placeholder = try BoxHeader(parsing: front[...], at: start, limit: .max)
            switch (placeholder.type, placeholder.headerSizeBytes, placeholder.sizeBytes) {
            case ("free", _, Int64(FragmentedHeader.placeholderSizeBytes)):
                isFinished = false
                isCutShort = false
            case ("mdat", Int64(FragmentedHeader.placeholderSizeBytes), _):
                isFinished = true
                isCutShort = placeholder.end > source.sizeBytes
            default:
                throw MP4Error.notARecording(
                    offset: start,
                    reason:
                        "a box '\(placeholder.type)' of \(placeholder.sizeBytes) bytes behind 'ftyp'"
                )
            }
            placeholderOffset = start
            let inner = start + Int64(FragmentedHeader.placeholderSizeBytes)
            let end = isFinished ? min(placeholder.end, source.sizeBytes) : source.sizeBytes
            var content = BoxReader(source, in: min(inner, end)..<end)
            guard let moov = try content.next(), moov.type == "moov" else {
                throw MP4Error.notARecording(
                    offset: inner, reason: "no moov at the beginning of its media")
            }
            initialMovie = try Movie(reading: moov, from: source)
            try Self.check(initialMovie)
            fragments = moov.end..<end
        } catch let error as MP4Error {
            switch error {
            case .unreadable, .shortRead, .notARecording: throw error
            default: throw .notARecording(offset: 0, reason: error.description)
            }
        } catch {
            preconditionFailure("only MP4Error is thrown: \(error)")
        }
    }

    /// A recording has at most one track of each kind, and a time shift within the limit.
    private static func check(_ movie: Movie) throws(MP4Error) {
        let kinds = movie.tracks.compactMap(\.kind)
        guard Set(kinds).count == kinds.count else {
            throw .invalid(
                box: "moov", offset: movie.header.offset, reason: "two tracks of one kind")
        }
        for track in movie.tracks where track.mediaTimeShift > FragmentLimits.mediaTimeShift {
            throw .overLimit(
                box: "elst", offset: movie.header.offset, what: "media time",
                value: UInt64(track.mediaTimeShift),
                limit: UInt64(FragmentLimits.mediaTimeShift))
        }
    }
}
