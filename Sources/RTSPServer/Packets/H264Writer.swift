import Hashing
import Media

/// H.264 (RFC 6184, packetization-mode 1): single NAL units, STAP-A, FU-A.
enum H264Writer: VideoWriter {
    static let codec = VideoCodec.h264
    static let encodingName = "H264"
    static let headerBytes = 1

    /// §8.1.
    static func parameters(of format: VideoFormat) -> String {
        let sets = format.parameterSets.map { ByteText.base64($0) }.joined(separator: ",")
        let profile = format.sets(.sequence).first.map { $0.dropFirst().prefix(3) } ?? []
        let level = profile.count == 3 ? "profile-level-id=\(ByteText.hexadecimal(profile));" : ""
        return "packetization-mode=1;\(level)sprop-parameter-sets=\(sets)"
    }

    /// The highest `nal_ref_idc` of all units (§5.7.1).
    static func aggregateHeader(_ headers: [ArraySlice<UInt8>]) -> [UInt8] {
        let bytes = headers.compactMap(\.first)
        let forbidden = bytes.reduce(0) { $0 | $1 & 0x80 }
        let importance = bytes.map { $0 & 0x60 }.max() ?? 0
        return [forbidden | importance | 24]
    }

    /// FU indicator and FU header (§5.8).
    static func fragmentHeader(
        _ header: ArraySlice<UInt8>, isStart: Bool, isEnd: Bool
    ) -> [UInt8] {
        let first = header[header.startIndex]
        return [first & 0xE0 | 28, (isStart ? 0x80 : 0) | (isEnd ? 0x40 : 0) | first & 0x1F]
    }
}
