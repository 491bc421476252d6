/// The configuration of a LATM stream (ISO/IEC 14496-3 §1.7.3.2): one program with one layer of AAC.
package struct StreamMuxConfig: Hashable, Sendable {
    private static let lowComplexity: UInt32 = 2
    private static let bandReplication: UInt32 = 5
    private static let parametricStereo: UInt32 = 29
    /// `syncExtensionType` of band replication.
    private static let syncExtension: UInt32 = 0x2B7
    /// `samplingFrequencyIndex` of a rate that follows in 24 bits.
    private static let explicitRate: UInt32 = 15

    /// AAC packets in one AudioMuxElement, 1 … 64.
    package let subframes: Int
    /// The layer's configuration, aligned to bytes.
    package let audioSpecificConfig: [UInt8]

    /// - Throws: if it is truncated, or has several programs or layers, or another audio object type than AAC-LC.
    package init(parsing bytes: [UInt8]) throws(BitstreamError) {
        var reader = BitReader(bytes, of: .streamMuxConfig)
        try Self.require("audioMuxVersion", reader.bits(1), is: 0)
        try Self.require("allStreamsSameTimeFraming", reader.bits(1), is: 1)
        subframes = Int(try reader.bits(6)) + 1
        try Self.require("numProgram", reader.bits(4), is: 0)
        try Self.require("numLayer", reader.bits(3), is: 0)
        // Version 0 does not state the configuration's length: it has to be parsed to find its end.
        var copy = BitCopier(reader)
        var objectType = try copy.bits(5)
        if try copy.bits(4) == Self.explicitRate { _ = try copy.bits(24) }
        let channels = try copy.bits(4)
        // 0: a program config element follows.
        guard (1...7).contains(channels) else {
            throw .invalid(.streamMuxConfig, field: "channelConfiguration", value: UInt64(channels))
        }
        if objectType == Self.bandReplication || objectType == Self.parametricStereo {
            if try copy.bits(4) == Self.explicitRate { _ = try copy.bits(24) }
            objectType = try copy.bits(5)
        }
        try Self.require("audioObjectType", objectType, is: Self.lowComplexity)
        // GASpecificConfig (§4.4.1): frames of 960 samples, a core coder, an extension.
        _ = try copy.bits(1)
        try Self.require("dependsOnCoreCoder", copy.bits(1), is: 0)
        try Self.require("extensionFlag", copy.bits(1), is: 0)
        if let extended = try Self.extended(copy) {
            audioSpecificConfig = extended.bytes
            return
        }
        audioSpecificConfig = copy.bytes
        reader = copy.reader
        // 0: a length precedes each packet.
        try Self.require("frameLengthType", reader.bits(3), is: 0)
        // latmBufferFullness.
        try reader.skip(8)
        try Self.require("otherDataPresent", reader.bits(1), is: 0)
    }

    /// The configuration with its backward compatible extension (§1.6.6.1), which GStreamer copies from a file's
    /// configuration, and after which it writes nothing more; nil: there is none.
    private static func extended(_ core: BitCopier) throws(BitstreamError) -> BitCopier? {
        var copy = core
        guard copy.reader.bitsLeft >= 17, try copy.bits(11) == syncExtension,
            try copy.bits(5) == bandReplication
        else { return nil }
        if try copy.bits(1) == 1, try copy.bits(4) == explicitRate { _ = try copy.bits(24) }
        return copy
    }

    private static func require(
        _ field: String, _ value: UInt32, is wanted: UInt32
    ) throws(BitstreamError) {
        guard value == wanted else {
            throw .invalid(.streamMuxConfig, field: field, value: UInt64(value))
        }
    }

    /// Reads bits and keeps them, aligned to the first; the last byte is padded with zeros.
    private struct BitCopier {
        var reader: BitReader
        private(set) var bytes: [UInt8] = []
        private var count = 0

        init(_ reader: BitReader) { self.reader = reader }

        mutating func bits(_ wanted: Int) throws(BitstreamError) -> UInt32 {
            let value = try reader.bits(wanted)
            for place in (0..<wanted).reversed() {
                if count % 8 == 0 { bytes.append(0) }
                let bit = UInt8(truncatingIfNeeded: value >> UInt32(place) & 1)
                bytes[bytes.count - 1] |= bit << UInt8(7 - count % 8)
                count += 1
            }
            return value
        }
    }
}
