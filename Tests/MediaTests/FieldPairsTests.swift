import Media
import TestMedia
import Testing

/// Fields that a camera sends as access units of their own.
struct FieldPairsTests {
    private func roles(_ stream: OddStream) throws -> [FieldPairs.Role] {
        let record = FLVFile.record(stream.sequenceSets, stream.pictureSets)
        var pairs = try FieldPairs(try VideoFormat(.h264, extradata: record))
        return stream.packets.map { pairs.role(of: $0.bytes.span) }
    }

    @Test func `two fields of a frame are a pair`() throws {
        let roles = try roles(OddStream.accessUnits[2])
        #expect(roles.count == 120)
        #expect(
            roles.indices.allSatisfy { roles[$0] == ($0 % 2 == 0 ? .firstField : .secondField) })
    }

    @Test func `frames, and both fields in one access unit, are complete`() throws {
        #expect(try roles(OddStream.accessUnits[3]).allSatisfy { $0 == .whole })
        #expect(try roles(OddStream.parameterSets[0]).allSatisfy { $0 == .whole })
    }

    @Test func `a field that is missing leaves the other one alone`() throws {
        var stream = OddStream.accessUnits[2]
        stream.packets.remove(at: 5)
        let roles = try roles(stream)
        #expect(
            Array(roles[2..<8]) == [
                .firstField, .secondField, .firstField, .firstField, .secondField, .firstField,
            ])
    }

    @Test func `fields are not joined across an interruption`() throws {
        let stream = OddStream.accessUnits[2]
        let record = FLVFile.record(stream.sequenceSets, stream.pictureSets)
        var pairs = try FieldPairs(try VideoFormat(.h264, extradata: record))
        #expect(pairs.role(of: stream.packets[0].bytes.span) == .firstField)
        pairs.interrupt()
        #expect(pairs.role(of: stream.packets[1].bytes.span) == .firstField)
    }
}
