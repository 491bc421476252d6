/// Decodes a fuzzer's bytes: every input is valid, and small changes have small effects.
struct InputReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// 0 at the end.
    mutating func byte() -> UInt8 {
        rest.popFirst() ?? 0
    }

    mutating func number() -> UInt16 {
        UInt16(byte()) | UInt16(byte()) << 8
    }

    /// A block of bytes, its size in two bytes before it; shorter at the end.
    mutating func block() -> [UInt8] {
        let count = min(Int(number()), rest.count)
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}

/// Encodes the input of an ``InputReader``.
struct InputWriter {
    private(set) var bytes: [UInt8] = []

    mutating func byte(_ value: UInt8) { bytes.append(value) }

    mutating func number(_ value: UInt16) {
        bytes.append(UInt8(value & 255))
        bytes.append(UInt8(value >> 8))
    }

    mutating func block(_ block: [UInt8]) {
        number(UInt16(clamping: block.count))
        bytes += block.prefix(65_535)
    }
}
