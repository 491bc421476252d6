/// A box's type and extent in its file (ISO/IEC 14496-12 §4.2).
package struct BoxHeader: Hashable, Sendable {
    package let type: FourCC
    package let offset: Int64
    /// Bytes before the payload: 8, 16 with a large size, and 16 more for a `uuid`.
    package let headerSizeBytes: Int64
    /// Header and payload.
    package let sizeBytes: Int64

    package var payloadOffset: Int64 { offset + headerSizeBytes }
    /// The end of the box.
    package var end: Int64 { offset + sizeBytes }
    package var payload: Range<Int64> { payloadOffset..<end }

    /// The longest header: a `uuid` box with a large size.
    static let maximumSizeBytes = 32

    /// Parses a header at the start of `bytes`.
    ///
    /// - Parameters:
    ///   - bytes: the bytes from `offset` on: at least a whole header, unless the parent ends before.
    ///   - offset: the position in the file.
    ///   - limit: the end of the parent, which the box may not exceed.
    /// - Throws: when there is no whole box.
    init(parsing bytes: ArraySlice<UInt8>, at offset: Int64, limit: Int64) throws(MP4Error) {
        let available = limit - offset
        guard bytes.count >= 8, available >= 8 else { throw .noBox(offset: offset) }
        let type = FourCC(rawValue: UInt32(bytes.bigEndian(at: 4, count: 4)))
        var header: Int64 = 8
        var size = bytes.bigEndian(at: 0, count: 4)
        if size == 1 {
            guard bytes.count >= 16, available >= 16 else {
                throw .truncated(box: type, offset: offset + 8)
            }
            size = bytes.bigEndian(at: 8, count: 8)
            header = 16
        } else if size == 0 {
            size = UInt64(available)
        }
        if type == "uuid" { header += 16 }
        guard size >= UInt64(header) else {
            throw .impossibleSize(box: type, offset: offset, sizeBytes: size)
        }
        guard size <= UInt64(available) else {
            throw .pastEnd(
                box: type, offset: offset, sizeBytes: size, availableBytes: available)
        }
        self.type = type
        self.offset = offset
        headerSizeBytes = header
        sizeBytes = Int64(size)
    }
}

/// Iterates over the sibling boxes in a range of a source, reading only their headers.
package struct BoxReader<Source: ByteSource> {
    private let source: Source
    private var position: Int64
    private let end: Int64

    /// - Parameters:
    ///   - source: the file or memory.
    ///   - range: the bytes that the boxes fill; by default all of the source.
    package init(_ source: Source, in range: Range<Int64>? = nil) {
        self.source = source
        let range = (range ?? 0..<source.sizeBytes).clamped(to: 0..<source.sizeBytes)
        position = range.lowerBound
        end = range.upperBound
    }

    /// The next box; nil at the end of the range. After an error, no further box can be trusted.
    package mutating func next() throws(MP4Error) -> BoxHeader? {
        guard position < end else { return nil }
        let count = min(Int64(BoxHeader.maximumSizeBytes), end - position)
        let bytes = try source.read(at: position, count: Int(count))
        let header = try BoxHeader(parsing: bytes[...], at: position, limit: end)
        position = header.end
        return header
    }
}

extension ArraySlice<UInt8> {
    /// The big-endian number in `count` bytes.
    ///
    /// - Precondition: the slice has them.
    func bigEndian(at index: Int, count: Int) -> UInt64 {
        self[startIndex + index..<startIndex + index + count].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
