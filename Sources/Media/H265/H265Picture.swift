/// Reads the NAL units of an H.265 access unit.
struct H265Picture: PictureReader {
    private(set) var slices = 0
    private(set) var sequenceID: UInt8?
    private(set) var refersBeforeAccessPoint = false
    private(set) var beginsNumbering = false
    private(set) var isBrokenLink = false
    private(set) var endsSequence = false
    /// All slices of a picture have its type (ITU-T H.265 §7.4.2.2).
    private var isRandomAccess = false

    /// Both fields of a frame are pictures, with an access unit each.
    var hasSecondField: Bool { false }
    var isUnpairedField: Bool { false }
    /// Gradual access points are not used: without a random access picture, decoding does not begin.
    var frameNumber: FrameNumber? { nil }
    var accessPoint: AccessPoint { isRandomAccess ? .sync : .none }

    mutating func add(_ unit: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable) {
        let header = H265NALUnitHeader(unit.header)
        if slices == 0 {
            isRandomAccess = header.isRandomAccess
            refersBeforeAccessPoint = header.isSkippedLeading
            isBrokenLink = header.isBrokenLink
            beginsNumbering = header.isIDR || header.isBrokenLink
            if let slice = Self.header(of: bytes, with: table),
                let set = table.content(.picture(slice.pictureSetID)) as? H265PictureParameterSet
            {
                sequenceID = set.sequenceID
            }
        }
        slices += 1
    }

    mutating func note(_ unit: NALUnit, _ bytes: Span<UInt8>) {
        let header = H265NALUnitHeader(unit.header)
        if header.layerID == 0, header.endsSequence { endsSequence = true }
    }

    func ends(
        before unit: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable,
        at boundary: SliceBoundary
    ) -> Bool {
        // After a loss, a picture may lack its first segment.
        guard !boundary.hasPreamble else { return true }
        guard let slice = Self.header(of: bytes, with: table) else { return boundary.isInNewPacket }
        return slice.isFirst
    }

    private static func header(
        of bytes: Span<UInt8>, with table: ParameterSetTable
    ) -> H265SliceHeader? {
        do throws(BitstreamError) {
            return try H265SliceHeader(parsing: bytes, with: table)
        } catch {
            // The decoder handles damage within a picture.
            return nil
        }
    }
}
