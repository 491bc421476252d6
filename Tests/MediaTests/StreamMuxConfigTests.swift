import Testing

@testable import Media

@Suite struct StreamMuxConfigTests {
    @Test func `the configuration that FFmpeg and GStreamer write for AAC-LC is read`() throws {
        let own = try StreamMuxConfig(parsing: [0x40, 0x00, 0x23, 0x20, 0x3F, 0xC0])
        #expect(own.subframes == 1)
        #expect(own.audioSpecificConfig == [0x11, 0x90])
        let format = try AudioFormat(aac: own.audioSpecificConfig)
        #expect(format.sampleRate == 48_000 && format.channels == 2)
    }

    @Test func `the configuration that GStreamer copies from a file is read`() throws {
        let own = try StreamMuxConfig(parsing: [0x40, 0x00, 0x23, 0x10, 0xAD, 0xCA, 0x00])
        let parsed = try AudioSpecificConfig(parsing: own.audioSpecificConfig)
        #expect(parsed.sampleRate == 48_000 && parsed.channels == 1)
        #expect(parsed.bandReplication == nil)
    }

    @Test func `several packets in one element, and a rate without an index`() throws {
        var bits = "0" + "1" + "000011" + "0000" + "000"
        // 12345 Hz, 1 channel.
        bits += "00010" + "1111" + "000000000011000000111001" + "0001" + "000"
        bits += "000" + "11111111" + "0" + "0"
        let own = try StreamMuxConfig(parsing: bytes(bits))
        #expect(own.subframes == 4)
        let format = try AudioFormat(aac: own.audioSpecificConfig)
        #expect(format.sampleRate == 12_345 && format.channels == 1)
    }

    @Test func `band replication is kept in the configuration`() throws {
        var bits = "0" + "1" + "000000" + "0000" + "000"
        // 24 kHz doubled to 48 kHz.
        bits += "00101" + "0110" + "0010" + "0011" + "00010" + "000"
        bits += "000" + "11111111" + "0" + "0"
        let own = try StreamMuxConfig(parsing: bytes(bits))
        let parsed = try AudioSpecificConfig(parsing: own.audioSpecificConfig)
        #expect(parsed.sampleRate == 24_000 && parsed.bandReplication?.sampleRate == 48_000)
    }

    @Test(
        arguments: [
            // Version 1, two programs, two layers, Main, no channel configuration.
            "1", "0100000000010000001000100110001000000001111111100",
            "0100000000000010001000110010000000111111110", "01000000000000000001001100100000",
            "010000000000000000100011000000000011111111",
        ])
    func `another multiplex is refused`(bits: String) {
        #expect(throws: BitstreamError.self) { try StreamMuxConfig(parsing: bytes(bits)) }
    }

    @Test func `every truncation is refused`() {
        let whole: [UInt8] = [0x40, 0x00, 0x23, 0x20, 0x3F, 0xC0]
        for count in 0..<5 {
            #expect(throws: BitstreamError.self) {
                try StreamMuxConfig(parsing: Array(whole.prefix(count)))
            }
        }
    }

    private func bytes(_ bits: String) -> [UInt8] {
        let padded = bits + String(repeating: "0", count: (8 - bits.count % 8) % 8)
        return stride(from: 0, to: padded.count, by: 8).map { start in
            UInt8(padded.dropFirst(start).prefix(8), radix: 2) ?? 0
        }
    }
}
