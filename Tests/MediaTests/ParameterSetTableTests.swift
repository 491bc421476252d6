import Media
import TestMedia
import Testing

struct ParameterSetTableTests {
    private typealias Sequence = H264Writer.Sequence

    @Test func `a set stays until another with its identifier replaces it`() throws {
        var table = ParameterSetTable(.h264)
        let (first, second) = (Sequence().nalUnit, Sequence(id: 31, columns: 5).nalUnit)
        #expect(try table.insert(first) == .added)
        #expect(try table.insert(H264Writer.pictureSet(255, of: 31)) == .added)
        #expect(table.sets(forPicture: 255) == nil)
        #expect(try table.insert(second) == .added)
        #expect(try table.insert(first) == .none)
        #expect(table.sets(forPicture: 255)?.sequence.width == 80)
        let other = Sequence(id: 31, columns: 7).nalUnit
        #expect(try table.insert(other) == .replaced)
        #expect(table.sets(forPicture: 255)?.sequence.width == 112)
        #expect(table.keys == [.sequence(0), .sequence(31), .picture(255)])
        #expect(table[.sequence(31)] == other)
    }

    @Test func `other NAL units do not change the table`() throws {
        var table = ParameterSetTable(.h264)
        let before = table
        for unit in [H264Writer.delimiter, H264Writer.userData, [0x65, 1], []] {
            #expect(try table.insert(unit) == .none)
            #expect(try ParameterSetTable.key(of: unit, .h264) == nil)
        }
        #expect(table == before)
    }

    @Test func `an invalid set, or one above the size limit, does not change the table`() throws {
        var table = ParameterSetTable(.h264)
        _ = try table.insert(Sequence().nalUnit)
        let before = table
        #expect(throws: BitstreamError.self) { try table.insert([0x67, 77, 0]) }
        #expect(throws: BitstreamError.self) { try table.insert([0x68]) }
        // Padding is part of a set, so a limit on identifiers alone bounds nothing.
        let long = H264Writer.pictureSet(1) + [UInt8](repeating: 0xFF, count: 65_000)
        #expect(try table.insert(long) == .added)
        let longer = H264Writer.pictureSet(2) + [UInt8](repeating: 0xFF, count: 1_000)
        let full = table
        #expect(throws: BitstreamError.self) { try table.insert(longer) }
        #expect(table == full && table != before)
    }

    @Test func `a format has the active set first, and no more sets than avcC can count`() throws {
        var table = ParameterSetTable(.h264)
        for id in 0..<32 as Range<UInt32> {
            _ = try table.insert(Sequence(id: id, columns: id + 1).nalUnit)
        }
        for id in 0..<256 as Range<UInt32> { _ = try table.insert(H264Writer.pictureSet(id)) }
        let format = try table.format(active: 31, orientation: .upright)
        #expect(format.width == 512)
        #expect(format.sets(.sequence).count == 31)
        #expect(format.sets(.picture).count == 255)
        #expect(try AVCDecoderConfiguration(format).bytes().count > 1_000)
    }

    @Test func `a picture set is inserted with the sequence set that it refers to`() throws {
        var table = ParameterSetTable(.h264)
        for set in [
            Sequence().nalUnit, Sequence(id: 1).nalUnit, H264Writer.pictureSet(),
            H264Writer.pictureSet(1, of: 1),
        ] { _ = try table.insert(set) }
        #expect(table.withDependents([.sequence(1)]) == [.sequence(1), .picture(1)])
        #expect(table.withDependents([.picture(0)]) == [.picture(0)])
        // Behind the sequence set that the access unit brings.
        let slice = H264Writer.Picture(.idr(id: 0), number: 0, order: 0).slices(Sequence())
        let own = Sequence(id: 1, orderBits: 6).nalUnit
        let bytes = FLVFile.Packet(at: 0, [own] + slice).bytes
        let result = try withParameterSets(
            [H264Writer.pictureSet(1, of: 1)], in: bytes.span, .h264)
        #expect(
            result
                == FLVFile.Packet(at: 0, [own, H264Writer.pictureSet(1, of: 1)] + slice).bytes)
    }

    @Test func `missing sets are inserted after a delimiter`() throws {
        let sets = [Sequence().nalUnit, H264Writer.pictureSet(), H264Writer.pictureSet(1)]
        let slice = H264Writer.Picture(.idr(id: 0), number: 0, order: 0).slices(Sequence())
        let own = H264Writer.pictureSet(1, of: 2)
        let bytes = FLVFile.Packet(at: 0, [H264Writer.delimiter, own] + slice).bytes
        let result = try withParameterSets(sets, in: bytes.span, .h264)
        let wanted = [H264Writer.delimiter, sets[0], sets[1], own] + slice
        #expect(result == FLVFile.Packet(at: 0, wanted).bytes)
    }
}
