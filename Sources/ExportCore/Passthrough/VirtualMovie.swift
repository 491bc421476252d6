package import Archive
import Library
import MP4

/// An MP4 of a recording that is nowhere: its index in memory, its media where they were recorded. Any part of it can be read.
///
/// Nothing is encoded and nothing is written. Equal recordings make equal bytes, and with them an equal ``tag``.
package struct VirtualMovie: Sendable {
    /// Most bytes of tables and ranges: a day of one source at 60 pictures a second.
    private static let maximumIndexBytes = 192 << 20

    /// A range of a recorded file.
    private struct Piece: Sendable {
        var file: RecordedFile
        var range: Range<Int64>
        /// Where it begins in the movie.
        var start: Int64
    }

    package let sizeBytes: Int64
    /// Identifies the bytes: another recording, range or retiming has another one.
    package let tag: Digest
    /// Session time of its beginning, nanoseconds.
    package let startNanoseconds: Int64
    package let durationNanoseconds: Int64
    /// What it takes in memory, bytes.
    package var memoryBytes: Int { front.count + pieces.count * MemoryLayout<Piece>.stride }
    private let front: [UInt8]
    private let pieces: [Piece]

    /// Reads the heads of the fragments in a range.
    /// - Throws: where there is nothing in it, and where it is so long that its index cannot be kept.
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
        pieces = storage.pieces.map { file, range in
            defer { position += range.upperBound - range.lowerBound }
            described += Array("\(file.path) \(file.revision) \(range)\n".utf8)
            return Piece(file: file, range: range, start: position)
        }
        sizeBytes = position
        tag = Digest(of: described)
        startNanoseconds = result.summary.startNanoseconds
        durationNanoseconds = result.summary.durationNanoseconds
    }

    /// Bytes from `offset` on; as many as `count`, fewer at the end.
    package func read(from offset: Int64, count: Int) throws(ArchiveError) -> [UInt8] {
        precondition(offset >= 0 && count >= 0)
        let end = min(sizeBytes, offset + Int64(count))
        guard offset < end else { return [] }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(end - offset))
        if offset < Int64(front.count) {
            bytes += front[Int(offset)..<Int(min(end, Int64(front.count)))]
        }
        var index = firstPiece(endingAfter: offset)
        while index < pieces.count, pieces[index].start < end {
            let piece = pieces[index]
            let from = max(offset, piece.start) - piece.start + piece.range.lowerBound
            let to = min(end - piece.start + piece.range.lowerBound, piece.range.upperBound)
            bytes += try piece.file.read(at: from, count: Int(to - from))
            index += 1
        }
        return bytes
    }

    private func firstPiece(endingAfter offset: Int64) -> Int {
        var (low, high) = (0, pieces.count)
        while low < high {
            let middle = (low + high) / 2
            let piece = pieces[middle]
            if piece.start + piece.range.upperBound - piece.range.lowerBound <= offset {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
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

    private(set) var pieces: [(file: RecordedFile, range: Range<Int64>)] = []
    private(set) var rows = Rows()
    private(set) var mediaBytes: Int64 = 0
    private var bytes = 0
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    mutating func append(_ file: RecordedFile, _ range: Range<Int64>) throws {
        mediaBytes += range.upperBound - range.lowerBound
        if let last = pieces.indices.last, pieces[last].file === file,
            pieces[last].range.upperBound == range.lowerBound
        {
            pieces[last].range = pieces[last].range.lowerBound..<range.upperBound
            return
        }
        pieces.append((file, range))
        try count(Self.rangeBytes)
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
