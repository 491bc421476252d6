/// A write to a file, or a wait until what was written is durable.
package enum FileStep: Hashable, Sendable {
    /// Overwrites what is there; never goes past the end of the file.
    case write([UInt8], at: Int64)
    /// Makes the file longer, with zeros, or shorter.
    case resize(Int64)
    /// Goes on only when all before is durable.
    case synchronize
    /// Goes on only when these bytes read back.
    case check([UInt8], at: Int64)
}

/// How a finished recording gets another index without a byte of media being touched, and how it gets its own back.
///
/// ```
/// as finished:   ftyp | mdat ( moov, fragments )              | moov
/// replaced:      ftyp | mdat ( moov, fragments, moov )                 | moov
/// ```
///
/// The first index stays where it is. The other one is written behind it, and the size in the header of the big `mdat` says which
/// of the two is outside of it: one write of 16 bytes within the first sector. So the file plays at every instant, before that
/// write by the one index and after it by the other, and taking the replacement back is the same write once more. Until it is
/// whole, the other index is a `free` box. A file never has more than two indices: the second one is taken back before another one
/// is written.
package struct IndexReplacement: Sendable {
    /// Where the header of the big `mdat` lies.
    private let headerOffset: Int64
    /// The index that the recording was finished with.
    package let original: BoxHeader
    /// The index in force.
    package let current: BoxHeader
    /// Bytes in the file, with what an interrupted replacement left behind.
    private let sizeBytes: Int64

    /// Whether an index has taken the original's place.
    package var isReplaced: Bool { current.offset != original.offset }

    /// Whether something follows the index in force: a replacement was interrupted, or is being made.
    package var hasRemainder: Bool { sizeBytes > current.end }

    /// Finds a finished recording's indices.
    ///
    /// - Parameters:
    ///   - source: the file.
    ///   - layout: of the same.
    ///   - fragmentsEnd: the byte behind the last fragment (``FragmentScanner/validEnd``).
    /// - Throws: when the file has no index where it should be.
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

    /// Puts another index in force.
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

    /// Puts the original index in force again, and the file is, byte for byte, what it was; none when it is that already.
    package var stepsBack: [FileStep] {
        var steps: [FileStep] = []
        if isReplaced {
            steps += [.write(header(end: original.offset), at: headerOffset), .synchronize]
        }
        if sizeBytes > original.end { steps += [.resize(original.end), .synchronize] }
        return steps
    }

    /// The header of a big `mdat` that ends where `end` is.
    private func header(end: Int64) -> [UInt8] {
        InPlaceFinish.header(from: headerOffset, to: end)
    }
}
