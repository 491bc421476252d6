import TestMedia
import Testing

@testable import Media

struct SequenceParameterSetTests {
    /// Baseline, level 1.3, 320×192 cropped to 320×180, pictures in decoding order.
    static func baseline() -> [UInt8] {
        var writer = BitWriter()
        writer.u(66, 8)
        writer.u(0xC0, 8)
        writer.u(13, 8)
        for value: UInt32 in [0, 0, 2, 1] { writer.ue(value) }
        writer.u(0, 1)
        writer.ue(19)
        writer.ue(11)
        writer.u(0b111, 3)
        for value: UInt32 in [0, 0, 0, 6] { writer.ue(value) }
        writer.u(0, 1)
        return writer.nalUnit(header: 0x67)
    }

    /// High 4:2:2, 10 bits, interlaced, scaling lists, everything that VUI has.
    static func high(reordered: UInt32? = 2) -> [UInt8] {
        var writer = BitWriter()
        writer.u(122, 8)
        writer.u(0, 8)
        writer.u(41, 8)
        for value: UInt32 in [0, 2, 2, 2] { writer.ue(value) }
        writer.u(0b01, 2)
        for list in 0..<8 {
            writer.u(list == 0 || list == 6 ? 1 : 0, 1)
            if list == 0 { for _ in 0..<16 { writer.se(1) } }
            // Drops to zero immediately: the rest of the list is inferred.
            if list == 6 { writer.se(-8) }
        }
        writer.ue(4)
        writer.ue(1)
        writer.u(1, 1)
        writer.se(-3)
        writer.se(2)
        writer.ue(2)
        writer.se(1)
        writer.se(-1)
        writer.ue(4)
        writer.u(0, 1)
        writer.ue(119)
        writer.ue(33)
        // Fields, some of them in one picture; direct_8x8_inference; cropping.
        writer.u(0b0111, 4)
        for value: UInt32 in [1, 2, 0, 2] { writer.ue(value) }
        writer.u(1, 1)
        // VUI: extended SAR 4:3, overscan, colours, chroma places, timing.
        writer.u(1, 1)
        writer.u(255, 8)
        writer.u(4, 16)
        writer.u(3, 16)
        writer.u(0b11, 2)
        writer.u(1, 1)
        writer.u(5, 3)
        writer.u(0b11, 2)
        for value: UInt32 in [1, 13, 6] { writer.u(value, 8) }
        writer.u(1, 1)
        writer.ue(0)
        writer.ue(0)
        writer.u(1, 1)
        writer.u(1_001, 32)
        writer.u(60_000, 32)
        writer.u(1, 1)
        // Both sets of hypothetical decoder parameters.
        for _ in 0..<2 {
            writer.u(1, 1)
            writer.ue(1)
            writer.u(0x12, 8)
            for _ in 0..<2 {
                writer.ue(70_000)
                writer.ue(80_000)
                writer.u(1, 1)
            }
            writer.u(0, 20)
        }
        writer.u(0b01, 2)
        writer.u(reordered == nil ? 0 : 1, 1)
        if let reordered {
            writer.u(1, 1)
            for value: UInt32 in [2, 1, 10, 11, reordered, 4] { writer.ue(value) }
        }
        return writer.nalUnit(header: 0x27)
    }

    @Test
    func `emulation prevention bytes are removed`() {
        let payload: [UInt8] = [9, 0, 0, 3, 1, 0, 0, 3, 0, 0, 3, 0, 3, 0, 0, 4]
        #expect(
            withoutEmulationPrevention(payload[1...])
                == [0, 0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 4])
    }

    @Test
    func `a baseline set gives the cropped size and no reordering`() throws {
        let parameters = try SequenceParameterSet(parsing: Self.baseline())
        #expect(parameters.profile == 66)
        #expect(parameters.level == 13)
        #expect(parameters.width == 320)
        #expect(parameters.height == 180)
        #expect(parameters.usability == nil)
        #expect(!parameters.mayReorder)
    }

    @Test
    func `a high set with everything in it is read to its end`() throws {
        let parameters = try SequenceParameterSet(parsing: Self.high())
        #expect(parameters.chromaFormat == 2)
        #expect(parameters.lumaBitDepth == 10)
        #expect(parameters.chromaBitDepth == 10)
        #expect(!parameters.isProgressive)
        #expect(parameters.width == 1_920 - 2 * 3)
        #expect(parameters.height == 34 * 32 - 2 * 2)
        let usability = try #require(parameters.usability)
        #expect(usability.sampleAspectRatio == SampleAspectRatio(horizontal: 4, vertical: 3))
        #expect(
            usability.colour
                == ColourDescription(
                    primaries: 1, transferCharacteristics: 13, matrixCoefficients: 6,
                    isFullRange: true))
        #expect(
            usability.timing
                == FrameTiming(unitsInTick: 1_001, timescale: 60_000, isFixed: true))
        #expect(usability.maximumReorderedFrames == 2)
        #expect(parameters.mayReorder)
    }

    @Test
    func `reordering is excluded only by an explicit statement`() throws {
        #expect(try SequenceParameterSet(parsing: Self.high(reordered: 0)).mayReorder == false)
        let silent = try SequenceParameterSet(parsing: Self.high(reordered: nil))
        #expect(silent.maximumReorderedFrames == nil)
        #expect(silent.mayReorder)
    }

    @Test
    func `truncated usability information does not lose the picture's size`() throws {
        let parameters = try SequenceParameterSet(parsing: Array(Self.high().prefix(45)))
        #expect(parameters.width == 1_914)
        #expect(parameters.usability == nil)
    }

    @Test
    func `a picture that is cropped away, or larger than any level allows, is refused`() {
        for (columns, crop) in [(UInt32(0), UInt32(8)), (5_000, 0)] {
            var writer = BitWriter()
            writer.u(66, 8)
            writer.u(0, 16)
            for value: UInt32 in [0, 0, 2, 1] { writer.ue(value) }
            writer.u(0, 1)
            writer.ue(columns)
            writer.ue(0)
            writer.u(0b111, 3)
            for value: UInt32 in [crop, 0, 0, 0] { writer.ue(value) }
            writer.u(0, 1)
            #expect(throws: BitstreamError.self) {
                try SequenceParameterSet(parsing: writer.nalUnit(header: 0x67))
            }
        }
    }

    @Test
    func `no bytes trap the reader`() {
        var random = SplitMix(state: 3)
        let sets = [Self.baseline(), Self.high()]
        for round in 0..<20_000 {
            var bytes = sets[round % 2]
            if round % 3 == 0 {
                bytes = [0x67, 100] + (0..<30).map { _ in .random(in: 0...255, using: &random) }
            }
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let index = Int.random(in: 1..<bytes.count, using: &random)
                bytes[index] = .random(in: 0...255, using: &random)
            }
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            do {
                let parameters = try SequenceParameterSet(parsing: bytes)
                #expect(parameters.width > 0 && parameters.height > 0)
            } catch {}
        }
    }
}

struct AVCDecoderConfigurationTests {
    private let pps: [UInt8] = [0x68, 0xCE, 0x3C, 0x80]

    @Test
    func `a record has its parameter sets' values, and is read back`() throws {
        for set in [SequenceParameterSetTests.baseline(), SequenceParameterSetTests.high()] {
            let format = try VideoFormat.h264(parsing: [set], pictureParameterSets: [pps])
            let record = try AVCDecoderConfiguration(format)
            let bytes = try record.bytes()
            #expect(Array(bytes.prefix(5)) == [1, set[1], set[2], set[3], 0xFF])
            #expect(try AVCDecoderConfiguration(parsing: bytes) == record)
            #expect((record.highProfile != nil) == (set[1] == 122))
            #expect(try VideoFormat(.h264, extradata: bytes) == format)
            let stream = [0, 0, 0, 1] + set + [0, 0, 1] + pps
            #expect(try VideoFormat(.h264, extradata: stream) == format)
        }
    }

    @Test
    func `a high profile's record without its extension is accepted`() throws {
        let format = try VideoFormat.h264(
            parsing: [SequenceParameterSetTests.high()], pictureParameterSets: [pps])
        let bytes = try AVCDecoderConfiguration(format).bytes().dropLast(4)
        #expect(try AVCDecoderConfiguration(parsing: Array(bytes)).highProfile == nil)
    }

    @Test
    func `a truncated record is refused`() throws {
        let format = try VideoFormat.h264(
            parsing: [SequenceParameterSetTests.baseline()], pictureParameterSets: [pps])
        let bytes = try AVCDecoderConfiguration(format).bytes()
        for count in 0..<bytes.count {
            #expect(throws: BitstreamError.self) {
                try AVCDecoderConfiguration(parsing: Array(bytes.prefix(count)))
            }
        }
    }
}

struct DecoderConfigurationOfSeveralSetsTests {
    @Test func `a record's level suffices for all of its sets`() throws {
        // The second byte behind the profile is the level.
        var high = H264Writer.Sequence(id: 1).nalUnit
        high[3] = 51
        high[2] = 0x40
        var low = H264Writer.Sequence().nalUnit
        low[2] = 0x60
        let format = try VideoFormat.h264(
            parsing: [low, high], pictureParameterSets: [H264Writer.pictureSet()])
        let record = try AVCDecoderConfiguration(format)
        #expect(record.level == 51)
        #expect(record.constraints == 0x40)
    }
}
