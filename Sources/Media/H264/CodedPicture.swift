/// Whether decoding can start with an access unit.
package enum AccessPoint: Hashable, Sendable {
    /// It needs pictures before it.
    case none
    /// This picture and all that are presented after it decode correctly.
    case sync
    /// Pictures decode correctly after this many reference frames.
    case gradual(frames: UInt32)
}

/// The properties of an access unit's picture, from its NAL units.
///
/// **The rule of access points**, for agents, collector and readers: an IDR picture is one. So is an I picture with a
/// recovery point SEI message whose count is 0 (ISO/IEC 14496-10 §D.2.8). A greater count is a gradual one: pictures
/// are wrong until it is over. No other picture is one, regardless of the container's flags. Both fields of a frame are
/// one picture, which begins with its first field.
package struct CodedPicture: Hashable, Sendable {
    /// The picture's first slice; nil without slices, or when it cannot be read.
    package private(set) var first: SliceHeader?
    /// The last slice of the field or frame being read.
    private(set) var last: SliceHeader?
    /// Slices of the primary picture, data partitions included.
    package private(set) var slices = 0
    /// Whether both fields are present.
    package private(set) var hasSecondField = false
    /// `recovery_frame_cnt` of its recovery point.
    package private(set) var recoveryFrames: UInt32?
    private var hasIDRSlice = false
    private var isIntra = true

    init() {}

    /// Parses an access unit with 4-byte lengths.
    /// - Parameter table: the parameter sets for slices; without them, only access points are determined.
    package init(
        of accessUnit: Span<UInt8>, with table: ParameterSetTable = ParameterSetTable()
    ) throws(BitstreamError) {
        var cursor = NALUnitCursor()
        while let unit = try cursor.next(in: accessUnit) {
            take(unit, accessUnit.extracting(unit.range), with: table)
        }
    }

    /// Parses an access unit with start codes (Annex B), for access points only.
    package init(ofStream accessUnit: Span<UInt8>) throws(BitstreamError) {
        for unit in try AnnexB.nalUnits(in: accessUnit) {
            take(unit, accessUnit.extracting(unit.range), with: ParameterSetTable())
        }
    }

    private mutating func take(
        _ unit: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable
    ) {
        if unit.type.isSlice {
            add(Self.header(of: unit, bytes, with: table), isIDR: unit.type == .idrSlice)
        } else {
            note(unit, bytes)
        }
    }

    /// A slice's header; nil for data partitions B and C, which have none, and for a header that cannot be read.
    static func header(
        of unit: NALUnit, _ bytes: Span<UInt8>, with table: ParameterSetTable
    ) -> SliceHeader? {
        if unit.type == .slicePartition, bytes[0] & 0x1F != 2 { return nil }
        do throws(BitstreamError) {
            return try SliceHeader(parsing: bytes, with: table)
        } catch {
            // The decoder handles damage within a picture; its position among others is still known.
            return nil
        }
    }

    var hasPicture: Bool { slices > 0 }

    package var accessPoint: AccessPoint {
        if hasIDRSlice { return .sync }
        guard hasPicture, let recoveryFrames else { return .none }
        if recoveryFrames > 0 { return .gradual(frames: recoveryFrames) }
        return isIntra ? .sync : .none
    }

    /// Adds the next slice.
    mutating func add(_ slice: SliceHeader?, isIDR: Bool) {
        slices += 1
        guard let slice else {
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

    /// Adds a NAL unit other than a slice.
    mutating func note(_ unit: NALUnit, _ bytes: Span<UInt8>) {
        guard unit.type == .supplementalEnhancementInformation, recoveryFrames == nil else {
            return
        }
        do throws(BitstreamError) {
            recoveryFrames = try RecoveryPoint(in: bytes)?.frames
        } catch {
            // An unreadable message is no recovery point.
            recoveryFrames = nil
        }
    }
}
