extension AudioCodec {
    package static let aac = AudioCodec(AAC.self)
}

/// AAC (ISO/IEC 14496-3).
package enum AAC: AudioCoding {
    package static let name = "AAC"
    package static let libraryName = "aac"
    package static let fileSuffixes = ["aac", "adts"]
    package static let entry = "mp4a"
    /// MPEG-4 audio, and the three profiles of MPEG-2 AAC.
    package static let configurationBox = AudioConfigurationBox.elementaryStream(
        objectTypes: [0x40, 0x66, 0x67, 0x68])
    package static let encoderDelayFrames: Int64 = 1024
    /// Encoders emit up to 2112 frames.
    package static let maximumEncoderDelayFrames: Int64 = 3 * 1024

    package static func format(
        parsing configuration: [UInt8]
    ) throws(BitstreamError) -> AudioFormat {
        try AudioFormat(aac: configuration)
    }

    package static func fields(
        _ configuration: [UInt8]
    ) throws(BitstreamError) -> [(name: String, value: UInt64)] {
        let parsed = try AudioSpecificConfig(parsing: configuration)
        return [
            ("audioObjectType", UInt64(parsed.objectType)),
            ("samplingFrequency", UInt64(parsed.sampleRate)),
            ("channels", UInt64(parsed.channels)),
        ]
    }

    package static func packetFrames(_ format: AudioFormat) throws(BitstreamError) -> UInt32 {
        try AudioSpecificConfig(parsing: format.configuration).framesPerPacket
    }

    /// `mp4a.40.` and the audio object type (table 1.17), that of the extension where the configuration names one.
    package static func codecText(_ format: AudioFormat) -> String {
        var objectType: UInt8 = 2
        do throws(BitstreamError) {
            let configuration = try AudioSpecificConfig(parsing: format.configuration)
            objectType =
                configuration.bandReplication.map { $0.hasParametricStereo ? 29 : 5 }
                ?? configuration.objectType
        } catch {
            // Decoders may support more than this parser: nearly all AAC is AAC-LC.
            objectType = 2
        }
        return "mp4a.40.\(objectType)"
    }

    /// The packet with an ADTS header.
    package static func describing(
        _ packet: [UInt8], _ format: AudioFormat
    ) throws(BitstreamError) -> [UInt8] {
        let configuration = try AudioSpecificConfig(parsing: format.configuration)
        return try ADTSHeader(for: configuration, payloadSizeBytes: packet.count).bytes() + packet
    }

    package static func framing(of packet: [UInt8]) throws(BitstreamError) -> any AudioFraming {
        try ADTSFraming(packet)
    }
}

extension AudioFormat {
    /// A format with the core's rate and channels of an AudioSpecificConfig.
    package init(aac configuration: [UInt8]) throws(BitstreamError) {
        let parsed = try AudioSpecificConfig(parsing: configuration)
        self.init(
            .aac, configuration: configuration, sampleRate: parsed.sampleRate,
            channels: parsed.channels)
    }

    /// An AAC track.
    package static func aac(
        configuration: [UInt8], sampleRate: UInt32, channels: UInt32
    ) -> AudioFormat {
        AudioFormat(
            .aac, configuration: configuration, sampleRate: sampleRate, channels: channels)
    }
}
