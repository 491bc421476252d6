/// The type of an H.264 NAL unit (`nal_unit_type`, ISO/IEC 14496-10 table 7-1).
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

extension NALUnit {
    /// The type, in an H.264 stream.
    package var h264Type: NALUnitType { NALUnitType(header: UInt8(header >> 8)) }
}
