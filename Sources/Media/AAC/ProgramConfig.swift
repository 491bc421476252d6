extension AudioSpecificConfig {
    /// The configuration for ADTS packets whose header leaves their channels to a program config element (§4.4.1.1):
    /// the element is moved from the start of the first packet into the configuration.
    ///
    /// - Parameter payload: the packet after its header.
    package static func configuration(
        adts header: ADTSHeader, payload: [UInt8]
    ) throws(BitstreamError) -> [UInt8] {
        guard let rate = indexedSampleRates.firstIndex(of: header.sampleRate) else {
            throw .invalid(
                .adtsHeader, field: "sampling_frequency_index", value: UInt64(header.sampleRate))
        }
        var reader = BitReader(payload, of: .audioSpecificConfig)
        let element = try reader.bits(3)
        guard element == programConfigElement else {
            throw .invalid(.audioSpecificConfig, field: "id_syn_ele", value: UInt64(element))
        }
        var bits = BitCollector()
        bits.append(UInt32(header.objectType), count: 5)
        bits.append(UInt32(rate), count: 4)
        // channelConfiguration 0, and a GASpecificConfig without flags.
        bits.append(0, count: 4 + 3)
        func copy(_ count: Int) throws(BitstreamError) -> Int {
            let value = try reader.bits(count)
            bits.append(value, count: count)
            return Int(value)
        }
        // element_instance_tag, object_type, sampling_frequency_index
        for count in [4, 2, 4] { _ = try copy(count) }
        let channels = try copy(4) + copy(4) + copy(4)
        let (lowFrequency, associated, coupling) = (try copy(2), try copy(3), try copy(4))
        // Mixdown elements, each after its flag.
        for count in [4, 4, 3] where try copy(1) == 1 { _ = try copy(count) }
        for _ in 0..<channels { _ = try copy(5) }
        for _ in 0..<lowFrequency + associated { _ = try copy(4) }
        for _ in 0..<coupling { _ = try copy(5) }
        // byte_alignment() is relative to the start of the source and of the destination.
        try reader.skip(reader.bitsLeft % 8)
        bits.align()
        for _ in 0..<(try copy(8)) { _ = try copy(8) }
        return bits.bytes
    }

    /// `ID_PCE`.
    private static let programConfigElement: UInt32 = 5
}

/// Appends bits, most significant first.
private struct BitCollector {
    private(set) var bytes: [UInt8] = []
    private var free = 0

    mutating func append(_ value: UInt32, count: Int) {
        for bit in (0..<count).reversed() {
            if free == 0 {
                bytes.append(0)
                free = 8
            }
            free -= 1
            bytes[bytes.count - 1] |= UInt8(value >> UInt32(bit) & 1) << UInt8(free)
        }
    }

    /// Continues with a whole byte.
    mutating func align() { free = 0 }
}
