package import Archive
import MP4
import Media

/// Position of an archive's file in a merged session.
package struct FilePlacement: Hashable, Sendable {
    /// Added to the file's session times.
    package var shiftNanoseconds: Int64 = 0
    /// Zero of the merged session; nil: the file's own.
    package var sessionZero: UTCTime?
    /// A correction that varies within the file, in addition to the shift; nil: none.
    package var correction: TimeCorrection?
    /// Identifies merged bytes in addition to ``SegmentKey/revision``: the first bytes of a digest of the merged parts, or 0.
    package var revision: UInt32 = 0

    /// Not shifted.
    package static let asRecorded = FilePlacement()

    /// Start of the file on the session's timeline.
    func origin(_ record: FragmentRecord) -> Int64 {
        record.segmentOriginNanoseconds.clampedAdding(shiftNanoseconds)
    }
}

/// A file of one archive on the timeline of the merged session.
struct PlacedFile: StoredFile {
    let base: any StoredFile
    let placement: FilePlacement

    var path: String { base.path }
    var isDistant: Bool { base.isDistant }
    var localDescriptor: Int32? { base.localDescriptor }
    var failure: ArchiveError? { base.failure }

    func directAddress(validSeconds: Int, contentType: String) throws(ArchiveError) -> String? {
        try base.directAddress(validSeconds: validSeconds, contentType: contentType)
    }

    func sizeBytes() throws(ArchiveError) -> Int64 { try base.sizeBytes() }

    func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ArchiveError) -> Int {
        try base.read(at: offset, into: buffer)
    }

    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        base.readCached(at: offset, into: buffer)
    }
}

/// Concatenated byte ranges of files and memory.
struct MergedBytes: Sendable {
    private enum Content: Sendable {
        case memory([UInt8])
        case file(RecordedFile, at: Int64)
    }

    private var contents: [Content] = []
    /// Start of each range.
    private var starts: [Int64] = []
    private(set) var sizeBytes: Int64 = 0

    mutating func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        append(.memory(bytes), count: Int64(bytes.count))
    }

    mutating func append(_ range: Range<Int64>, of file: RecordedFile) {
        guard !range.isEmpty else { return }
        // Adjacent fragments of a file are one range.
        if case .file(let last, let offset)? = contents.last, let start = starts.last,
            last === file, offset + (sizeBytes - start) == range.lowerBound
        {
            sizeBytes += Int64(range.count)
            return
        }
        append(.file(file, at: range.lowerBound), count: Int64(range.count))
    }

    private mutating func append(_ content: Content, count: Int64) {
        contents.append(content)
        starts.append(sizeBytes)
        sizeBytes += count
    }

    /// Replaces in-memory bytes at `offset`.
    mutating func replace(_ bytes: [UInt8], at offset: Int64) {
        guard let place = starts.firstIndex(of: offset), case .memory = contents[place] else {
            preconditionFailure("only whole ranges in memory are replaced")
        }
        contents[place] = .memory(bytes)
    }

    /// Fills `buffer` with the bytes from `offset`.
    /// - Parameter read: reads a file's bytes; returns their number.
    /// - Returns: the number of bytes.
    func fill(
        _ buffer: UnsafeMutableRawBufferPointer, from offset: Int64,
        read: (RecordedFile, Int64, UnsafeMutableRawBufferPointer) throws(ArchiveError) -> Int
    ) throws(ArchiveError) -> Int {
        guard offset >= 0, offset < sizeBytes else { return 0 }
        var (low, high) = (0, starts.count)
        while low < high {
            let middle = (low + high) / 2
            if starts[middle] <= offset { low = middle + 1 } else { high = middle }
        }
        var place = low - 1
        var filled = 0
        while filled < buffer.count, place < contents.count {
            let at = offset + Int64(filled)
            let end = place + 1 < starts.count ? starts[place + 1] : sizeBytes
            let count = Int(min(Int64(buffer.count - filled), end - at))
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<filled + count])
            switch contents[place] {
            case .memory(let bytes):
                bytes.withUnsafeBytes { bytes in
                    let start = Int(at - starts[place])
                    part.copyMemory(from: .init(rebasing: bytes[start..<start + count]))
                }
                filled += count
            case .file(let file, let start):
                let got = try read(file, start + (at - starts[place]), part)
                filled += got
                if got < count { return filled }
            }
            place += 1
        }
        return filled
    }
}

extension MergedBytes {
    /// Fills `buffer`; blocks on disks and networks.
    func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ArchiveError) -> Int {
        try fill(buffer, from: offset) { file, offset, part throws(ArchiveError) in
            try file.read(at: offset, into: part)
            return part.count
        }
    }

    /// Fills `buffer` with cached bytes.
    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        do throws(ArchiveError) {
            return try fill(buffer, from: offset) { file, offset, part throws(ArchiveError) in
                file.readCached(at: offset, into: part)
            }
        } catch {
            // No reads throw here; the blocking read does the rest.
            return 0
        }
    }
}

/// A snapshot of the bytes for the parsers of ``MP4``.
struct MergedSource: ByteSource {
    let bytes: MergedBytes

    var sizeBytes: Int64 { bytes.sizeBytes }

    func read(at offset: Int64, count: Int) throws(MP4Error) -> [UInt8] {
        var failure: ArchiveError?
        let read = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(ArchiveError) {
                filled = try bytes.read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
            } catch {
                failure = error
            }
        }
        if let failure { throw .unreadable(offset: offset, errno: failure.code ?? 5) }
        guard read.count == count else {
            throw .shortRead(offset: offset, wanted: count, got: read.count)
        }
        return read
    }
}
