import Media

/// Why a record could not be read.
package struct MalformedRecord: Error, Hashable, CustomStringConvertible {
    package let description: String
}

/// Reads big-endian values from untrusted bytes.
struct RecordReader {
    private let bytes: [UInt8]
    /// The structure being read, for errors.
    private let what: String
    private var position = 0

    init(_ bytes: [UInt8], what: String) {
        self.bytes = bytes
        self.what = what
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func bytes(_ count: Int) throws(MalformedRecord) -> [UInt8] {
        guard count <= bytes.count - position else {
            throw MalformedRecord(description: "\(what) truncated at byte \(bytes.count)")
        }
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    mutating func integer<Integer: FixedWidthInteger & UnsignedInteger>(
        _: Integer.Type
    ) throws(MalformedRecord) -> Integer {
        let size = Integer.bitWidth / 8
        guard size <= bytes.count - position else {
            throw MalformedRecord(description: "\(what) truncated at byte \(bytes.count)")
        }
        defer { position += size }
        return bytes[position..<position + size].reduce(0) { $0 << 8 | Integer($1) }
    }

    mutating func signed() throws(MalformedRecord) -> Int64 {
        Int64(bitPattern: try integer(UInt64.self))
    }

    mutating func identity<ID: RandomIdentity>() throws(MalformedRecord) -> ID {
        ID(high: try integer(UInt64.self), low: try integer(UInt64.self))
    }

    mutating func digest() throws(MalformedRecord) -> Digest {
        guard let digest = Digest(try bytes(Digest.byteCount)) else {
            throw MalformedRecord(description: "a digest of the wrong size")
        }
        return digest
    }

    /// A signed number in groups of seven bits, the least significant first, zigzag-encoded so that small ones are short.
    mutating func varint() throws(MalformedRecord) -> Int64 {
        var folded: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            let group = UInt64(try integer(UInt8.self))
            let bits = group & 0x7F
            guard shift < 63 || bits <= 1 else { break }
            folded |= bits << shift
            if group & 0x80 == 0 {
                return Int64(bitPattern: folded >> 1) ^ -Int64(bitPattern: folded & 1)
            }
        }
        throw MalformedRecord(description: "\(what) with a number above 64 bits")
    }
}

extension [UInt8] {
    /// Appends an integer, most significant byte first.
    mutating func appendBigEndian<Integer: FixedWidthInteger>(_ value: Integer) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    /// Appends a signed number in the encoding of ``RecordReader/varint()``.
    mutating func appendVarint(_ value: Int64) {
        var folded = UInt64(bitPattern: (value << 1) ^ (value >> 63))
        while folded > 0x7F {
            append(UInt8(truncatingIfNeeded: folded) | 0x80)
            folded >>= 7
        }
        append(UInt8(folded))
    }
}
