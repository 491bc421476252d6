import Archive
import Glibc
import Recordings

/// A list of byte ranges of files to be concatenated, with a few bytes of its own between them, stored on disk to bound memory.
final class CopyList {
    private typealias Reopening = @Sendable () throws(ArchiveError) -> any StoredFile

    private struct Entry {
        /// Number among ``files``, or ``Self/own``: a range of ``ownBytes``.
        var file: UInt32
        var start: Int64
        var end: Int64

        static let own = UInt32.max
    }

    private static let entryBytes = 20
    /// Entries per read.
    private static let entriesAtOnce = 4_096
    /// Bytes copied between two cancellation checks.
    private static let stepBytes: Int64 = 32 << 20

    private(set) var totalBytes: Int64 = 0
    private let scratch: ByteFile
    private var files: [Reopening] = []
    private var paths: [String] = []
    private var ownBytes: [UInt8] = []
    private var last: Entry?
    private var count = 0

    /// A list with its temporary file in the directory of `path`.
    init(beside path: String) throws {
        scratch = try ByteFile(scratchBeside: path)
    }

    /// Appends a range; a contiguous one is merged with the last.
    func append(_ file: RecordedFile, _ range: Range<Int64>) throws {
        let path = file.path
        totalBytes += range.upperBound - range.lowerBound
        if var entry = last, entry.file != Entry.own, paths[Int(entry.file)] == path,
            entry.end == range.lowerBound
        {
            entry.end = range.upperBound
            last = entry
            return
        }
        try store()
        // A source's files are in order, with an overlap of at most two.
        let index = paths.suffix(8).lastIndex(of: path)
        if index == nil {
            paths.append(path)
            files.append(file.reopening())
        }
        last = Entry(
            file: UInt32(index ?? paths.count - 1), start: range.lowerBound, end: range.upperBound)
    }

    /// Appends bytes, which stay in memory.
    func append(_ bytes: [UInt8]) throws {
        try store()
        totalBytes += Int64(bytes.count)
        let start = Int64(ownBytes.count)
        ownBytes += bytes
        last = Entry(file: Entry.own, start: start, end: Int64(ownBytes.count))
    }

    private func store() throws {
        guard let entry = last else { return }
        var bytes: [UInt8] = []
        withUnsafeBytes(of: entry.file.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: entry.start.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: entry.end.bigEndian) { bytes += $0 }
        try scratch.write(bytes)
        last = nil
        count += 1
    }

    /// Copies all ranges to the output's end.
    func copy(to output: ByteFile, control: WorkControl) throws {
        try store()
        var open: (index: UInt32, file: any StoredFile)?
        var done: Int64 = 0
        var next = 0
        while next < count {
            let some = min(Self.entriesAtOnce, count - next)
            let bytes = try scratch.read(
                at: Int64(next * Self.entryBytes), count: some * Self.entryBytes)
            for place in 0..<some {
                let entry = Self.entry(bytes, at: place * Self.entryBytes)
                if entry.file == Entry.own {
                    try output.write(Array(ownBytes[Int(entry.start)..<Int(entry.end)]))
                    done += entry.end - entry.start
                    continue
                }
                if open?.index != entry.file {
                    open = (entry.file, try files[Int(entry.file)]())
                }
                guard let open else { continue }
                var start = entry.start
                while start < entry.end {
                    try control.check()
                    let end = min(entry.end, start + Self.stepBytes)
                    try output.copy(from: open.file, start..<end)
                    done += end - start
                    start = end
                }
                control.progress(done, of: totalBytes)
            }
            next += some
        }
    }

    private static func entry(_ bytes: [UInt8], at place: Int) -> Entry {
        func number(_ offset: Int, _ size: Int) -> UInt64 {
            bytes[place + offset..<place + offset + size].reduce(0) { $0 << 8 | UInt64($1) }
        }
        return Entry(
            file: UInt32(number(0, 4)), start: Int64(bitPattern: number(4, 8)),
            end: Int64(bitPattern: number(12, 8)))
    }
}
