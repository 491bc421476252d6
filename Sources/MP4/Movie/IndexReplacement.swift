/// A write to a file, or a barrier that makes earlier writes durable.
package enum FileStep: Hashable, Sendable {
    /// Overwrites existing bytes; never extends the file.
    case write([UInt8], at: Int64)
    /// Extends the file with zeros, or truncates it.
    case resize(Int64)
    /// Waits until all earlier steps are durable.
    case synchronize
    /// Continues only if these bytes read back.
    case check([UInt8], at: Int64)
}

/// Replaces the index of a finished recording without touching its media, and restores the original index.
///
/// ```
/// as finished:   ftyp | mdat ( moov, fragments )              | moov
/// replaced:      ftyp | mdat ( moov, fragments, moov )                 | moov
/// ```
///
/// The first index stays in the file. The other one is written after it, and the size in the header of the big `mdat`
/// determines which of the two is outside of it: one write of 16 bytes within the first sector. So the file is playable
/// at every instant, before that write with one index and after it with the other, and the same write reverts the
/// replacement. The other index is a `free` box until it is complete. A file never has more than two indices: the
/// second one is reverted before another one is written.
package struct IndexReplacement: Sendable {
    /// Offset of the header of the big `mdat`.
    private let headerOffset: Int64
    /// The index that the recording was finished with.
    package let original: BoxHeader
    /// The active index.
    package let current: BoxHeader
    /// Size of the file, with leftovers of an interrupted replacement.
    private let sizeBytes: Int64

    /// Whether the original index is replaced.
    package var isReplaced: Bool { current.offset != original.offset }

    /// Whether bytes follow the active index: a replacement was interrupted, or is in progress.
    package var hasRemainder: Bool { sizeBytes > current.end }

    /// Finds a finished recording's indices.
    ///
    /// - Parameters:
    ///   - source: the file.
    ///   - layout: of the file.
    ///   - fragmentsEnd: the end of the last fragment (``FragmentScanner/validEnd``).
    /// - Throws: when the file has no index where it is expected.
    package init(
        of source: some ByteSource, layout: RecordingLayout, fragmentsEnd: Int64
    ) throws(MP4Error) {
        precondition(layout.isFinished, "a growing file has no index to be replaced")
        headerOffset = layout.placeholderOffset
        sizeBytes = source.sizeBytes
        func index(at offset: Int64) throws(MP4Error) -> BoxHeader {
            var boxes = BoxReader(source, in: offset..<source.sizeBytes)
            guard let box = try boxes.next(), box.type == "moov" else {
                throw .missing("moov", in: "file", offset: offset)
            }
            return box
        }
        original = try index(at: fragmentsEnd)
        current = try index(at: layout.fragments.upperBound)
        guard !isReplaced || original.end == layout.fragments.upperBound else {
            throw .invalid(
                box: "moov", offset: original.offset, reason: "not all that follows the fragments")
        }
    }

    /// The steps that activate another index.
    ///
    /// - Precondition: `movie` is a whole `moov`, smaller than 4 GiB.
    package func steps(replacingWith movie: [UInt8]) -> [FileStep] {
        let type = 4..<8
        precondition(movie[type].elementsEqual("moov".utf8), "an index is a moov")
        let place = original.end
        let hidden = Array(movie[..<4]) + "free".utf8
        return stepsBack
            + [
                .resize(place + Int64(movie.count)),
                .write(hidden, at: place),
                .write(Array(movie[8...]), at: place + 8),
                .synchronize,
                .check(hidden + movie[8...], at: place),
                .write(Array(movie[type]), at: place + 4),
                .synchronize,
                .write(header(end: place), at: headerOffset),
                .synchronize,
            ]
    }

    /// The steps that restore the original file, byte for byte; empty if nothing is replaced.
    package var stepsBack: [FileStep] {
        var steps: [FileStep] = []
        if isReplaced {
            steps += [.write(header(end: original.offset), at: headerOffset), .synchronize]
        }
        if sizeBytes > original.end { steps += [.resize(original.end), .synchronize] }
        return steps
    }

    /// The header of a big `mdat` that ends at `end`.
    private func header(end: Int64) -> [UInt8] {
        InPlaceFinish.header(from: headerOffset, to: end)
    }
}
