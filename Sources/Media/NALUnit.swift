/// The type of a NAL unit (`nal_unit_type`, ISO/IEC 14496-10 table 7-1).
package enum NALUnitType: Hashable, Sendable {
    case nonIDRSlice
    /// Data partition A, B or C.
    case slicePartition
    case idrSlice
    case supplementalEnhancementInformation
    case sequenceParameterSet
    case pictureParameterSet
    case accessUnitDelimiter
    case endOfSequence
    case endOfStream
    case filler
    case sequenceParameterSetExtension
    case other(UInt8)

    /// The type in a NAL unit's first byte.
    package init(header: UInt8) {
        self =
            switch header & 0x1F {
            case 1: .nonIDRSlice
            case 2...4: .slicePartition
            case 5: .idrSlice
            case 6: .supplementalEnhancementInformation
            case 7: .sequenceParameterSet
            case 8: .pictureParameterSet
            case 9: .accessUnitDelimiter
            case 10: .endOfSequence
            case 11: .endOfStream
            case 12: .filler
            case 13: .sequenceParameterSetExtension
            case let number: .other(number)
            }
    }

    /// Whether it is part of a coded picture.
    package var isSlice: Bool {
        switch self {
        case .nonIDRSlice, .slicePartition, .idrSlice: true
        default: false
        }
    }
}

/// A NAL unit's position in the bytes of its access unit.
package struct NALUnit: Hashable, Sendable {
    package let type: NALUnitType
    /// Its bytes, header byte included, without length or start code. Never empty.
    package let range: Range<Int>
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
        return NALUnit(
            type: NALUnitType(header: accessUnit[start]), range: start..<position)
    }
}

/// The result of a pass over an access unit.
package struct AccessUnitSummary: Hashable, Sendable {
    package var nalUnits = 0
    /// NAL units that are part of the picture.
    package var slices = 0
    package var hasIDRSlice = false
    /// Whether it contains a sequence or picture parameter set.
    package var hasParameterSets = false

    /// Reads all NAL units, and so checks that their lengths add up to the access unit exactly.
    package init(
        of accessUnit: Span<UInt8>, lengthSize: Int = 4
    ) throws(BitstreamError) {
        var cursor = NALUnitCursor(lengthSize: lengthSize)
        while let unit = try cursor.next(in: accessUnit) {
            nalUnits += 1
            if unit.type.isSlice { slices += 1 }
            switch unit.type {
            case .idrSlice: hasIDRSlice = true
            case .sequenceParameterSet, .pictureParameterSet: hasParameterSets = true
            default: break
            }
        }
    }
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
