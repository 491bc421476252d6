/// Reads the NAL units of an H.264 access unit. Both fields of a frame are one picture.
struct H264Picture: PictureReader {
    /// The picture's first slice; nil without slices, or when it cannot be read.
    private var first: SliceHeader?
    /// The last slice of the field or frame being read.
    private var last: SliceHeader?
    private(set) var slices = 0
    private(set) var hasSecondField = false
    /// `recovery_frame_cnt` of its recovery point.
    private var recoveryFrames: UInt32?
    private var hasIDRSlice = false
    private var isIntra = true

    /// In open groups of H.264, the pictures that refer to the previous group are not marked.
    var refersBeforeAccessPoint: Bool { false }
    var beginsNumbering: Bool { hasIDRSlice }
    var isBrokenLink: Bool { false }
    var isUnpairedField: Bool { first?.identity?.isField == true && !hasSecondField }
    /// An IDR picture follows (ISO/IEC 14496-10 §7.4.1.2.3).
    var endsSequence: Bool { false }

    var sequenceID: UInt8? { first?.identity?.sequenceID }

    var frameNumber: FrameNumber? {
        first?.identity.map { FrameNumber(number: $0.frameNumber, limit: $0.frameNumberLimit) }
    }

    var accessPoint: AccessPoint {
        if hasIDRSlice { return .sync }
        guard let recoveryFrames else { return .none }
        if recoveryFrames > 0 { return .gradual(frames: recoveryFrames) }
        return isIntra ? .sync : .none
    }

    mutating func add(_ unit: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable) {
        let isIDR = unit.h264Type == .idrSlice
        slices += 1
        guard let slice = Self.header(of: unit, bytes, with: table) else {
            hasIDRSlice = hasIDRSlice || isIDR && !hasSecondField
            return
        }
        if let first, let last, slice.beginsPicture(after: last, first: first) {
            hasSecondField = true
        }
        first = first ?? slice
        if slice.identity?.redundantPicture ?? 0 == 0 { last = slice }
        guard !hasSecondField else { return }
        hasIDRSlice = hasIDRSlice || isIDR
        isIntra = isIntra && slice.isIntra
    }

    mutating func note(_ unit: NALUnit, _ bytes: Span<UInt8>) {
        guard unit.h264Type == .supplementalEnhancementInformation, recoveryFrames == nil else {
            return
        }
        do throws(BitstreamError) {
            recoveryFrames = try RecoveryPoint(in: bytes)?.frames
        } catch {
            // An unreadable message is no recovery point.
            recoveryFrames = nil
        }
    }

    func ends(
        before unit: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable,
        at boundary: SliceBoundary
    ) -> Bool {
        guard let header = Self.header(of: unit, bytes, with: table), let last, let first else {
            // Partitions B and C follow their A. An unreadable slice begins a picture with its packet.
            return boundary.hasPreamble
                || unit.h264Type != .slicePartition && boundary.isInNewPacket
        }
        guard boundary.hasPreamble || header.beginsPicture(after: last, first: first) else {
            return false
        }
        return hasSecondField || !header.isSecondField(of: first)
    }

    /// A slice's header; nil for data partitions B and C, which have none, and for a header that cannot be read.
    private static func header(
        of unit: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable
    ) -> SliceHeader? {
        if unit.h264Type == .slicePartition, bytes[0] & 0x1F != 2 { return nil }
        do throws(BitstreamError) {
            return try SliceHeader(parsing: bytes, with: table)
        } catch {
            // The decoder handles damage within a picture; its position among others is still known.
            return nil
        }
    }
}
