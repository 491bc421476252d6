import Media
import TestMedia
import Testing

struct AudioSpecificConfigTests {
    @Test(
        arguments: [
            (48_000, 2, [0x11, 0x90]), (44_100, 1, [0x12, 0x08]), (8_000, 1, [0x15, 0x88]),
            (48_000, 8, [0x11, 0xB8]), (47_999, 2, [0x17, 0x80, 0x5D, 0xBF, 0x90]),
        ] as [(UInt32, UInt32, [UInt8])])
    func `AAC-LC configurations have the usual bytes`(
        _ rate: UInt32, _ channels: UInt32, _ bytes: [UInt8]
    ) throws {
        let configuration = try AudioSpecificConfig(lowComplexityAt: rate, channels: channels)
        #expect(configuration.bytes() == bytes)
        #expect(try AudioSpecificConfig(parsing: bytes) == configuration)
        let format = try AudioFormat(aac: bytes)
        #expect(format.sampleRate == rate)
        #expect(format.channels == channels)
    }

    @Test
    func `band replication and parametric stereo are seen in both ways of saying them`() throws {
        // Hierarchical: PS, 24 kHz mono, SBR to 48 kHz, AAC-LC core.
        var writer = BitWriter()
        writer.u(29, 5)
        writer.u(6, 4)
        writer.u(1, 4)
        writer.u(3, 4)
        writer.u(2, 5)
        writer.u(0, 3)
        let hierarchical = try AudioSpecificConfig(parsing: writer.bytes)
        #expect(hierarchical.objectType == 2)
        #expect(hierarchical.sampleRate == 24_000)
        #expect(hierarchical.bandReplication?.sampleRate == 48_000)
        #expect(hierarchical.bandReplication?.hasParametricStereo == true)

        // Backward compatible: the same behind sync words.
        writer = BitWriter()
        writer.u(2, 5)
        writer.u(6, 4)
        writer.u(1, 4)
        writer.u(0, 3)
        writer.u(0x2B7, 11)
        writer.u(5, 5)
        writer.u(1, 1)
        writer.u(3, 4)
        writer.u(0x548, 11)
        writer.u(1, 1)
        #expect(try AudioSpecificConfig(parsing: writer.bytes) == hierarchical)
    }

    @Test
    func `channels that a program config element lists are counted`() throws {
        var writer = BitWriter()
        writer.u(2, 5)
        writer.u(3, 4)
        writer.u(0, 4)
        writer.u(0, 3)
        writer.u(0, 10)
        for (count, bits) in [(2, 4), (0, 4), (1, 4), (1, 2), (0, 3), (0, 4)] {
            writer.u(UInt32(count), bits)
        }
        writer.u(0, 3)
        // Front: a single channel and a pair; back: a pair; then the low frequencies.
        for isPair: UInt32 in [0, 1, 1] {
            writer.u(isPair, 1)
            writer.u(0, 4)
        }
        writer.u(0, 4)
        writer.u(0, (8 - (16 + 10 + 21 + 3 + 15 + 4) % 8) % 8)
        writer.u(0, 8)
        #expect(try AudioSpecificConfig(parsing: writer.bytes).channels == 6)
    }

    @Test
    func `reserved rates, unknown codings and half configurations are refused`() {
        for bytes: [UInt8] in [[], [0x11], [0x16, 0x90], [0x17, 0x80, 0, 0, 0x10], [0xF9, 0, 0]] {
            #expect(throws: BitstreamError.self) { try AudioSpecificConfig(parsing: bytes) }
        }
        #expect(throws: BitstreamError.self) {
            try AudioSpecificConfig(lowComplexityAt: 48_000, channels: 7)
        }
        #expect(throws: BitstreamError.self) {
            try AudioSpecificConfig(lowComplexityAt: 0, channels: 2)
        }
    }

    @Test
    func `no bytes trap the reader`() {
        var random = SplitMix(state: 11)
        for _ in 0..<50_000 {
            let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            do {
                let configuration = try AudioSpecificConfig(parsing: bytes)
                #expect(configuration.channels > 0)
            } catch {}
        }
    }
}

struct ADTSHeaderTests {
    @Test
    func `a header reads back as it was written`() throws {
        let configuration = try AudioSpecificConfig(lowComplexityAt: 44_100, channels: 2)
        let header = try ADTSHeader(for: configuration, payloadSizeBytes: 371)
        #expect(header.bytes() == [0xFF, 0xF1, 0x50, 0x80, 0x2F, 0x5F, 0xFC])
        #expect(try ADTSHeader(parsing: header.bytes()) == header)
        #expect(header.frameSizeBytes == 378)
    }

    @Test
    func `a checksum makes the header longer`() throws {
        let header = try ADTSHeader(parsing: [0xFF, 0xF0, 0x50, 0x80, 0x2F, 0x5F, 0xFC, 1, 2])
        #expect(header.headerSizeBytes == 9)
    }

    @Test
    func `an invalid header, or a configuration that ADTS cannot express, is refused`() throws {
        for bytes: [UInt8] in [
            [], [0xFF, 0xF1, 0x50], [0xFE, 0xF1, 0x50, 0x80, 0x2F, 0x5F, 0xFC],
            [0xFF, 0xF1, 0x50, 0x80, 0x00, 0x5F, 0xFC], [0xFF, 0xF1, 0x7C, 0x80, 0x2F, 0x5F, 0xFC],
            [0xFF, 0xF1, 0x50, 0x80, 0x2F, 0x5F, 0xFD],
        ] {
            #expect(throws: BitstreamError.self) { try ADTSHeader(parsing: bytes) }
        }
        let odd = try AudioSpecificConfig(lowComplexityAt: 47_999, channels: 2)
        #expect(throws: BitstreamError.self) { try ADTSHeader(for: odd, payloadSizeBytes: 1) }
        let usual = try AudioSpecificConfig(lowComplexityAt: 48_000, channels: 2)
        #expect(throws: BitstreamError.self) {
            try ADTSHeader(for: usual, payloadSizeBytes: 8_185)
        }
    }

    @Test func `a program config element moves from a packet into the configuration`() throws {
        // 6.1 channels as packed by FFmpeg's encoder; the expected bytes are aac_adtstoasc's output.
        let comment = Array("Lavc59.37.100".utf8)
        let header: [UInt8] = [0xFF, 0xF1, 0x4C, 0x00, 0x5B, 0xDF, 0xFC]
        let element: [UInt8] = [0xA0, 0x99, 0x09, 0x00, 0x04, 0x00, 0x18, 0x88, 0x0D]
        let payload = element + comment
        let adts = try ADTSHeader(parsing: header)
        #expect(adts.channelConfiguration == 0)
        let configuration = try AudioSpecificConfig.configuration(adts: adts, payload: payload)
        let expected: [UInt8] = [
            0x11, 0x80, 0x04, 0xC8, 0x48, 0x00, 0x20, 0x00, 0xC4, 0x40, 0x0D,
        ]
        #expect(configuration == expected + comment)
        #expect(try AudioSpecificConfig(parsing: configuration).channels == 7)
        for count in payload.indices {
            #expect(throws: BitstreamError.self) {
                try AudioSpecificConfig.configuration(
                    adts: adts, payload: Array(payload.prefix(count)))
            }
        }
    }
}
