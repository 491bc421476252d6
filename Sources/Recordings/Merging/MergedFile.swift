import Archive
import MP4
import Media
import Synchronization

/// A file merged from several archives' fragments, which grows with its files. Any thread may read it.
final class MergedFile: StoredFile {
    private struct State: Sendable {
        var bytes: MergedBytes
        var joiner: FragmentJoiner?
        /// Sizes of the files at the last read.
        var sizes: [Int64]
    }

    let path: String
    let isDistant: Bool
    let placement: FilePlacement
    private let state: Mutex<State>
    private let inputs: [RecordedFile]
    private let choose: @Sendable () throws(ArchiveError) -> ChosenRecords

    /// A complete file.
    init(path: String, bytes: MergedBytes, isDistant: Bool, placement: FilePlacement) {
        self.path = path
        self.isDistant = isDistant
        self.placement = placement
        inputs = []
        choose = { () throws(ArchiveError) in RecordCopies().chosen() }
        state = Mutex(State(bytes: bytes, joiner: nil, sizes: []))
    }

    /// A growing file.
    /// - Parameters:
    ///   - joiner: has one section, and continues it.
    ///   - choose: the copies to read, according to the contents of the files at the time of the call.
    init(
        path: String, joiner: FragmentJoiner, inputs: [RecordedFile], placement: FilePlacement,
        choose: @escaping @Sendable () throws(ArchiveError) -> ChosenRecords
    ) throws(ArchiveError) {
        self.path = path
        isDistant = false
        self.placement = placement
        self.inputs = inputs
        self.choose = choose
        state = Mutex(
            State(
                bytes: joiner.sections[0].bytes, joiner: joiner,
                sizes: try Self.sizes(of: inputs)))
    }

    /// A file without samples, if all of its samples are read from other archives.
    convenience init(empty file: RecordedFile, zero: UTCTime) {
        let start = file.layout.placeholderOffset
        var bytes = MergedBytes()
        bytes.append(0..<start, of: file)
        bytes.append(MergedSection.placeholder)
        bytes.append(
            start + Int64(MergedSection.placeholder.count)..<file.layout.fragments.lowerBound,
            of: file)
        self.init(
            path: file.path, bytes: bytes, isDistant: false,
            placement: FilePlacement(sessionZero: zero))
    }

    private static func sizes(of files: [RecordedFile]) throws(ArchiveError) -> [Int64] {
        var sizes: [Int64] = []
        for file in files { sizes.append(try file.source().sizeBytes) }
        return sizes
    }

    func sizeBytes() throws(ArchiveError) -> Int64 {
        guard !inputs.isEmpty else { return state.withLock { $0.bytes.sizeBytes } }
        let sizes = try Self.sizes(of: inputs)
        let chosen = state.withLock { $0.sizes } == sizes ? nil : try choose()
        return try state.withLock { state throws(ArchiveError) in
            if let chosen, var joiner = state.joiner {
                try joiner.advance(chosen, isOver: false)
                // Further files are found when the segment is listed again.
                state.bytes = joiner.sections[0].bytes
                state.joiner = joiner
                state.sizes = sizes
            }
            return state.bytes.sizeBytes
        }
    }

    func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ArchiveError) -> Int {
        try state.withLock { $0.bytes }.read(at: offset, into: buffer)
    }

    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        state.withLock { $0.bytes }.readCached(at: offset, into: buffer)
    }
}

/// A small in-memory file.
struct MemoryStoredFile: StoredFile {
    let path: String
    let bytes: [UInt8]

    func sizeBytes() throws(ArchiveError) -> Int64 { Int64(bytes.count) }

    func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ArchiveError) -> Int {
        readCached(at: offset, into: buffer)
    }

    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard offset >= 0, offset < bytes.count else { return 0 }
        let count = min(buffer.count, bytes.count - Int(offset))
        bytes.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                .copyMemory(from: .init(rebasing: bytes[Int(offset)..<Int(offset) + count]))
        }
        return count
    }
}
