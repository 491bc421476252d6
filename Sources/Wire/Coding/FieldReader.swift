/// Reads the fields of one protocol buffer in order; every length is checked against the buffer's end.
///
/// For frequent messages, whose decoding is a large part of the receiving thread's work; all others are decoded by
/// SwiftProtobuf. For an encoding that common encoders do not produce, the caller uses SwiftProtobuf instead. Source:
/// protobuf.dev, "Encoding".
struct FieldReader {
    /// A field's number and wire type.
    struct Tag: Hashable {
        var number: UInt64
        var isLengthDelimited: Bool
    }

    private let bytes: [UInt8]
    private var position: Int
    private let end: Int

    /// Reads a part of some bytes; nil where it exceeds them.
    init?(_ bytes: [UInt8], _ range: Range<Int>) {
        guard range.lowerBound >= 0, range.upperBound <= bytes.count else { return nil }
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    var isAtEnd: Bool { position == end }

    /// The next field's tag; nil for one that is neither a varint nor length-delimited.
    mutating func tag() -> Tag? {
        guard let value = varint() else { return nil }
        switch value & 7 {
        case 0: return Tag(number: value >> 3, isLengthDelimited: false)
        case 2: return Tag(number: value >> 3, isLengthDelimited: true)
        default: return nil
        }
    }

    /// A varint of up to 64 bits; nil where it is longer or truncated.
    mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while position < end {
            let byte = bytes[position]
            position += 1
            let bits = UInt64(byte & 0x7F)
            guard shift < 63 || bits <= 1 else { return nil }
            value |= bits << shift
            if byte < 0x80 { return value }
            shift += 7
            guard shift < 70 else { return nil }
        }
        return nil
    }

    /// A signed number in zigzag encoding.
    mutating func signedVarint() -> Int64? { varint().map(Self.signed) }

    static func signed(_ value: UInt64) -> Int64 {
        Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    /// The range of a length-delimited field's content, which is skipped.
    mutating func content() -> Range<Int>? {
        guard let length = varint(), length <= UInt64(end - position) else { return nil }
        let start = position
        position += Int(length)
        return start..<position
    }

    /// A packed column of varints.
    mutating func column<Value>(_ convert: (UInt64) -> Value?) -> [Value]? {
        guard let range = content(), var inside = FieldReader(bytes, range) else { return nil }
        var values: [Value] = []
        // Each value ends in exactly one byte without the continuation bit.
        values.reserveCapacity(bytes[range].count { $0 < 0x80 })
        while !inside.isAtEnd {
            guard let value = inside.varint().flatMap(convert) else { return nil }
            values.append(value)
        }
        return values
    }
}
