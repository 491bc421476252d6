/// A NAL unit's position in the bytes of its access unit.
package struct NALUnit: Hashable, Sendable {
    /// Its first two bytes, which have its type; a unit of one byte has zeros behind it.
    package let header: UInt16
    /// Its bytes, header included, without length or start code. Never empty.
    package let range: Range<Int>

    /// The header of a NAL unit with these bytes.
    static func header(of bytes: Span<UInt8>) -> UInt16 {
        UInt16(bytes[0]) << 8 | UInt16(bytes.count > 1 ? bytes[1] : 0)
    }

    init(in bytes: Span<UInt8>, range: Range<Int>) {
        header = Self.header(of: bytes.extracting(range))
        self.range = range
    }
}

/// Iterates over the NAL units of an access unit with length prefixes (ISO/IEC 14496-15 §5.3.3).
///
/// The cursor holds a position only; every call receives the same bytes.
package struct NALUnitCursor: Sendable {
    private let lengthSize: Int
    private var position = 0

    /// - Parameter lengthSize: bytes of a length field, 1 … 4.
    package init(lengthSize: Int = 4) {
        precondition((1...4).contains(lengthSize), "a NAL unit's length has 1 to 4 bytes")
        self.lengthSize = lengthSize
    }

    /// The next NAL unit; nil at the end.
    package mutating func next(
        in accessUnit: Span<UInt8>
    ) throws(BitstreamError) -> NALUnit? {
        let left = accessUnit.count - position
        guard left > 0 else { return nil }
        guard left >= lengthSize else { throw .truncatedLength(offset: position) }
        var length = 0
        for index in position..<position + lengthSize {
            length = length << 8 | Int(accessUnit[index])
        }
        guard length > 0 else { throw .emptyNALUnit(offset: position) }
        guard length <= left - lengthSize else {
            throw .nalUnitPastEnd(
                offset: position, length: length, available: left - lengthSize)
        }
        let start = position + lengthSize
        position = start + length
        return NALUnit(in: accessUnit, range: start..<position)
    }
}

/// The number of NAL units in an access unit. All are read, and so their lengths add up to the access unit exactly.
package func nalUnitCount(
    in accessUnit: Span<UInt8>, lengthSize: Int = 4
) throws(BitstreamError) -> Int {
    var cursor = NALUnitCursor(lengthSize: lengthSize)
    var count = 0
    while try cursor.next(in: accessUnit) != nil { count += 1 }
    return count
}

/// The same NAL units with 4-byte lengths instead of `lengthSize`-byte ones.
package func withFourByteLengths(
    _ accessUnit: Span<UInt8>, lengthSize: Int
) throws(BitstreamError) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(accessUnit.count + 64)
    var cursor = NALUnitCursor(lengthSize: lengthSize)
    while let unit = try cursor.next(in: accessUnit) {
        appendLengthPrefixed(accessUnit.extracting(unit.range), to: &result)
    }
    return result
}

/// Appends one NAL unit with its 4-byte length.
///
/// - Precondition: the unit has fewer than 2³² bytes.
package func appendLengthPrefixed(_ nalUnit: Span<UInt8>, to output: inout [UInt8]) {
    let length = UInt32(nalUnit.count)
    output.append(UInt8(truncatingIfNeeded: length >> 24))
    output.append(UInt8(truncatingIfNeeded: length >> 16))
    output.append(UInt8(truncatingIfNeeded: length >> 8))
    output.append(UInt8(truncatingIfNeeded: length))
    nalUnit.withUnsafeBufferPointer { output.append(contentsOf: $0) }
}
