package import Archive
package import Recordings
import MP4
import Media

/// A virtual MP4 of a recording: its index in memory, its media in the recorded files. Supports random access.
///
/// Nothing is encoded and nothing is written. Equal recordings have equal bytes and an equal ``tag``.
package struct VirtualMovie: Sendable {
    /// Maximum size of tables and ranges: a day of one source at 60 pictures a second.
    private static let maximumIndexBytes = 192 << 20

    private struct Piece: Sendable {
        var content: MoviePiece
        /// Its offset in the movie.
        var start: Int64

        var sizeBytes: Int64 { content.sizeBytes }
    }

    package let sizeBytes: Int64
    /// Identifies the bytes: another recording, range or retiming has another tag.
    package let tag: Digest
    /// Session time of its start, nanoseconds.
    package let startNanoseconds: Int64
    package let durationNanoseconds: Int64
    /// Memory use, bytes.
    package var memoryBytes: Int { front.count + pieces.count * MemoryLayout<Piece>.stride }
    private let front: [UInt8]
    private let pieces: [Piece]

    /// Reads the heads of the fragments in a range.
    /// - Throws: when the range is empty, or its index would be too large.
    package init(_ range: ExportRange, control: WorkControl = WorkControl()) throws {
        var plan = MoviePlan(
            range, closesGaps: false, in: MemoryMovieStorage(limit: Self.maximumIndexBytes),
            control: control)
        try plan.read()
        let result = try plan.result(flavour: .mp4)
        let storage = plan.storage
        let front = Int64(result.movie.fileType.count) + FlatMovie.mediaHeaderSizeBytes
        let (index, indexBytes) = try result.index(
            front: front, mediaBytes: storage.mediaBytes, isFirst: true)
        let mediaStart = front + indexBytes
        var bytes = result.movie.fileType
        bytes.reserveCapacity(Int(mediaStart))
        for part in index {
            switch part {
            case .bytes(let some): bytes += some
            case .rows(let track, .offsets, let isWide):
                bytes += FlatMovie.placed(
                    storage.rows[track, .offsets], from: mediaStart, isWide: isWide)
            case .rows(let track, let table, _): bytes += storage.rows[track, table]
            }
        }
        bytes += FlatMovie.mediaHeader(sizeBytes: storage.mediaBytes)
        self.front = bytes
        var position = Int64(bytes.count)
        var described = bytes
        pieces = storage.pieces.map { content in
            defer { position += content.sizeBytes }
            switch content {
            case .range(let range, let file):
                described += Array("\(file.path) \(file.revision) \(range)\n".utf8)
            case .bytes(let bytes): described += bytes
            }
            return Piece(content: content, start: position)
        }
        sizeBytes = position
        tag = Digest(of: described)
        startNanoseconds = result.summary.startNanoseconds
        durationNanoseconds = result.summary.durationNanoseconds
    }

    /// Up to `count` bytes from `offset` on; fewer only at the end.
    package func read(from offset: Int64, count: Int) throws(ArchiveError) -> [UInt8] {
        precondition(offset >= 0 && count >= 0)
        let count = Int(max(0, min(sizeBytes - offset, Int64(count))))
        var failure: ArchiveError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(ArchiveError) {
                filled = try read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Fills memory with the bytes from `offset` on.
    /// - Returns: their number, less than requested only at the end.
    package func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ArchiveError) -> Int {
        try fill(buffer, from: offset) { file, place, part throws(ArchiveError) in
            try file.read(at: place, into: part)
            return part.count
        }
    }

    /// Fills memory with the bytes from `offset` on, as far as possible without waiting for a disk.
    /// - Returns: their number.
    package func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        fill(buffer, from: offset) { file, place, part in file.readCached(at: place, into: part) }
    }

    /// Fills memory piece by piece, up to the first that `read` does not fill.
    private func fill<Failure: Error>(
        _ buffer: UnsafeMutableRawBufferPointer, from offset: Int64,
        with read: (RecordedFile, Int64, UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> Int {
        let end = min(sizeBytes, offset.clampedAdding(Int64(buffer.count)))
        guard offset >= 0, offset < end else { return 0 }
        var filled = 0
        if offset < Int64(front.count) {
            filled = Int(min(end, Int64(front.count)) - offset)
            front.withUnsafeBytes { bytes in
                buffer.copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: bytes[Int(offset)...].prefix(filled)))
            }
        }
        var index = firstPiece(endingAfter: offset)
        while index < pieces.count, pieces[index].start < end {
            let piece = pieces[index]
            let position = offset + Int64(filled) - piece.start
            let count = Int(min(end - piece.start, piece.sizeBytes) - position)
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<filled + count])
            index += 1
            switch piece.content {
            case .bytes(let bytes):
                part.copyBytes(from: bytes[Int(position)..<Int(position) + count])
                filled += count
            case .range(let range, let file):
                let got = try read(file, range.lowerBound + position, part)
                filled += got
                guard got == count else { return filled }
            }
        }
        return filled
    }

    /// The extents of a range on a local disk, in order; nil if a part is in memory or in an object store.
    package func extents(_ range: Range<Int64>) -> [FileExtent]? {
        guard range.lowerBound >= Int64(front.count), range.upperBound <= sizeBytes else {
            return nil
        }
        var extents: [FileExtent] = []
        var index = firstPiece(endingAfter: range.lowerBound)
        while index < pieces.count, pieces[index].start < range.upperBound {
            let piece = pieces[index]
            guard case .range(let own, let file) = piece.content else { return nil }
            let begin = max(0, range.lowerBound - piece.start)
            let end = min(piece.sizeBytes, range.upperBound - piece.start)
            let first = own.lowerBound
            guard let extent = file.extent(first + begin..<first + end) else { return nil }
            extents.append(extent)
            index += 1
        }
        return extents
    }

    private func firstPiece(endingAfter offset: Int64) -> Int {
        var (low, high) = (0, pieces.count)
        while low < high {
            let middle = (low + high) / 2
            let piece = pieces[middle]
            if piece.start + piece.sizeBytes <= offset {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }
}

/// A part of a movie's media.
private enum MoviePiece: Sendable {
    case range(Range<Int64>, of: RecordedFile)
    /// Bytes that differ from the recorded ones.
    case bytes([UInt8])

    var sizeBytes: Int64 {
        switch self {
        case .range(let range, _): range.upperBound - range.lowerBound
        case .bytes(let bytes): Int64(bytes.count)
        }
    }
}

/// Tables and ranges in memory, within a limit.
private struct MemoryMovieStorage: MovieStorage {
    private static let rangeBytes = 48

    /// Rows of the tracks' tables.
    struct Rows {
        private var tracks: [[[UInt8]]] = []

        subscript(track: Int, table: FlatTrack.Table) -> [UInt8] {
            track < tracks.count ? tracks[track][table.rawValue] : []
        }

        mutating func add(_ bytes: [UInt8], to table: FlatTrack.Table, of track: Int) {
            while tracks.count <= track {
                tracks.append(Array(repeating: [], count: FlatTrack.Table.allCases.count))
            }
            tracks[track][table.rawValue] += bytes
        }
    }

    private(set) var pieces: [MoviePiece] = []
    private(set) var rows = Rows()
    private(set) var mediaBytes: Int64 = 0
    private var bytes = 0
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    mutating func append(_ file: RecordedFile, _ range: Range<Int64>) throws {
        mediaBytes += range.upperBound - range.lowerBound
        if let last = pieces.indices.last, case .range(let before, let own) = pieces[last],
            own === file, before.upperBound == range.lowerBound
        {
            pieces[last] = .range(before.lowerBound..<range.upperBound, of: file)
            return
        }
        pieces.append(.range(range, of: file))
        try count(Self.rangeBytes)
    }

    mutating func append(_ own: [UInt8]) throws {
        mediaBytes += Int64(own.count)
        pieces.append(.bytes(own))
        try count(Self.rangeBytes + own.count)
    }

    mutating func take(from track: inout FlatTrack, index: Int, all: Bool) throws {
        for table in FlatTrack.Table.allCases {
            let taken = track.takeRows(of: table)
            try count(taken.count)
            rows.add(taken, to: table, of: index)
        }
    }

    private mutating func count(_ more: Int) throws {
        bytes += more
        guard bytes <= limit else { throw ExportError.tooLong }
    }
}
