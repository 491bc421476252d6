import Hashing
import Media

/// The RTP payload format of a video codec.
protocol VideoPayload: Sendable {
    static var codec: VideoCodec { get }
    /// Encoding name in upper case (`a=rtpmap`): `H265`.
    static var encoding: String { get }
    /// Parameters of `fmtp` with parameter sets.
    static var setParameters: [String] { get }
    /// Why a stream with these parameters cannot be recorded; nil if it can.
    static func refusal(_ parameters: [String: String]) -> String?
    static func content(of payload: [UInt8]) throws(RTSPError) -> VideoPayloadContent
    /// Size of a NAL unit header.
    static var fragmentHeaderBytes: Int { get }
    /// Whether a slice is the first one of its picture; nil if its header does not tell.
    static func isFirstSlice(_ unit: ArraySlice<UInt8>) -> Bool?
    /// The relation of a picture to an earlier one with the same timestamp.
    /// - Parameters:
    ///   - unit: its first slice, or the beginning of that.
    ///   - earlier: beginnings of the first slices of the earlier picture's fields.
    ///   - table: the known parameter sets.
    static func relation(
        of unit: ArraySlice<UInt8>, to earlier: [[UInt8]], _ table: ParameterSetTable
    ) -> PictureRelation
    /// Whether a slice's picture is not used for reference.
    static func isDisposable(_ unit: ArraySlice<UInt8>) -> Bool
}

/// The relation of a picture to an earlier one with the same timestamp.
enum PictureRelation {
    /// Another picture.
    case other
    /// The second field of the earlier one's frame.
    case secondField
    /// The same picture again, or not known.
    case same
}

/// Contents of one packet.
enum VideoPayloadContent {
    /// One NAL unit, or, from some cameras, several with start codes.
    case unit
    /// Several NAL units, by range.
    case units([Range<Int>])
    /// A fragment of a NAL unit: the unit's header, and the offset of the fragment's data.
    case fragment(isStart: Bool, isEnd: Bool, header: [UInt8], body: Int)
    /// A reserved type.
    case ignored
}

/// The payload formats of all video codecs.
let videoPayloads: [any VideoPayload.Type] = [H264Payload.self, H265Payload.self]

extension VideoPayload {
    /// The format with the parameter sets of a description; nil if they are missing, incomplete or malformed.
    static func format(_ parameters: [String: String]) -> VideoFormat? {
        var sets: [[UInt8]] = []
        for name in setParameters {
            for part in parameters[name]?.split(separator: ",") ?? [] {
                guard var set = ByteText.decode(base64: String(part).trimmed) else { continue }
                // Some cameras include a start code or trailing zeros.
                if let start = startCodeBytes(set) { set.removeFirst(start) }
                while set.last == 0 { set.removeLast() }
                if codec.kind(of: set)?.isParameterSet == true { sets.append(set) }
            }
        }
        do throws(BitstreamError) {
            return try VideoFormat(codec, parsing: sets)
        } catch {
            // Parameter sets in the stream are used instead.
            return nil
        }
    }

    private static func startCodeBytes(_ set: [UInt8]) -> Int? {
        if set.starts(with: [0, 0, 0, 1]) { return 4 }
        return set.starts(with: [0, 0, 1]) ? 3 : nil
    }

    /// The NAL units of an aggregation packet, each preceded by a 2-byte size.
    static func aggregate(
        _ payload: [UInt8], from start: Int
    ) throws(RTSPError) -> VideoPayloadContent {
        var units: [Range<Int>] = []
        var place = start
        while place < payload.count {
            guard payload.count - place >= 2 else {
                throw .malformedPayload("an aggregation packet ends within a size")
            }
            let size = Int(payload[place]) << 8 | Int(payload[place + 1])
            place += 2
            guard size <= payload.count - place else {
                throw .malformedPayload("a NAL unit of \(size) bytes in \(payload.count - place)")
            }
            if size > 0 { units.append(place..<place + size) }
            place += size
        }
        return .units(units)
    }
}

func hasStartCode(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.starts(with: [0, 0, 1]) || bytes.starts(with: [0, 0, 0, 1])
}
