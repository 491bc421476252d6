import Media
import TestMedia
import Testing

/// README.md in this directory describes the streams and the expected results.
struct OddStreamTests {
    /// A stream's access units, with all NAL units of each.
    private func units(
        _ stream: OddStream
    ) throws -> [(picture: CodedPicture, nalUnits: [[UInt8]])] {
        let record = FLVFile.record(stream.sequenceSets, stream.pictureSets)
        var assembler = AccessUnitAssembler(
            .h264, parameterSets: try VideoFormat(.h264, extradata: record).parameterSets)
        let packets = stream.packets.map(\.bytes)
        var units: [AccessUnitAssembler.Unit] = []
        for (number, bytes) in packets.enumerated() {
            let nalUnits = try NALUnitFraming.lengthPrefixed(size: 4).units(in: bytes.span)
            units += try assembler.add(packet: number, bytes.span, nalUnits)
        }
        if let last = assembler.finish() { units.append(last) }
        return units.map { unit in
            (unit.picture, unit.positions.map { Array(packets[$0.packet][$0.range]) })
        }
    }

    @Test(arguments: OddStream.all)
    func `an access unit has one picture, and all NAL units are in one`(_ stream: OddStream) throws
    {
        let units = try units(stream)
        let times = Set(stream.packets.map(\.milliseconds))
        #expect(units.count == times.count)
        #expect(units.allSatisfy { $0.picture.slices > 0 })
        let all = stream.packets.flatMap(\.nalUnits)
        let taken = units.flatMap(\.nalUnits)
        // Only NAL units in front of a missing picture are dropped.
        #expect(taken == Array(all.prefix(taken.count)))
        #expect(all.count - taken.count <= 2)
    }

    @Test(arguments: OddStream.all)
    func `access points follow from the bitstream`(_ stream: OddStream) throws {
        var start = DecodingStart()
        let flags = try units(stream).map { start.flags(of: $0.picture) }
        let recorded = flags.compactMap(\.self)
        #expect(recorded.count == stream.pictures)
        #expect(recorded.count { $0.contains(.keyframe) } == stream.syncPictures)
        #expect(recorded.count { $0.contains(.priming) } == stream.hiddenPictures)
    }

    @Test func `a second field completes a frame, and a third begins one`() throws {
        let stream = OddStream.accessUnits[2]
        let units = try units(stream)
        #expect(units.allSatisfy { $0.picture.hasSecondField })
        #expect(units.allSatisfy { $0.nalUnits.count == 2 })
    }

    @Test func `slices without their sets are grouped by their first macroblock`() throws {
        let sequence = H264Writer.Sequence()
        let slices = (0..<3 as Range<UInt32>).map {
            H264Writer.Picture(.intra, number: $0, order: 2 * $0, pictureSet: 9)
                .slices(sequence, count: 2)
        }
        var assembler = AccessUnitAssembler(.h264)
        var units: [AccessUnitAssembler.Unit] = []
        for (number, picture) in slices.enumerated() {
            let bytes = FLVFile.Packet(at: 0, picture).bytes
            let found = try NALUnitFraming.lengthPrefixed(size: 4).units(in: bytes.span)
            units += try assembler.add(packet: number, bytes.span, found)
        }
        if let last = assembler.finish() { units.append(last) }
        #expect(units.map(\.positions.count) == [2, 2, 2])
    }
}
