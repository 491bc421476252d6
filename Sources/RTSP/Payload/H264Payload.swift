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

    /// `nal_ref_idc` is 0.
    static func isDisposable(_ unit: ArraySlice<UInt8>) -> Bool {
        unit.first.map { $0 & 0x60 == 0 } ?? false
    }
}
