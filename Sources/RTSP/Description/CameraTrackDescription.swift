import Hashing
package import Media

/// A medium of a camera that can be recorded: how its packets are read, and what its decoder has to know.
package struct CameraTrackDescription: Hashable, Sendable {
    package enum Coding: Hashable, Sendable {
        /// RFC 6184; nil: the parameter sets come with the pictures.
        case h264(H264Format?)
        /// RFC 3640, mode AAC-hbr or AAC-lbr.
        case aac(AACFormat, AACPayload)
    }

    package var coding: Coding
    package var payloadType: UInt8
    /// Ticks per second of the packets' timestamps, as they should be.
    package var clockRate: UInt32
    package var control: String?

    package var kind: TrackKind {
        switch coding {
        case .h264: .video
        case .aac: .audio
        }
    }

    /// RFC 6184 §8.2.1 allows no other.
    private static let videoClockRate: UInt32 = 90_000

    /// - Throws: one line that says why this medium cannot be recorded.
    package init(_ media: MediaDescription) throws(RTSPError) {
        guard let payloadType = media.payloadType, let encoding = media.encoding else {
            throw .unusableDescription("its \(printable(media.kind)) has no known format")
        }
        self.payloadType = payloadType
        control = media.control
        switch (media.kind, encoding) {
        case ("video", "H264"):
            guard media.parameters["packetization-mode"] != "2" else {
                throw .unusableDescription(
                    "its H.264 is sent in interleaved mode (packetization-mode 2), which is not supported"
                )
            }
            coding = .h264(Self.format(media.parameters["sprop-parameter-sets"]))
            // Some cameras state another rate, and mean this one.
            clockRate = Self.videoClockRate
        case ("audio", "MPEG4-GENERIC"):
            let payload = try AACPayload(media.parameters)
            guard let text = media.parameters["config"],
                let configuration = ByteText.decode(hexadecimal: text), !configuration.isEmpty
            else {
                throw .unusableDescription("its AAC has no configuration")
            }
            let format: AACFormat
            do throws(BitstreamError) {
                format = try AACFormat(parsing: configuration)
            } catch {
                throw .unusableDescription("its AAC cannot be used: \(error)")
            }
            coding = .aac(format, payload)
            // Where the rate is nonsense, the configuration knows it.
            let stated = media.clockRate ?? 0
            clockRate = stated == 0 ? max(1, format.sampleRate) : stated
        default:
            throw .unusableDescription(
                "its \(printable(media.kind)) is \(printable(encoding, limit: 20)): only H.264 and AAC are recorded"
            )
        }
    }

    /// Parameter sets of `sprop-parameter-sets`; nil: none, or not both kinds, or broken ones.
    private static func format(_ text: String?) -> H264Format? {
        guard let text else { return nil }
        var sequences: [[UInt8]] = []
        var pictures: [[UInt8]] = []
        for part in text.split(separator: ",") {
            guard var set = ByteText.decode(base64: String(part).trimmed) else { continue }
            // Some cameras leave the start code in front, or zeros behind.
            if let start = startCodeBytes(set) { set.removeFirst(start) }
            while set.last == 0 { set.removeLast() }
            guard let header = set.first else { continue }
            switch NALUnitType(header: header) {
            case .sequenceParameterSet: sequences.append(set)
            case .pictureParameterSet: pictures.append(set)
            default: continue
            }
        }
        do throws(BitstreamError) {
            return try H264Format(parsing: sequences, pictureParameterSets: pictures)
        } catch {
            // Those that come with the pictures are looked at instead.
            return nil
        }
    }

    private static func startCodeBytes(_ set: [UInt8]) -> Int? {
        if set.starts(with: [0, 0, 0, 1]) { return 4 }
        return set.starts(with: [0, 0, 1]) ? 3 : nil
    }
}
