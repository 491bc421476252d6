/// A box in memory; its offsets are those of the file.
struct BoxView {
    /// Maximum number of children of a box.
    static let maximumChildren = 16_384

    let header: BoxHeader
    /// The buffer that contains the box.
    private let bytes: [UInt8]
    /// The file offset of the first of `bytes`.
    private let base: Int64

    /// The box at the start of `bytes`, which begin at `base` in the file.
    init(_ bytes: [UInt8], at base: Int64) throws(MP4Error) {
        header = try BoxHeader(
            parsing: bytes[...], at: base, limit: base + Int64(bytes.count))
        self.bytes = bytes
        self.base = base
    }

    private init(header: BoxHeader, bytes: [UInt8], base: Int64) {
        self.header = header
        self.bytes = bytes
        self.base = base
    }

    var type: FourCC { header.type }
    var offset: Int64 { header.offset }

    /// The fields of the payload.
    var fields: FieldReader {
        FieldReader(
            bytes, in: Int(header.payloadOffset - base)..<Int(header.end - base), base: base,
            box: type)
    }

    /// The 16 bytes of a `uuid` box's type, nil for other boxes.
    var userType: [UInt8]? {
        guard type == "uuid" else { return nil }
        let end = Int(header.payloadOffset - base)
        return Array(bytes[end - 16..<end])
    }

    /// The boxes in the payload, after `skipping` bytes of fields.
    func children(skipping: Int64 = 0) throws(MP4Error) -> [BoxView] {
        var result: [BoxView] = []
        var position = header.payloadOffset + skipping
        while position < header.end {
            guard result.count < Self.maximumChildren else {
                throw .overLimit(
                    box: type, offset: offset, what: "number of boxes",
                    value: UInt64(result.count) + 1, limit: UInt64(Self.maximumChildren))
            }
            let from = Int(position - base)
            let child = try BoxHeader(
                parsing: bytes[from..<Int(header.end - base)], at: position, limit: header.end)
            result.append(BoxView(header: child, bytes: bytes, base: base))
            position = child.end
        }
        return result
    }

    /// An error about this box.
    func invalid(_ reason: String) -> MP4Error {
        .invalid(box: type, offset: offset, reason: reason)
    }
}

extension [BoxView] {
    func first(_ type: FourCC) -> BoxView? {
        first { $0.type == type }
    }

    /// The first box of a type that `parent` must have.
    func required(_ type: FourCC, in parent: BoxView) throws(MP4Error) -> BoxView {
        guard let box = first(type) else {
            throw .missing(type, in: parent.type, offset: parent.offset)
        }
        return box
    }
}

/// Reads a box's fields in order, never past its end.
struct FieldReader {
    private let bytes: [UInt8]
    private let base: Int64
    private let box: FourCC
    private var position: Int
    private let end: Int

    init(_ bytes: [UInt8], in range: Range<Int>, base: Int64, box: FourCC) {
        precondition(range.upperBound <= bytes.count)
        self.bytes = bytes
        self.base = base
        self.box = box
        position = range.lowerBound
        end = range.upperBound
    }

    var bytesLeft: Int { end - position }
    /// The file offset of the next field.
    var offset: Int64 { base + Int64(position) }

    private mutating func number(_ count: Int) throws(MP4Error) -> UInt64 {
        guard count <= bytesLeft else { throw .truncated(box: box, offset: offset) }
        var value: UInt64 = 0
        for index in position..<position + count { value = value << 8 | UInt64(bytes[index]) }
        position += count
        return value
    }

    mutating func u8() throws(MP4Error) -> UInt8 { UInt8(try number(1)) }
    mutating func u16() throws(MP4Error) -> UInt16 { UInt16(try number(2)) }
    mutating func u32() throws(MP4Error) -> UInt32 { UInt32(try number(4)) }
    mutating func u64() throws(MP4Error) -> UInt64 { try number(8) }
    mutating func i32() throws(MP4Error) -> Int32 { Int32(bitPattern: try u32()) }
    mutating func i64() throws(MP4Error) -> Int64 { Int64(bitPattern: try u64()) }
    mutating func fourCC() throws(MP4Error) -> FourCC { FourCC(rawValue: try u32()) }

    /// A time: 64 bits in version 1 of a box, 32 in version 0.
    mutating func time(version: UInt8) throws(MP4Error) -> UInt64 {
        version == 1 ? try u64() : UInt64(try u32())
    }

    /// Version and flags of a full box; versions above `newest` are unknown.
    mutating func versionAndFlags(
        newest: UInt8 = 0
    ) throws(MP4Error) -> (version: UInt8, flags: UInt32) {
        let start = offset
        let word = try u32()
        let version = UInt8(word >> 24)
        guard version <= newest else {
            throw .invalid(box: box, offset: start, reason: "version \(version) is unknown")
        }
        return (version, word & 0xFF_FFFF)
    }

    mutating func skip(_ count: Int) throws(MP4Error) {
        guard count <= bytesLeft else { throw .truncated(box: box, offset: offset) }
        position += count
    }

    mutating func raw(_ count: Int) throws(MP4Error) -> [UInt8] {
        guard count >= 0, count <= bytesLeft else { throw .truncated(box: box, offset: offset) }
        position += count
        return Array(bytes[position - count..<position])
    }

    /// The next `count` bytes as a reader of their own.
    mutating func nested(_ count: Int) throws(MP4Error) -> FieldReader {
        let start = position
        try skip(count)
        return FieldReader(bytes, in: start..<position, base: base, box: box)
    }

    /// A number of entries, which must fit in the rest of the box.
    mutating func entryCount(entrySizeBytes: Int) throws(MP4Error) -> Int {
        let count = Int(try u32())
        guard count <= bytesLeft / entrySizeBytes else {
            throw .truncated(box: box, offset: base + Int64(end))
        }
        return count
    }

    /// An error about the field that was just read.
    func invalid(_ reason: String) -> MP4Error {
        .invalid(box: box, offset: offset, reason: reason)
    }
}
