import Media

/// Arbitrary packets divided into pictures: each NAL unit is in one picture at most, in order, and each picture has a
/// slice.
enum AccessUnitTarget {
    /// A packet's bytes at a fixed address.
    private final class Packet {
        let memory: UnsafeRawBufferPointer

        init(_ bytes: [UInt8]) {
            let memory = UnsafeMutableRawBufferPointer.allocate(
                byteCount: bytes.count, alignment: 1)
            memory.copyBytes(from: bytes)
            self.memory = UnsafeRawBufferPointer(memory)
        }

        deinit { memory.deallocate() }

        var bytes: [UInt8] { Array(memory) }
    }

    static func run(_ bytes: [UInt8], _ codec: VideoCodec) {
        var input = InputReader(bytes)
        // A configuration record, or parameter sets in Annex B, or nothing.
        let configuration = input.block()
        guard var assembler = PictureAssembler<Packet>(codec, configuration: configuration)
        else { return }
        let framing: NALUnitFraming
        do throws(BitstreamError) {
            framing = try NALUnitFraming(codec, configuration: configuration)
        } catch {
            preconditionFailure("the assembler takes what has no framing: \(error)")
        }
        var given: [[UInt8]] = []
        var taken: [[UInt8]] = []
        var start = DecodingStart()
        func take(_ pictures: [PictureAssembler<Packet>.Picture]) {
            for picture in pictures {
                let bytes = picture.bytes ?? picture.packet.bytes
                precondition(picture.place.index < picture.place.count)
                precondition(!picture.parts.isEmpty)
                guard let units = units(bytes, framing) else { continue }
                taken += units
                look(at: units, codec, &start)
            }
        }
        while !input.isAtEnd {
            let packet = Packet(input.block())
            given += units(packet.bytes, framing) ?? []
            take(assembler.add(packet, packet.memory))
        }
        take(assembler.finish())
        // NAL units in front of a missing picture are dropped.
        var rest = given[...]
        for unit in taken {
            guard let place = rest.firstIndex(of: unit) else {
                preconditionFailure("a NAL unit is in two pictures, or out of order")
            }
            rest = rest[(place + 1)...]
        }
        let slices = given.count { codec.kind(of: $0) == .slice }
        precondition(taken.count { codec.kind(of: $0) == .slice } == slices, "a slice is lost")
    }

    /// The NAL units of a packet; nil if malformed.
    private static func units(_ bytes: [UInt8], _ framing: NALUnitFraming) -> [[UInt8]]? {
        do throws(BitstreamError) {
            return try framing.units(in: bytes.span).map { Array(bytes[$0.range]) }
        } catch {
            return nil
        }
    }

    /// Every recorded or described picture is parsed a second time.
    private static func look(
        at units: [[UInt8]], _ codec: VideoCodec, _ start: inout DecodingStart
    ) {
        var accessUnit: [UInt8] = []
        for unit in units { appendLengthPrefixed(unit.span, to: &accessUnit) }
        do throws(BitstreamError) {
            let picture = try CodedPicture(of: accessUnit.span, codec)
            let flags = start.flags(of: picture)
            precondition(picture.accessPoint != .sync || flags == .keyframe)
            let sets =
                codec == .h264
                ? [H264Seeds.sequenceSet, H264Seeds.pictureSet] : H265Seeds.parameterSets
            let whole = try withParameterSets(sets, in: accessUnit.span, codec)
            precondition(whole.count >= accessUnit.count)
        } catch {
            precondition(!error.description.isEmpty)
        }
    }
}

/// Small valid parameter sets and slices.
enum H264Seeds {
    /// Main profile, 32×32, order type 0 with 8 bits.
    static let sequenceSet: [UInt8] = [0x67, 0x4D, 0x00, 0x1E, 0xE5, 0x29, 0x2C, 0x80]
    static let pictureSet: [UInt8] = [0x68, 0xCE, 0x38, 0x80]
    private static let message: [UInt8] = [0x06, 6, 1, 0xC4, 0x80]
    private static let idr: [UInt8] = [0x65, 0x88, 0x84, 0x02, 0xAC]
    private static let slices: [[UInt8]] = [
        [0x61, 0x9A, 0x20, 0x55, 0x60], [0x61, 0x66, 0x88, 0x15, 0x58],
    ]

    static var sets: [UInt8] {
        var writer = InputWriter()
        for set in [sequenceSet, pictureSet, sequenceSet] { writer.block(set) }
        return writer.bytes
    }

    /// A delimiter alone, an IDR picture, and a picture with slices in two packets.
    static var pictures: [UInt8] {
        func stream(_ nalUnits: [[UInt8]]) -> [UInt8] { nalUnits.flatMap { [0, 0, 0, 1] + $0 } }
        var writer = InputWriter()
        writer.block(stream([sequenceSet, pictureSet]))
        writer.block(stream([[0x09, 0xF0]]))
        writer.block(stream([message, idr]))
        for slice in slices { writer.block(stream([slice])) }
        return writer.bytes
    }
}

/// Small valid parameter sets and slices.
enum H265Seeds {
    /// Main profile, 64×64, 5 pictures a second.
    static let parameterSets: [[UInt8]] = [
        [
            0x40, 0x01, 0x0C, 0x01, 0xFF, 0xFF, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0x90, 0x00,
            0x00, 0x03, 0x00, 0x00, 0x03, 0x00, 0x1E, 0x91, 0x10, 0x09,
        ],
        [
            0x42, 0x01, 0x01, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0x90, 0x00, 0x00, 0x03, 0x00,
            0x00, 0x03, 0x00, 0x1E, 0xA0, 0x20, 0x81, 0x05, 0x96, 0x44, 0x49, 0x24, 0xCA, 0xF0,
            0x16, 0x80, 0x80, 0x00, 0x00, 0x03, 0x00, 0x80, 0x00, 0x00, 0x03, 0x02, 0x84,
        ],
        [0x44, 0x01, 0xC1, 0x72, 0xB4, 0x22, 0x40],
    ]
    private static let delimiter: [UInt8] = [0x46, 0x01, 0x50]
    /// An IDR picture, P and B pictures, a CRA picture and its RASL picture.
    private static let slices: [[UInt8]] = [
        [0x28, 0x01, 0xAF, 0x26, 0x4F], [0x02, 0x01, 0xD0, 0x19, 0x5F],
        [0x00, 0x01, 0xE0, 0x24, 0xB5], [0x2A, 0x01, 0xAC, 0x20, 0x4A],
        [0x10, 0x01, 0xE0, 0xE6, 0xB7],
    ]

    static var sets: [UInt8] {
        var writer = InputWriter()
        for set in parameterSets + [parameterSets[1]] { writer.block(set) }
        return writer.bytes
    }

    /// A delimiter alone, and one picture in each packet.
    static var pictures: [UInt8] {
        func stream(_ nalUnits: [[UInt8]]) -> [UInt8] { nalUnits.flatMap { [0, 0, 0, 1] + $0 } }
        var writer = InputWriter()
        writer.block(stream(parameterSets))
        writer.block(stream([delimiter]))
        for slice in slices { writer.block(stream([slice])) }
        return writer.bytes
    }
}
