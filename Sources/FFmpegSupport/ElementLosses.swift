import Files
import Glibc

/// Losses in a container whose elements follow one another, each with its size: FLV and Matroska.
///
/// Where no valid element follows, the last one is incomplete, or its size is damaged.
package struct ElementLosses: ContainerLosses {
    private let bytes: SequentialBytes
    private var elements: any ElementSyntax
    /// Where the next element is expected.
    private var place: Int64 = 0
    /// The start of the last valid element.
    private var last: Int64 = 0
    private var isAtEnd = false
    /// Positions, ascending.
    private var losses: [Int64] = []

    /// Maximum number of losses; the scan ends there. A file with more has no usable part.
    private static let maximumLosses = 1_000_000
    /// libavformat's position of a packet is within the first bytes of its element.
    private static let headerBytes: Int64 = 16

    /// - Parameter descriptor: the open file; duplicated.
    init?(descriptor: Int32, _ elements: any ElementSyntax) {
        guard let bytes = SequentialBytes(descriptor) else { return nil }
        self.bytes = bytes
        self.elements = elements
    }

    package mutating func count(stream: Int, before position: Int64) -> Int {
        while !isAtEnd, place <= position { step() }
        var (low, high) = (0, losses.count)
        while low < high {
            let middle = (low + high) / 2
            if losses[middle] <= position { low = middle + 1 } else { high = middle }
        }
        return low
    }

    package mutating func total(streams: [Int]) -> Int {
        while !isAtEnd { step() }
        return losses.count
    }

    private mutating func step() {
        switch elements.next(at: place, bytes) {
        case .element(let end):
            last = place
            place = end
        case .damage:
            losses.append(last + Self.headerBytes)
            guard losses.count < Self.maximumLosses,
                let next = elements.resume(after: place, bytes)
            else {
                isAtEnd = true
                return
            }
            place = next
            last = next
        case .end:
            isAtEnd = true
        }
    }
}

/// The syntax of a container's elements.
protocol ElementSyntax {
    /// Reads the element at byte offset `place`.
    mutating func next(at place: Int64, _ bytes: SequentialBytes) -> ElementStep
    /// The next byte offset after `place` with a valid element; nil if there is none.
    mutating func resume(after place: Int64, _ bytes: SequentialBytes) -> Int64?
}

/// The result of reading one element.
enum ElementStep: Equatable {
    /// A valid element; the next one is expected at its end.
    case element(end: Int64)
    /// No valid element.
    case damage
    /// The file ends, perhaps within an element.
    case end
}

/// A file's bytes, through a buffer: cheap where positions ascend.
final class SequentialBytes {
    let size: Int64
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var start: Int64 = 0

    private static let blockBytes = 64 << 10

    init?(_ descriptor: Int32) {
        let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        var status = stat()
        guard own >= 0 else { return nil }
        guard fstat(own, &status) == 0 else {
            close(own)
            return nil
        }
        self.descriptor = own
        size = Int64(status.st_size)
    }

    deinit { close(descriptor) }

    /// Reads `count` bytes, one block at most, from offset `place`; fewer at the end of the file, none after a read error.
    func read(at place: Int64, count: Int) -> ArraySlice<UInt8> {
        precondition(count <= Self.blockBytes)
        guard place >= 0, place < size else { return [] }
        if place < start || place + Int64(count) > start + Int64(buffer.count) {
            buffer = Descriptor.read(descriptor, at: place, count: Self.blockBytes) ?? []
            start = place
        }
        let offset = Int(place - start)
        return buffer[min(offset, buffer.count)..<min(offset + count, buffer.count)]
    }

    /// The first offset at or after `place` for which `isFound` returns true; it receives `count` bytes from there.
    func first(
        from place: Int64, count: Int, where isFound: (Int64, ArraySlice<UInt8>) -> Bool
    ) -> Int64? {
        var place = place
        while true {
            let block = read(at: place, count: Self.blockBytes)
            guard block.count >= count else { return nil }
            for index in block.indices.dropLast(count - 1) {
                let found = place + Int64(index - block.startIndex)
                if isFound(found, block[index..<index + count]) { return found }
            }
            place += Int64(block.count - count + 1)
        }
    }
}

/// Tags of FLV (Adobe Flash Video File Format Specification 10.1, annex E.3, E.4.1): each follows the size of the one
/// before it.
struct FLVTags: ElementSyntax {
    /// Bytes of the previous tag's size, and of a tag's header.
    private static let sizeBytes: Int64 = 4
    private static let headerBytes = 11

    /// The size that the next tag states for this one.
    private var expected: UInt32?
    /// Candidates for the next tag in the whole file; each costs two reads.
    private var candidates = 0
    private static let maximumCandidates = 16_384
    /// Whether the file has stated a right size: some writers do not.
    private var hasRightSizes = false

    mutating func next(at place: Int64, _ bytes: SequentialBytes) -> ElementStep {
        if place == 0 {
            let header = bytes.read(at: 0, count: 9)
            guard header.count == 9, header.starts(with: [0x46, 0x4C, 0x56]) else { return .end }
            return .element(end: max(9, Int64(bigEndian(header.suffix(4)))))
        }
        let head = bytes.read(at: place, count: Int(Self.sizeBytes) + Self.headerBytes)
        guard head.count == Int(Self.sizeBytes) + Self.headerBytes else { return .end }
        let stated = bigEndian(head.prefix(4))
        let isRight = expected.map { $0 == stated } ?? true
        if expected != nil, isRight { hasRightSizes = true }
        let tag = head.dropFirst(4)
        guard hasRightSizes ? isRight : Self.isTag(tag) else { return .damage }
        let size = Self.dataSize(tag)
        expected = size + UInt32(Self.headerBytes)
        return .element(end: place + Self.sizeBytes + Int64(Self.headerBytes) + Int64(size))
    }

    mutating func resume(after place: Int64, _ bytes: SequentialBytes) -> Int64? {
        expected = nil
        let count = Int(Self.sizeBytes) + Self.headerBytes
        var from = place + 1
        while true {
            let found = bytes.first(from: from, count: count) { _, head in
                Self.isTag(head.dropFirst(4)) && Self.dataSize(head.dropFirst(4)) > 0
            }
            candidates += 1
            guard let found, candidates <= Self.maximumCandidates else { return nil }
            let size = Self.dataSize(bytes.read(at: found, count: count).dropFirst(4))
            let own = bytes.read(at: found + Int64(count) + Int64(size), count: 4)
            if own.count == 4, bigEndian(own) == size + UInt32(Self.headerBytes) { return found }
            from = found + 1
        }
    }

    /// Audio, video or script data, of stream 0.
    private static func isTag(_ tag: ArraySlice<UInt8>) -> Bool {
        let type = tag[tag.startIndex]
        return type & 0xC0 == 0 && [8, 9, 18].contains(type & 0x1F)
            && tag.suffix(3).allSatisfy { $0 == 0 }
    }

    private static func dataSize(_ tag: ArraySlice<UInt8>) -> UInt32 {
        bigEndian(tag.dropFirst().prefix(3))
    }
}

/// Elements of Matroska (RFC 9559 §5.1, RFC 8794 §6): clusters and blocks within a segment.
struct MatroskaElements: ElementSyntax {
    private static let header: UInt32 = 0x1A45_DFA3
    private static let segment: UInt32 = 0x1853_8067
    private static let cluster: UInt32 = 0x1F43_B675
    /// Level 1: SeekHead, Info, Tracks, Cluster, Cues, Attachments, Chapters, Tags. Anywhere: Void and CRC-32. EBML and Segment
    /// begin another stream.
    private static let topLevel: Set<UInt32> = [
        0x114D_9B74, 0x1549_A966, 0x1654_AE6B, cluster, 0x1C53_BB6B, 0x1941_A469, 0x1043_A770,
        0x1254_C367, 0xEC, 0xBF, header, segment,
    ]
    /// Timestamp, Position, PrevSize, SimpleBlock, BlockGroup, SilentTracks, EncryptedBlock; Void and CRC-32.
    private static let inCluster: Set<UInt32> = [
        0xE7, 0xA7, 0xAB, 0xA3, 0xA0, 0x5854, 0xAF, 0xEC, 0xBF,
    ]
    /// An identifier and a size, at their longest.
    private static let longestHead = 12

    /// The end of the current cluster; `.max`: its size is unknown.
    private var clusterEnd: Int64 = 0

    mutating func next(at place: Int64, _ bytes: SequentialBytes) -> ElementStep {
        let head = bytes.read(at: place, count: Self.longestHead)
        guard !head.isEmpty else { return .end }
        guard let (id, size, length) = Self.head(head) else {
            return bytes.size - place < Int64(Self.longestHead) ? .end : .damage
        }
        let content = place + Int64(length)
        let end = size.map { content.addingReportingOverflow($0) }
        if let end, end.overflow { return .damage }
        let isInCluster = place < clusterEnd
        if isInCluster, Self.inCluster.contains(id), let end {
            return end.partialValue <= clusterEnd ? .element(end: end.partialValue) : .damage
        }
        guard Self.topLevel.contains(id), !isInCluster || clusterEnd == .max else { return .damage }
        clusterEnd = 0
        switch id {
        case Self.segment: return .element(end: content)
        case Self.cluster:
            clusterEnd = end?.partialValue ?? .max
            return .element(end: content)
        default:
            guard let end else { return .damage }
            return .element(end: end.partialValue)
        }
    }

    mutating func resume(after place: Int64, _ bytes: SequentialBytes) -> Int64? {
        clusterEnd = 0
        return bytes.first(from: place + 1, count: 4) { _, id in bigEndian(id) == Self.cluster }
    }

    /// An element's identifier, the size of its content (nil: unknown) and the length of both.
    private static func head(
        _ bytes: ArraySlice<UInt8>
    ) -> (id: UInt32, size: Int64?, length: Int)? {
        guard let first = bytes.first else { return nil }
        let idLength = first.leadingZeroBitCount + 1
        guard idLength <= 4, bytes.count > idLength else { return nil }
        let rest = bytes.dropFirst(idLength)
        let sizeLength = rest[rest.startIndex].leadingZeroBitCount + 1
        guard sizeLength <= 8, rest.count >= sizeLength else { return nil }
        var size: UInt64 = 0
        for byte in rest.prefix(sizeLength) { size = size << 8 | UInt64(byte) }
        let mask = (UInt64(1) << UInt64(7 * sizeLength)) - 1
        size &= mask
        return (
            bigEndian(bytes.prefix(idLength)), size == mask ? nil : Int64(size),
            idLength + sizeLength
        )
    }
}

/// At most four bytes as a number.
private func bigEndian(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.reduce(0) { $0 << 8 | UInt32($1) }
}
