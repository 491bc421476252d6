/// The header of each packet of an ADTS stream (ISO/IEC 14496-3 §1.A.2.2), which replaces a configuration in `.aac`
/// files and streams of many network cameras.
package struct ADTSHeader: Hashable, Sendable {
    /// Bytes of a header without checksum.
    package static let minimumSize = 7
    /// `aac_frame_length` has 13 bits.
    package static let maximumFrameSize = 8_191

    /// Audio object type, 1 … 4: 2 is AAC-LC.
    package var objectType: UInt8
    package var sampleRate: UInt32
    /// 1 … 7, or 0 when the packet itself lists the channels.
    package var channelConfiguration: UInt8
    /// 7, or 9 with a checksum.
    package var headerSizeBytes: Int
    /// Header and packet together.
    package var frameSizeBytes: Int

    /// The header of a packet of `payloadSizeBytes`, without checksum.
    ///
    /// - Throws: when ADTS cannot represent the configuration or the size.
    package init(
        for configuration: AudioSpecificConfig, payloadSizeBytes: Int
    ) throws(BitstreamError) {
        guard (1...4).contains(configuration.objectType) else {
            throw .invalid(
                .adtsHeader, field: "profile", value: UInt64(configuration.objectType))
        }
        guard AudioSpecificConfig.indexedSampleRates.contains(configuration.sampleRate) else {
            throw .invalid(
                .adtsHeader, field: "sampling_frequency_index",
                value: UInt64(configuration.sampleRate))
        }
        guard (1...7).contains(configuration.channelConfiguration) else {
            throw .invalid(
                .adtsHeader, field: "channel_configuration",
                value: UInt64(configuration.channelConfiguration))
        }
        guard (0...Self.maximumFrameSize - Self.minimumSize).contains(payloadSizeBytes) else {
            throw .invalid(
                .adtsHeader, field: "aac_frame_length",
                value: UInt64(payloadSizeBytes.magnitude))
        }
        objectType = configuration.objectType
        sampleRate = configuration.sampleRate
        channelConfiguration = configuration.channelConfiguration
        headerSizeBytes = Self.minimumSize
        frameSizeBytes = Self.minimumSize + payloadSizeBytes
    }

    /// Parses the header at the start of `bytes`; the packet need not follow.
    package init(parsing bytes: [UInt8]) throws(BitstreamError) {
        var reader = BitReader(bytes, of: .adtsHeader)
        let syncWord = try reader.bits(12)
        guard syncWord == 0xFFF else {
            throw .invalid(.adtsHeader, field: "syncword", value: UInt64(syncWord))
        }
        try reader.skip(1)
        let layer = try reader.bits(2)
        guard layer == 0 else {
            throw .invalid(.adtsHeader, field: "layer", value: UInt64(layer))
        }
        headerSizeBytes = try reader.flag() ? 7 : 9
        objectType = 1 + UInt8(try reader.bits(2))
        let index = Int(try reader.bits(4))
        guard index < AudioSpecificConfig.indexedSampleRates.count else {
            throw .invalid(
                .adtsHeader, field: "sampling_frequency_index", value: UInt64(index))
        }
        sampleRate = AudioSpecificConfig.indexedSampleRates[index]
        try reader.skip(1)
        channelConfiguration = UInt8(try reader.bits(3))
        try reader.skip(4)
        frameSizeBytes = Int(try reader.bits(13))
        try reader.skip(11)
        let blocks = try reader.bits(2)
        guard frameSizeBytes >= headerSizeBytes else {
            throw .invalid(
                .adtsHeader, field: "aac_frame_length", value: UInt64(frameSizeBytes))
        }
        // Several packets after one header cannot be separated without decoding them.
        guard blocks == 0 else {
            throw .invalid(
                .adtsHeader, field: "number_of_raw_data_blocks_in_frame", value: UInt64(blocks))
        }
    }

    /// The seven bytes, with the buffer fullness of variable rate.
    ///
    /// - Precondition: the sample rate has an index.
    package func bytes() -> [UInt8] {
        guard let index = AudioSpecificConfig.indexedSampleRates.firstIndex(of: sampleRate)
        else { preconditionFailure("ADTS knows the indexed sample rates only") }
        return [
            0xFF, 0xF1,
            (objectType - 1) << 6 | UInt8(index) << 2 | channelConfiguration >> 2,
            (channelConfiguration & 3) << 6 | UInt8(frameSizeBytes >> 11 & 3),
            UInt8(frameSizeBytes >> 3 & 0xFF),
            UInt8(frameSizeBytes & 7) << 5 | 0x1F,
            0xFC,
        ]
    }
}

/// An ADTS stream: all headers have one format.
struct ADTSFraming: AudioFraming {
    let configuration: [UInt8]
    private let first: ADTSHeader

    init(_ packet: [UInt8]) throws(BitstreamError) {
        first = try ADTSHeader(parsing: packet)
        configuration =
            first.channelConfiguration == 0
            ? try AudioSpecificConfig.configuration(
                adts: first, payload: Array(packet.dropFirst(first.headerSizeBytes)))
            : try AudioSpecificConfig(adts: first).bytes()
    }

    func payload(of packet: [UInt8]) throws(BitstreamError) -> [UInt8]? {
        let header = try ADTSHeader(parsing: packet)
        guard header.frameSizeBytes == packet.count else {
            throw .invalid(
                .adtsHeader, field: "aac_frame_length", value: UInt64(header.frameSizeBytes))
        }
        guard header.sampleRate == first.sampleRate, header.objectType == first.objectType,
            header.channelConfiguration == first.channelConfiguration
        else { return nil }
        return Array(packet.dropFirst(header.headerSizeBytes))
    }
}

extension AudioSpecificConfig {
    /// The configuration that is equivalent to an ADTS header.
    fileprivate init(adts header: ADTSHeader) throws(BitstreamError) {
        // Configurations 1 … 6 are channel counts; 7 stands for eight.
        let channels = UInt32(
            header.channelConfiguration == 7 ? 8 : header.channelConfiguration)
        try self.init(lowComplexityAt: header.sampleRate, channels: channels)
        objectType = header.objectType
    }
}
