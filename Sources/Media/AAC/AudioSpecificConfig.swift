/// An AAC decoder's configuration (ISO/IEC 14496-3 §1.6.2.1).
package struct AudioSpecificConfig: Hashable, Sendable {
    /// Spectral band replication and parametric stereo, if the configuration signals them.
    package struct BandReplication: Hashable, Sendable {
        /// Output rate in Hz, usually twice the core's.
        package var sampleRate: UInt32
        package var hasParametricStereo: Bool
    }

    /// Audio object type of the core: 2 is AAC-LC.
    package var objectType: UInt8
    /// Sampling frequency of the core in Hz.
    package var sampleRate: UInt32
    /// `channelConfiguration`; 0 when a program config element lists the channels.
    package var channelConfiguration: UInt8
    /// Number of channels of the core.
    package var channels: UInt32
    /// Frames of sound per packet: 1024 or 960 (512 or 480 for low delay).
    package var framesPerPacket: UInt32
    package var bandReplication: BandReplication?

    /// The rates that have an index (table 1.18).
    package static let indexedSampleRates: [UInt32] = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025,
        8_000, 7_350,
    ]
    /// The highest sampling rate that is accepted.
    static let maximumSampleRate: UInt32 = 768_000

    /// AAC-LC with 1024 frames per packet, 1 … 6 or 8 channels.
    ///
    /// - Throws: for a number of channels that has no configuration, or a rate out of range.
    package init(lowComplexityAt sampleRate: UInt32, channels: UInt32) throws(BitstreamError) {
        let configurations: [UInt8] = [1, 2, 3, 4, 5, 6, 0, 7]
        guard let configuration = configurations.element(at: Int(channels) - 1),
            configuration > 0
        else {
            throw .invalid(.audioSpecificConfig, field: "channels", value: UInt64(channels))
        }
        guard (1...Self.maximumSampleRate).contains(sampleRate) else {
            throw .invalid(
                .audioSpecificConfig, field: "samplingFrequency", value: UInt64(sampleRate))
        }
        objectType = 2
        self.sampleRate = sampleRate
        channelConfiguration = configuration
        self.channels = channels
        framesPerPacket = 1024
    }

    /// Parses a configuration with explicit (hierarchical or backward compatible) SBR and PS signalling.
    package init(parsing bytes: [UInt8]) throws(BitstreamError) {
        var reader = BitReader(bytes, of: .audioSpecificConfig)
        var type = try Self.readObjectType(&reader)
        sampleRate = try Self.readSampleRate(&reader)
        channelConfiguration = UInt8(try reader.bits(4))
        if type == 5 || type == 29 {
            bandReplication = BandReplication(
                sampleRate: try Self.readSampleRate(&reader), hasParametricStereo: type == 29)
            type = try Self.readObjectType(&reader)
            if type == 22 { try reader.skip(4) }
        }
        objectType = type
        framesPerPacket = 1024
        channels = 0
        guard Self.generalAudioTypes.contains(type) else {
            throw .invalid(
                .audioSpecificConfig, field: "audioObjectType", value: UInt64(type))
        }
        try readGeneralAudio(&reader)
        if bandReplication == nil {
            bandReplication = try Self.readCompatibleExtension(&reader)
        }
    }

    /// The configuration as bytes; SBR and PS are left implicit.
    ///
    /// - Precondition: the object type is that of an AAC core with an indexed channel configuration.
    package func bytes() -> [UInt8] {
        precondition(objectType > 0 && objectType < 31 && channelConfiguration > 0)
        var value = UInt64(objectType)
        var count = 5
        func put(_ bits: UInt64, _ width: Int) {
            value = value << UInt64(width) | bits
            count += width
        }
        if let index = Self.indexedSampleRates.firstIndex(of: sampleRate) {
            put(UInt64(index), 4)
        } else {
            put(15, 4)
            put(UInt64(sampleRate), 24)
        }
        put(UInt64(channelConfiguration), 4)
        put(framesPerPacket == 960 ? 0b100 : 0, 3)
        let padding = (8 - count % 8) % 8
        put(0, padding)
        return stride(from: count - 8, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: value >> UInt64($0))
        }
    }

    /// Object types whose specific part is a GASpecificConfig (table 1.17).
    private static let generalAudioTypes: Set<UInt8> = [
        1, 2, 3, 4, 6, 7, 17, 19, 20, 21, 22, 23,
    ]
    /// Channels of each `channelConfiguration` (table 1.19); 0: reserved, or listed elsewhere.
    private static let channelCounts: [UInt32] = [
        0, 1, 2, 3, 4, 5, 6, 8, 0, 0, 0, 7, 8, 24, 8, 0,
    ]

    private static func readObjectType(_ reader: inout BitReader) throws(BitstreamError) -> UInt8 {
        let type = UInt8(try reader.bits(5))
        return type == 31 ? 32 + UInt8(try reader.bits(6)) : type
    }

    private static func readSampleRate(
        _ reader: inout BitReader
    ) throws(BitstreamError) -> UInt32 {
        let index = Int(try reader.bits(4))
        let rate = index == 15 ? try reader.bits(24) : indexedSampleRates.element(at: index) ?? 0
        guard (1...maximumSampleRate).contains(rate) else {
            throw .invalid(
                .audioSpecificConfig, field: "samplingFrequency",
                value: index == 15 ? UInt64(rate) : UInt64(index))
        }
        return rate
    }

    /// GASpecificConfig (§4.4.1).
    private mutating func readGeneralAudio(_ reader: inout BitReader) throws(BitstreamError) {
        let isShort = try reader.flag()
        let isLowDelay = objectType == 23
        framesPerPacket = isLowDelay ? (isShort ? 480 : 512) : (isShort ? 960 : 1024)
        if try reader.flag() { try reader.skip(14) }
        let isExtended = try reader.flag()
        if channelConfiguration == 0 {
            channels = try Self.readProgramConfig(&reader)
        } else {
            channels = Self.channelCounts[Int(channelConfiguration)]
        }
        guard channels > 0 else {
            throw .invalid(
                .audioSpecificConfig, field: "channelConfiguration",
                value: UInt64(channelConfiguration))
        }
        if objectType == 6 || objectType == 20 { try reader.skip(3) }
        if isExtended {
            if objectType == 22 { try reader.skip(16) }
            if [17, 19, 20, 23].contains(objectType) { try reader.skip(3) }
            try reader.skip(1)
        }
    }

    /// Counts the channels of a program_config_element (§4.4.1.1).
    private static func readProgramConfig(
        _ reader: inout BitReader
    ) throws(BitstreamError) -> UInt32 {
        try reader.skip(4 + 2 + 4)
        let counts = try [reader.bits(4), reader.bits(4), reader.bits(4)]
        let lowFrequency = try reader.bits(2)
        let associatedData = try reader.bits(3)
        let coupling = try reader.bits(4)
        if try reader.flag() { try reader.skip(4) }
        if try reader.flag() { try reader.skip(4) }
        if try reader.flag() { try reader.skip(3) }
        var channels = lowFrequency
        for count in counts {
            for _ in 0..<count {
                // is_cpe: a pair, or a single channel.
                channels += try reader.flag() ? 2 : 1
                try reader.skip(4)
            }
        }
        try reader.skip(Int(4 * lowFrequency + 4 * associatedData + 5 * coupling))
        // byte_alignment(), then a comment with a length.
        try reader.skip(reader.bitsLeft % 8)
        try reader.skip(8 * Int(try reader.bits(8)))
        return channels
    }

    /// The backward compatible signalling after the configuration: sync words 0x2B7 and 0x548.
    private static func readCompatibleExtension(
        _ reader: inout BitReader
    ) throws(BitstreamError) -> BandReplication? {
        guard reader.bitsLeft >= 16, try reader.bits(11) == 0x2B7,
            try readObjectType(&reader) == 5, try reader.flag()
        else { return nil }
        var extended = BandReplication(
            sampleRate: try readSampleRate(&reader), hasParametricStereo: false)
        if reader.bitsLeft >= 12, try reader.bits(11) == 0x548 {
            extended.hasParametricStereo = try reader.flag()
        }
        return extended
    }
}

extension Array {
    /// The element at `index`; nil if out of range.
    fileprivate func element(at index: Int) -> Element? {
        indices.contains(index) ? self[index] : nil
    }
}
