import Media

/// Payload format of H.264 (RFC 6184): single NAL units, STAP-A and FU-A.
enum H264Payload: VideoPayload {
    static let codec = VideoCodec.h264
    static let encoding = "H264"
    static let setParameters = ["sprop-parameter-sets"]
    static let fragmentHeaderBytes = 1

    static func refusal(_ parameters: [String: String]) -> String? {
        guard parameters["packetization-mode"] == "2" else { return nil }
        return
            "its H.264 is sent in interleaved mode (packetization-mode 2), which is not supported"
    }

    static func content(of payload: [UInt8]) throws(RTSPError) -> VideoPayloadContent {
        switch payload[0] & 0x1F {
        case 0 where hasStartCode(payload[...]), 1...23: return .unit
        case 24: return try aggregate(payload, from: 1)  // STAP-A, §5.7.1
        case 28:  // FU-A, §5.8
            guard payload.count >= 2 else {
                throw .malformedPayload("a fragment without its header")
            }
            return .fragment(
                isStart: payload[1] & 0x80 != 0, isEnd: payload[1] & 0x40 != 0,
                header: [payload[0] & 0xE0 | payload[1] & 0x1F], body: 2)
        case 25, 26, 27, 29:
            throw .malformedPayload(
                "packets of type \(payload[0] & 0x1F) belong to interleaved mode")
        default: return .ignored  // §5.2
        }
    }

    /// `first_mb_in_slice` is 0, coded as a single one bit.
    static func isFirstSlice(_ unit: ArraySlice<UInt8>) -> Bool? {
        let isPartition = unit.first.map { (2...4).contains($0 & 0x1F) } ?? false
        guard !isPartition else { return nil }
        return unit.count > 1 && unit[unit.startIndex + 1] & 0x80 != 0
    }

    /// Fields, redundant slices and colour planes have first slices of their own, so the slices' headers decide (§7.4.1.2.4).
    static func relation(
        of unit: ArraySlice<UInt8>, to earlier: [[UInt8]], _ table: ParameterSetTable
    ) -> PictureRelation {
        let others = earlier.compactMap { header(of: $0, table) }
        guard let own = header(of: Array(unit), table), let identity = own.identity,
            identity.redundantPicture == 0, let first = others.first?.identity,
            others.count == earlier.count
        else { return .same }
        if others.count == 1, identity.isField, first.isField,
            identity.isBottomField != first.isBottomField,
            identity.frameNumber == first.frameNumber
        {
            return .secondField
        }
        return others.allSatisfy { isOther(own, than: $0) } ? .other : .same
    }

    private static func isOther(_ slice: SliceHeader, than earlier: SliceHeader) -> Bool {
        guard let own = slice.identity, let other = earlier.identity else { return false }
        return own.frameNumber != other.frameNumber || own.sequenceID != other.sequenceID
            || own.isField != other.isField || own.isBottomField != other.isBottomField
            || slice.isReference != earlier.isReference || slice.isIDR != earlier.isIDR
            || own.idrPictureID != other.idrPictureID
            || own.pictureOrderCount != other.pictureOrderCount
            || own.pictureOrderDeltas != other.pictureOrderDeltas
    }

    private static func header(of unit: [UInt8], _ table: ParameterSetTable) -> SliceHeader? {
        do throws(BitstreamError) {
            return try SliceHeader(parsing: unit.span, with: table)
        } catch {
            // An unreadable slice does not begin a picture.
            return nil
        }
    }

    /// `nal_ref_idc` is 0.
    static func isDisposable(_ unit: ArraySlice<UInt8>) -> Bool {
        unit.first.map { $0 & 0x60 == 0 } ?? false
    }
}
