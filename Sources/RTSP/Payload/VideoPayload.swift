import Hashing
import Media

/// How a codec's NAL units are put into packets of RTP. A codec has one, which ``all`` lists.
protocol VideoPayload: Sendable {
    static var codec: VideoCodec { get }
    /// The encoding's name in capitals (`a=rtpmap`): `H265`.
    static var encoding: String { get }
    /// Parameters of `a=fmtp` with parameter sets.
    static var setParameters: [String] { get }
    /// Why a description with these parameters cannot be recorded; nil: it can.
    static func refusal(_ parameters: [String: String]) -> String?
    static func content(of payload: [UInt8]) throws(RTSPError) -> VideoPayloadContent
    /// Bytes of a NAL unit's header.
    static var fragmentHeaderBytes: Int { get }
    /// Whether a slice is the first one of its picture; nil: its header does not say.
    static func isFirstSlice(_ unit: ArraySlice<UInt8>) -> Bool?
    /// Whether no other picture refers to the slice's.
    static func isDisposable(_ unit: ArraySlice<UInt8>) -> Bool
}

/// The payload of one packet.
enum VideoPayloadContent {
    /// A NAL unit; with start codes, as some cameras send it, several.
    case unit
    /// Several NAL units, by their positions.
    case units([Range<Int>])
    /// A part of a NAL unit: its header, and where the part begins.
    case fragment(isStart: Bool, isEnd: Bool, header: [UInt8], body: Int)
    /// A reserved type.
    case ignored
}

/// All payload formats of video that are recorded.
let videoPayloads: [any VideoPayload.Type] = [H264Payload.self, H265Payload.self]

extension VideoPayload {
    /// The parameter sets of a description; nil: none, or not all kinds, or broken ones.
    static func format(_ parameters: [String: String]) -> VideoFormat? {
        var sets: [[UInt8]] = []
        for name in setParameters {
            for part in parameters[name]?.split(separator: ",") ?? [] {
                guard var set = ByteText.decode(base64: String(part).trimmed) else { continue }
                // Some cameras leave the start code in front, or zeros behind.
                if let start = startCodeBytes(set) { set.removeFirst(start) }
                while set.last == 0 { set.removeLast() }
                if codec.kind(of: set)?.isParameterSet == true { sets.append(set) }
            }
        }
        do throws(BitstreamError) {
            return try VideoFormat(codec, parsing: sets)
        } catch {
            // Those that come with the pictures are looked at instead.
            return nil
        }
    }

    private static func startCodeBytes(_ set: [UInt8]) -> Int? {
        if set.starts(with: [0, 0, 0, 1]) { return 4 }
        return set.starts(with: [0, 0, 1]) ? 3 : nil
    }

    /// The NAL units of an aggregation packet, each after its size of two bytes.
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
