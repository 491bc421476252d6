/// A flaw of a bitstream, and its position.
package enum BitstreamError: Error, Hashable, CustomStringConvertible {
    /// The structure that was being read.
    package enum Syntax: String, Hashable, Sendable {
        case videoParameterSet = "video parameter set"
        case sequenceParameterSet = "sequence parameter set"
        case pictureParameterSet = "picture parameter set"
        case parameterSets = "parameter sets"
        case sliceHeader = "slice header"
        case supplementalEnhancement = "supplemental enhancement information"
        case accessUnit = "access unit"
        case decoderConfiguration = "AVCDecoderConfigurationRecord"
        case hevcConfiguration = "HEVCDecoderConfigurationRecord"
        case audioSpecificConfig = "AudioSpecificConfig"
        case adtsHeader = "ADTS header"
        case streamMuxConfig = "StreamMuxConfig"
    }

    /// Fewer bytes are left at `offset` than a NAL unit's length field needs.
    case truncatedLength(offset: Int)
    /// The NAL unit whose length field is at `offset` reaches past the end of its access unit.
    case nalUnitPastEnd(offset: Int, length: Int, available: Int)
    /// The length field at `offset` is zero.
    case emptyNALUnit(offset: Int)
    /// The Annex B stream begins with bytes that are neither a start code nor zero.
    case noStartCode(offset: Int)
    /// The structure ends, at byte `offset`, before all of its fields.
    case truncated(Syntax, offset: Int)
    /// A field has a value that the standard or our limits do not allow.
    case invalid(Syntax, field: String, value: UInt64)

    package var description: String {
        switch self {
        case .truncatedLength(let offset):
            "no room for a NAL unit's length at byte \(offset)"
        case .nalUnitPastEnd(let offset, let length, let available):
            "the NAL unit at byte \(offset) claims \(length) bytes, \(available) are left"
        case .emptyNALUnit(let offset):
            "the NAL unit at byte \(offset) has no bytes"
        case .noStartCode(let offset):
            "no Annex B start code at byte \(offset)"
        case .truncated(let syntax, let offset):
            "\(syntax.rawValue) ends too early, at byte \(offset)"
        case .invalid(let syntax, let field, let value):
            "\(syntax.rawValue): \(field) cannot be \(value)"
        }
    }
}
