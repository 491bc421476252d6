import Media

/// Payload format of H.265 (RFC 7798): single NAL units, aggregation packets and fragmentation units.
enum H265Payload: VideoPayload {
    static let codec = VideoCodec.h265
    static let encoding = "H265"
    static let setParameters = ["sprop-vps", "sprop-sps", "sprop-pps"]
    static let fragmentHeaderBytes = 2

    /// With `sprop-max-don-diff`, packets have DONL fields (§4.4.1), which are not supported.
    static func refusal(_ parameters: [String: String]) -> String? {
        guard let difference = parameters["sprop-max-don-diff"], difference != "0" else {
            return nil
        }
        return
            "its H.265 is sent in another order than that of decoding (sprop-max-don-diff), which is not supported"
    }

    static func content(of payload: [UInt8]) throws(RTSPError) -> VideoPayloadContent {
        if hasStartCode(payload[...]) { return .unit }
        guard payload.count >= 2 else {
            throw .malformedPayload("a packet of \(payload.count) bytes, shorter than its header")
        }
        switch payload[0] >> 1 & 0x3F {
        case 0...47: return .unit
        case 48: return try aggregate(payload, from: 2)  // AP, §4.4.2
        case 49:  // FU, §4.4.3
            guard payload.count >= 3 else {
                throw .malformedPayload("a fragment without its header")
            }
            return .fragment(
                isStart: payload[2] & 0x80 != 0, isEnd: payload[2] & 0x40 != 0,
                header: [payload[0] & 0x81 | (payload[2] & 0x3F) << 1, payload[1]], body: 3)
        default: return .ignored  // PACI, and reserved types
        }
    }

    /// `first_slice_segment_in_pic_flag`.
    static func isFirstSlice(_ unit: ArraySlice<UInt8>) -> Bool? {
        unit.count > 2 && unit[unit.startIndex + 2] & 0x80 != 0
    }

    /// A picture has one first slice.
    static func relation(
        of unit: ArraySlice<UInt8>, to earlier: [[UInt8]], _ table: ParameterSetTable
    ) -> PictureRelation { .other }

    /// Always false: a sub-layer non-reference picture may be referenced by higher sub-layers.
    static func isDisposable(_ unit: ArraySlice<UInt8>) -> Bool { false }
}
