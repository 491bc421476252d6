import TestMedia
import Testing

@testable import Media

struct H265ParameterSetTests {
    @Test func `x265's sets are read`() throws {
        let set = try H265SequenceParameterSet(parsing: H265Stream.sequenceSet)
        #expect(set.id == 0 && set.width == 64 && set.height == 64)
        #expect(set.chromaFormat == 1 && set.lumaBitDepth == 8 && set.chromaBitDepth == 8)
        #expect(set.profile.profile == 1 && set.profile.level == 30)
        #expect(set.orderCountBits == 8)
        #expect(set.maximumReorderedPictures == 1)
        let pictures = try #require(set.pictures)
        #expect(pictures.frameDuration == .init(ticks: 1, timescale: 5))
        #expect(pictures.pixelFormat == .yuv420p)
        #expect(try H265VideoParameterSet(parsing: H265Stream.videoSet).id == 0)
        let picture = try H265PictureParameterSet(parsing: H265Stream.pictureSet)
        #expect(picture.id == 0 && picture.sequenceID == 0)
        #expect(!picture.hasOutputFlag && picture.extraSliceHeaderBits == 0)
    }

    /// Main 10, level 5.1, high tier, two sub-layers, everything that a set can have.
    private static func full(reordered: UInt32 = 3) -> [UInt8] {
        var writer = BitWriter()
        writer.u(2, 4)
        writer.u(1, 3)
        writer.u(0, 1)
        // Profile space 0, high tier, profile 2; flags 1 and 2; progressive, frames only; level 5.1.
        writer.u(0, 2)
        writer.u(1, 1)
        writer.u(2, 5)
        writer.u(0x2000_0000, 32)
        writer.u(0xB000, 16)
        writer.u(0, 32)
        writer.u(153, 8)
        // The sub-layer has a profile and a level.
        writer.u(0b11, 2)
        for _ in 0..<7 { writer.u(0, 2) }
        for _ in 0..<12 { writer.u(0xFF, 8) }
        writer.ue(7)
        writer.ue(1)
        writer.ue(1_928)
        writer.ue(1_088)
        writer.u(1, 1)
        for offset: UInt32 in [1, 3, 0, 4] { writer.ue(offset) }
        writer.ue(2)
        writer.ue(2)
        writer.ue(12)
        writer.u(1, 1)
        for layer: UInt32 in [1, reordered] {
            writer.ue(4)
            writer.ue(layer)
            writer.ue(0)
        }
        for value: UInt32 in [0, 3, 0, 3, 1, 1] { writer.ue(value) }
        // Scaling lists: each is predicted but one, which has a DC coefficient.
        writer.u(0b11, 2)
        for size in 0..<4 {
            for matrix in stride(from: 0, to: 6, by: size == 3 ? 3 : 1) {
                writer.u(size == 2 && matrix == 1 ? 1 : 0, 1)
                if size == 2, matrix == 1 {
                    writer.se(-4)
                    for _ in 0..<64 { writer.se(1) }
                } else {
                    writer.ue(UInt32(matrix == 0 ? 0 : 1))
                }
            }
        }
        writer.u(0b11, 2)
        writer.u(1, 1)
        writer.u(0x77, 8)
        writer.ue(0)
        writer.ue(2)
        writer.u(1, 1)
        // Reference sets: two before and one after; predicted from it; predicted from that.
        writer.ue(3)
        writer.ue(2)
        writer.ue(1)
        for delta: UInt32 in [0, 2, 1] {
            writer.ue(delta)
            writer.u(1, 1)
        }
        // Shifted by −1: −2, −4 and 1 are kept, and −1 itself.
        writer.u(0b11, 2)
        writer.ue(0)
        writer.u(0b1111, 4)
        // Shifted by 1: four differences, of which 0 drops out, and 1 itself; the second is not kept.
        writer.u(0b10, 2)
        writer.ue(0)
        writer.u(0b1, 1)
        writer.u(0b00, 2)
        writer.u(0b01, 2)
        writer.u(0b11, 2)
        // Two long-term pictures, of 16 + 1 bits.
        writer.u(1, 1)
        writer.ue(2)
        for _ in 0..<2 { writer.u(0x1_5555, 17) }
        writer.u(0b11, 2)
        // VUI: extended SAR, overscan, colours, chroma places, fields, a display window, timing.
        writer.u(1, 1)
        writer.u(1, 1)
        writer.u(255, 8)
        writer.u(4, 16)
        writer.u(3, 16)
        writer.u(0b11, 2)
        writer.u(1, 1)
        writer.u(5, 3)
        writer.u(0b11, 2)
        for value: UInt32 in [9, 16, 9] { writer.u(value, 8) }
        writer.u(1, 1)
        writer.ue(2)
        writer.ue(2)
        writer.u(0b0101, 4)
        for _ in 0..<4 { writer.ue(0) }
        writer.u(1, 1)
        writer.u(1_001, 32)
        writer.u(60_000, 32)
        return writer.nalUnit(header: 0x42, 0x01)
    }

    @Test func `every optional part of a sequence parameter set is read or skipped`() throws {
        let set = try H265SequenceParameterSet(parsing: Self.full())
        #expect(set.id == 7 && set.temporalLayers == 2 && !set.isTemporallyNested)
        #expect(set.width == 1_920 && set.height == 1_080)
        #expect(set.lumaBitDepth == 10 && set.chromaBitDepth == 10)
        #expect(set.orderCountBits == 16)
        #expect(set.maximumReorderedPictures == 3)
        #expect(set.profile.codecText == "2.4.H153.B0")
        let usability = try #require(set.usability)
        #expect(usability.sampleAspectRatio == SampleAspectRatio(4, to: 3))
        #expect(
            usability.colour
                == ColourDescription(primaries: 9, transfer: 16, matrix: 9, isFullRange: true))
        #expect(usability.isFieldSequence)
        #expect(usability.frameDuration == .init(ticks: 1_001, timescale: 60_000))
        #expect(set.pictures?.pixelFormat.name == "yuv420p10le")
    }

    @Test func `a truncated set is refused, or lacks its usability information`() {
        let set = Self.full()
        for count in 0..<set.count - 1 {
            do throws(BitstreamError) {
                let cut = try H265SequenceParameterSet(parsing: Array(set.prefix(count)))
                #expect(cut.usability == nil)
                #expect(cut.width == 1_920)
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
    }

    @Test func `values past a limit are refused`() {
        // More reordered pictures than are buffered.
        #expect(
            throws: BitstreamError.invalid(
                .sequenceParameterSet, field: "sps_max_num_reorder_pics", value: 5)
        ) { try H265SequenceParameterSet(parsing: Self.full(reordered: 5)) }
        #expect(
            throws: BitstreamError.invalid(
                .sequenceParameterSet, field: "nal_unit_type", value: 34)
        ) { try H265SequenceParameterSet(parsing: H265Stream.pictureSet) }
        let long = H265Stream.sequenceSet + [UInt8](repeating: 0xFF, count: 65_536)
        #expect(throws: BitstreamError.self) { try H265SequenceParameterSet(parsing: long) }
    }

    @Test func `a codec string has profile, flags, level and constraints`() throws {
        let format = try VideoFormat(.h265, parsing: H265Stream.sets)
        #expect(TrackFormat.video(format).codecText == "hvc1.1.6.L30.90")
        // ISO/IEC 14496-15 §E.3's example.
        let example = H265ProfileTierLevel(
            space: 0, isHighTier: false, profile: 1, compatibility: 0x6000_0000,
            constraints: 0xB000_0000_0000, level: 93)
        #expect(example.codecText == "1.6.L93.B0")
        let other = H265ProfileTierLevel(
            space: 2, isHighTier: true, profile: 4, compatibility: 0x0800_0000,
            constraints: 0xB908_0000_0000, level: 120)
        #expect(other.codecText == "B4.10.H120.B9.8")
    }

    @Test func `a configuration record is read back, and sets are sorted by kind`() throws {
        let format = try VideoFormat(.h265, parsing: H265Stream.sets.reversed())
        #expect(format.parameterSets == H265Stream.sets)
        let record = try format.record()
        #expect(
            Array(record.prefix(23)) == [
                1, 1, 0x60, 0, 0, 0, 0x90, 0, 0, 0, 0, 0, 30, 0xF0, 0, 0xFC, 0xFD, 0xF8, 0xF8, 0, 0,
                0x0F, 3,
            ])
        #expect(Array(record[23..<28]) == [0xA0, 0, 1, 0, 24])
        #expect(try VideoFormat(.h265, extradata: record) == format)
        let annexB: [UInt8] = H265Stream.sets.flatMap { [0, 0, 0, 1] + $0 }
        #expect(try VideoFormat(.h265, extradata: annexB) == format)
        #expect(try NALUnitFraming(.h265, configuration: record) == .lengthPrefixed(size: 4))
        for count in 0..<record.count {
            #expect(throws: BitstreamError.self) {
                try HEVCDecoderConfiguration(parsing: Array(record.prefix(count)))
            }
        }
        #expect(throws: BitstreamError.truncated(.videoParameterSet, offset: 0)) {
            try VideoFormat(.h265, parsing: Array(H265Stream.sets.dropFirst()))
        }
    }
}

struct H265PictureTests {
    private func pictures(with table: ParameterSetTable?) throws -> [CodedPicture] {
        try H265Stream.pictures.map {
            try CodedPicture(of: H265Stream.accessUnit([$0]).span, .h265, with: table)
        }
    }

    @Test func `decoding begins at random access pictures, without those that refer back`() throws {
        let pictures = try pictures(with: nil)
        #expect(pictures.indices.filter { pictures[$0].accessPoint == .sync } == [0, 7, 15])
        #expect(pictures.indices.filter { pictures[$0].refersBeforeAccessPoint } == [8, 16])
        var whole = DecodingStart()
        #expect(pictures.allSatisfy { whole.flags(of: $0) != nil })
        // From the first CRA picture on: its RASL picture is dropped, that of the next one is not.
        var cut = DecodingStart()
        let kept = pictures.indices.dropFirst(3).filter { cut.flags(of: pictures[$0]) != nil }
        #expect(kept == [7] + Array(9..<20))
    }

    @Test func `pictures refer to the table's sets`() throws {
        var table = ParameterSetTable(.h265)
        for set in H265Stream.sets { #expect(try table.insert(set) == .added) }
        #expect(table.keys == [.init(.video, 0), .sequence(0), .picture(0)])
        #expect(try pictures(with: table).allSatisfy { $0.sequenceID == 0 })
        #expect(try table.format(active: 0, orientation: .upright).width == 64)
    }

    @Test func `picture order counts give the order of presentation`() throws {
        let record = try VideoFormat(.h265, parsing: H265Stream.sets).record()
        var counter = try PictureOrderCounter(.h265, configuration: record)
        let orders = try H265Stream.pictures.map {
            try #require(try counter.order(of: H265Stream.accessUnit([$0]).span))
        }
        #expect(orders.map(\.count) == H265Stream.order)
        #expect(orders.indices.filter { orders[$0].beginsSequence } == [0])
    }

    @Test func `counts wrap, and continue over a CRA picture`() throws {
        let record = try VideoFormat(.h265, parsing: H265Stream.sets).record()
        var counter = try PictureOrderCounter(.h265, configuration: record)
        // Fourteen times the stream from its first CRA on, as if it continued: 8 bits of count wrap at 256.
        func slice(_ number: Int) -> [UInt8] {
            var writer = BitWriter()
            // First, no output of prior pictures is not there, set 0, slice type P, 8 bits.
            writer.u(1, 1)
            writer.ue(0)
            writer.ue(1)
            writer.u(UInt32(number & 0xFF), 8)
            return writer.nalUnit(header: 0x02, 0x01)
        }
        _ = try counter.order(of: H265Stream.accessUnit([H265Stream.pictures[0]]).span)
        for number in stride(from: 1, through: 700, by: 3) {
            let order = try counter.order(of: H265Stream.accessUnit([slice(number)]).span)
            #expect(order?.count == Int64(number))
        }
    }

    @Test func `packets with parts of pictures become one packet for each picture`() throws {
        let delimiter: [UInt8] = [0x46, 0x01, 0x50]
        let message: [UInt8] = [0x4E, 0x01, 5, 1, 0x80, 0x80]
        let suffix: [UInt8] = [0x50, 0x01, 132, 1, 0, 0x80]
        // A second segment of a picture: first_slice_segment_in_pic_flag is 0.
        let segment: [UInt8] = [0x28, 0x01, 0x40, 0x80, 0x80]
        let units =
            [delimiter] + H265Stream.sets + [message, H265Stream.pictures[0], segment, suffix]
            + [delimiter, H265Stream.pictures[1], suffix, H265Stream.pictures[2]]
        var assembler = AccessUnitAssembler(.h265)
        var complete: [AccessUnitAssembler.Unit] = []
        for (number, unit) in units.enumerated() {
            let bytes = H265Stream.accessUnit([unit])
            let found = try NALUnitFraming.lengthPrefixed(size: 4).units(in: bytes.span)
            complete += try assembler.add(packet: number, bytes.span, found)
        }
        if let last = assembler.finish() { complete.append(last) }
        #expect(
            complete.map { $0.positions.map(\.packet) } == [
                Array(0..<8), [8, 9, 10], [11],
            ])
        #expect(complete.map(\.pictureIn) == [5, 9, 11])
        #expect(complete.map(\.picture.accessPoint) == [.sync, .none, .none])
        #expect(complete[0].picture.slices == 2)
    }

    @Test func `other layers are part of the picture and are not read`() throws {
        // Layer 1: nuh_layer_id's low bits are in the second byte.
        let other: [UInt8] = [0x02, 0x09, 0xD0, 0x19]
        let unit = H265Stream.accessUnit([H265Stream.pictures[0], other])
        let picture = try CodedPicture(of: unit.span, .h265)
        #expect(picture.slices == 1)
        #expect(picture.accessPoint == .sync)
        #expect(VideoCodec.h265.kind(of: [0x42, 0x09, 0]) == .suffix)
    }
}
