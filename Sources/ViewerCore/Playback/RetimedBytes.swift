import Archive
import Library
import Media
import MP4
import Recordings
import Synchronization

/// A recorded file's bytes with retiming applied: decoding times in `moof` boxes and error bounds in fragment records are replaced.
/// All offsets are those of the file.
final class RetimedBytes: VirtualFile {
    /// Replacements for numbers in a fragment's head.
    private struct Patch: Sendable {
        var offset: Int64
        var bytes: [UInt8]
    }

    let sizeBytes: Int64
    private let file: RecordedFile
    /// In file order; empty without retiming.
    private let patches: [Patch]

    /// Reads all heads of a file that was retimed.
    init(_ file: RecordedFile) throws {
        self.file = file
        let source = try file.source()
        sizeBytes = source.sizeBytes
        guard let retiming = file.retiming else {
            patches = []
            return
        }
        let movie = file.layout.initialMovie
        var mapping = FileRetiming(retiming, movie: movie)
        var scanner = try FragmentScanner(source)
        var patches: [Patch] = []
        while var fragment = try scanner.next() {
            let bound = Self.bound(of: fragment, retiming)
            mapping.apply(to: &fragment)
            let moof = try source.read(
                at: fragment.moof.lowerBound,
                count: Int(fragment.moof.upperBound - fragment.moof.lowerBound))
            if var bound, let place = try Self.boundPlace(in: moof) {
                if retiming.addsBounds {
                    let own = moof[Int(place)..<Int(place) + 8].reduce(UInt64(0)) {
                        $0 << 8 | UInt64($1)
                    }
                    // 0 stands for times that no clock has measured.
                    bound = own == 0 ? 0 : own.clampedAdding(bound)
                }
                patches.append(
                    Patch(
                        offset: fragment.moof.lowerBound + place,
                        bytes: Self.bigEndian(bound, count: 8)))
            }
            for place in try DecodeTimes(of: moof, at: fragment.moof.lowerBound).fields {
                guard let kind = movie.tracks.first(where: { $0.id == place.trackID })?.kind,
                    let first = fragment.runs.first(where: { $0.track == kind })?.samples.first
                else { continue }
                let ticks = UInt64(max(0, first.dts))
                patches.append(
                    Patch(
                        offset: place.offset, bytes: Self.bigEndian(ticks, count: place.sizeBytes)))
            }
        }
        self.patches = patches.sorted { $0.offset < $1.offset }
    }

    private static func bigEndian(_ number: UInt64, count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) }
    }

    /// Maximum bound of the first samples of a fragment's tracks, nanoseconds; nil: the retiming does not cover them.
    /// - Parameter fragment: as recorded.
    private static func bound(of fragment: ScannedFragment, _ retiming: RetimingRecord) -> UInt64? {
        fragment.runs.compactMap { run in
            guard let first = run.samples.first else { return nil }
            return retiming.track(run.track)?.boundNanoseconds(at: first.dts)
        }.max()
    }

    /// Offset of the clock's bound in a fragment's record; nil without a record.
    /// - Parameter moof: the box, whole.
    private static func boundPlace(in moof: [UInt8]) throws -> Int64? {
        let source = MemorySource(moof)
        var boxes = BoxReader(source)
        guard let box = try boxes.next() else { return nil }
        var children = BoxReader(source, in: box.payload)
        while let child = try children.next() {
            guard child.type == "uuid", child.headerSizeBytes >= 24,
                child.payload.count >= FragmentRecord.boundOffset + 8,
                try source.read(at: child.payloadOffset - 16, count: 16) == FragmentRecord.userType
            else { continue }
            return child.payloadOffset + Int64(FragmentRecord.boundOffset)
        }
        return nil
    }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let part = inside(buffer, at: offset)
        try file.read(at: offset, into: part)
        correct(part, from: offset)
        return part.count
    }

    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let part = inside(buffer, at: offset)
        let filled = file.readCached(at: offset, into: part)
        correct(.init(rebasing: part.prefix(filled)), from: offset)
        return filled
    }

    private func correct(_ bytes: UnsafeMutableRawBufferPointer, from offset: Int64) {
        let end = offset + Int64(bytes.count)
        var index = patches.partitioned { $0.offset + Int64($0.bytes.count) <= offset }
        while index < patches.count, patches[index].offset < end {
            for (place, byte) in patches[index].bytes.enumerated() {
                let position = patches[index].offset + Int64(place) - offset
                if bytes.indices.contains(Int(position)) { bytes[Int(position)] = byte }
            }
            index += 1
        }
    }
}

/// A recorded file as it is on disk.
struct PlainBytes: VirtualFile {
    let sizeBytes: Int64
    private let file: RecordedFile

    init(_ file: RecordedFile) throws(ArchiveError) {
        self.file = file
        sizeBytes = try file.source().sizeBytes
    }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let part = inside(buffer, at: offset)
        try file.read(at: offset, into: part)
        return part.count
    }

    func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        file.readCached(at: offset, into: inside(buffer, at: offset))
    }

    func extents(_ range: Range<Int64>) -> [FileExtent]? { file.extent(range).map { [$0] } }
}

extension VirtualFile {
    /// The filled part of a buffer.
    fileprivate func inside(
        _ buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) -> UnsafeMutableRawBufferPointer {
        let available = min(Int64(buffer.count), max(0, sizeBytes - offset))
        return UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(available)))
    }
}

/// Cache of recently used retimed files, which players read in many ranges.
final class RetimedFiles: Sendable {
    private static let capacity = 128

    private struct Key: Hashable {
        var path: String
        var revision: UInt32
    }

    private struct State {
        var files: [Key: (bytes: RetimedBytes, used: UInt64)] = [:]
        var clock: UInt64 = 0
    }

    private let state = Mutex(State())

    func bytes(of file: RecordedFile) throws -> any VirtualFile {
        let key = Key(path: file.path, revision: file.revision)
        let known = state.withLock { state -> RetimedBytes? in
            state.clock += 1
            state.files[key]?.used = state.clock
            return state.files[key]?.bytes
        }
        if let known { return known }
        let bytes = try RetimedBytes(file)
        state.withLock { state in
            state.files[key] = (bytes, state.clock)
            if state.files.count > Self.capacity,
                let oldest = state.files.min(by: { $0.value.used < $1.value.used })
            {
                state.files.removeValue(forKey: oldest.key)
            }
        }
        return bytes
    }
}

extension Array {
    /// The first index at which `isBefore` is false; it is true for all elements before.
    func partitioned(_ isBefore: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
