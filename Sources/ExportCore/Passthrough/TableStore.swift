import MP4

/// Rows of tracks' tables, stored on disk to bound memory.
final class TableStore {
    /// Rows buffered in memory, per table.
    private static let pendingBytes = 1 << 16
    /// Bytes per read; a multiple of every row's size.
    private static let readBytes = 12 * (1 << 16)

    private let path: String
    private var files: [Key: ByteFile] = [:]

    private struct Key: Hashable {
        let track: Int
        let table: FlatTrack.Table
    }

    /// A store with its temporary file in the directory of `path`.
    init(beside path: String) {
        self.path = path
    }

    /// Removes completed rows of a track's tables: all of them, or only if there are many.
    func take(from track: inout FlatTrack, index: Int, all: Bool) throws {
        for table in FlatTrack.Table.allCases
        where track.pendingBytes(of: table) > (all ? 0 : Self.pendingBytes) {
            let key = Key(track: index, table: table)
            let file: ByteFile
            if let known = files[key] {
                file = known
            } else {
                file = try ByteFile(scratchBeside: path)
                files[key] = file
            }
            try file.write(track.takeRows(of: table))
        }
    }

    /// Writes a `moov` box, with chunk offsets for media that begin at `mediaStart`.
    func write(_ parts: [FlatMovie.Part], mediaStart: Int64, to output: ByteFile) throws {
        for part in parts {
            switch part {
            case .bytes(let bytes): try output.write(bytes)
            case .rows(let track, let table, let isWide):
                guard let file = files[Key(track: track, table: table)] else { continue }
                try file.flush()
                var position: Int64 = 0
                while position < file.position {
                    let count = Int(min(Int64(Self.readBytes), file.position - position))
                    var rows = try file.read(at: position, count: count)
                    if table == .offsets {
                        rows = FlatMovie.placed(rows, from: mediaStart, isWide: isWide)
                    }
                    try output.write(rows)
                    position += Int64(count)
                }
            }
        }
    }
}
