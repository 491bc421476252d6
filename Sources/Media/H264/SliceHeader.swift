/// The start of an H.264 slice header (ISO/IEC 14496-10 §7.3.3), which separates pictures.
package struct SliceHeader: Hashable, Sendable {
    /// The fields that depend on the slice's parameter sets.
    package struct Identity: Hashable, Sendable {
        package var sequenceID: UInt8
        /// `MaxFrameNum`.
        package var frameNumberLimit: UInt32
        /// `colour_plane_id`; 0 where planes are coded together.
        package var colourPlane: UInt8 = 0
        package var frameNumber: UInt32
        /// `field_pic_flag`.
        package var isField = false
        /// `bottom_field_flag`.
        package var isBottomField = false
        /// `idr_pic_id`; nil unless the picture is an IDR picture.
        package var idrPictureID: UInt32?
        /// `pic_order_cnt_lsb`, or 0.
        package var pictureOrderCount: UInt32 = 0
        /// `delta_pic_order_cnt_bottom`, or `delta_pic_order_cnt` 0 and 1.
        package var pictureOrderDeltas: [Int32] = [0, 0]
        /// `redundant_pic_cnt`: 0 for the primary picture.
        package var redundantPicture: UInt32 = 0
    }

    /// `first_mb_in_slice`.
    package var firstMacroblock: UInt32
    /// The slice is decoded without other pictures (I or SI).
    package var isIntra: Bool
    /// `pic_parameter_set_id`.
    package var pictureSetID: UInt8
    /// `nal_unit_type` 5.
    package var isIDR: Bool
    /// `nal_ref_idc` is not 0.
    package var isReference: Bool
    /// Nil when the parameter sets are unknown.
    package var identity: Identity?

    /// Bytes of a slice that are parsed: all fields at their longest, with emulation prevention, are shorter.
    private static let longestBytes = 64

    /// Reads a slice's NAL unit, header byte included, without start code or length.
    package init(
        parsing nalUnit: Span<UInt8>, with table: ParameterSetTable
    ) throws(BitstreamError) {
        guard nalUnit.count > 0 else { throw .truncated(.sliceHeader, offset: 0) }
        let header = nalUnit[0]
        let bytes = nalUnit.extracting(first: Self.longestBytes)
            .withUnsafeBufferPointer { Array($0.dropFirst()) }
        var reader = BitReader(withoutEmulationPrevention(bytes[...]), of: .sliceHeader)
        let side = SequenceParameterSet.maximumSideInMacroblocks
        firstMacroblock = try reader.unsignedGolomb("first_mb_in_slice", atMost: side * side)
        let type = try reader.unsignedGolomb("slice_type", atMost: 9)
        isIntra = type % 5 == 2 || type % 5 == 4
        pictureSetID = UInt8(try reader.unsignedGolomb("pic_parameter_set_id", atMost: 255))
        isIDR = NALUnitType(header: header) == .idrSlice
        isReference = header & 0x60 != 0
        guard let (picture, sequence) = table.sets(forPicture: pictureSetID) else { return }
        identity = try Self.identity(&reader, picture, sequence, isIDR: isIDR)
    }

    private static func identity(
        _ reader: inout BitReader, _ picture: PictureParameterSet,
        _ sequence: SequenceParameterSet, isIDR: Bool
    ) throws(BitstreamError) -> Identity {
        let plane = sequence.hasSeparatePlanes ? UInt8(try reader.bits(2)) : 0
        let order = sequence.pictureOrder
        var identity = Identity(
            sequenceID: sequence.id, frameNumberLimit: 1 << UInt32(order.frameNumberBits),
            frameNumber: try reader.bits(order.frameNumberBits))
        identity.colourPlane = plane
        if !sequence.isProgressive, try reader.flag() {
            identity.isField = true
            identity.isBottomField = try reader.flag()
        }
        if isIDR {
            identity.idrPictureID = try reader.unsignedGolomb("idr_pic_id", atMost: 65_535)
        }
        let hasBottomOrder = picture.hasBottomFieldOrder && !identity.isField
        if order.type == 0 {
            identity.pictureOrderCount = try reader.bits(order.countBits)
            if hasBottomOrder {
                identity.pictureOrderDeltas[0] = try reader.signedGolomb(
                    "delta_pic_order_cnt_bottom")
            }
        }
        if order.type == 1, !order.deltaIsAlwaysZero {
            identity.pictureOrderDeltas[0] = try reader.signedGolomb("delta_pic_order_cnt")
            if hasBottomOrder {
                identity.pictureOrderDeltas[1] = try reader.signedGolomb("delta_pic_order_cnt")
            }
        }
        if picture.hasRedundantPictures {
            identity.redundantPicture = try reader.unsignedGolomb(
                "redundant_pic_cnt", atMost: 127)
        }
        return identity
    }

    /// Whether this slice begins another primary picture than that of the previous slice (§7.4.1.2.4).
    ///
    /// A macroblock is coded once in a picture. So a slice at the position where the picture began belongs to another
    /// one, even if nothing else differs: some encoders give all IDR pictures one `idr_pic_id`.
    /// - Parameter first: the first slice of that picture.
    func beginsPicture(after last: SliceHeader, first: SliceHeader) -> Bool {
        guard let own = identity, let other = last.identity else {
            // Without parameter sets, the position decides: slices are in order, except in the Baseline profile.
            return firstMacroblock <= last.firstMacroblock
        }
        if own.redundantPicture > 0 { return false }
        return own.frameNumber != other.frameNumber || pictureSetID != last.pictureSetID
            || own.sequenceID != other.sequenceID || own.isField != other.isField
            || own.isBottomField != other.isBottomField || isReference != last.isReference
            || own.pictureOrderCount != other.pictureOrderCount
            || own.pictureOrderDeltas != other.pictureOrderDeltas
            || own.idrPictureID != other.idrPictureID
            || firstMacroblock == first.firstMacroblock
                && own.colourPlane == first.identity?.colourPlane
    }

    /// Whether this slice belongs to the second field of a frame whose first field is `first` (§3.30, complementary
    /// field pairs).
    func isSecondField(of first: SliceHeader) -> Bool {
        guard let own = identity, let other = first.identity, own.isField, other.isField else {
            return false
        }
        return own.isBottomField != other.isBottomField && own.frameNumber == other.frameNumber
            && own.sequenceID == other.sequenceID && isReference == first.isReference
            && (!isIDR || own.idrPictureID == other.idrPictureID)
    }
}
