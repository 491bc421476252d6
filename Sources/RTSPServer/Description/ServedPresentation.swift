import Hashing
package import Media

/// A track of a session description.
package struct ServedTrack: Hashable, Sendable {
    package let index: Int
    package let format: TrackFormat
    package var payloadType: UInt8 { UInt8(Self.firstPayloadType + index) }

    /// First dynamic payload type (RFC 3551 §6).
    private static let firstPayloadType = 96

    package init(index: Int, format: TrackFormat) {
        self.index = index
        self.format = format
    }
}

/// The tracks offered to a client.
package struct ServedPresentation: Hashable, Sendable {
    package enum Extent: Hashable, Sendable {
        case live
        /// Duration in nanoseconds; nil while it is being recorded.
        case recorded(durationNanoseconds: Int64?)
    }

    package let name: String
    package let tracks: [ServedTrack]
    package let extent: Extent

    /// - Parameter formats: tracks without an RTP payload format are omitted.
    package init(name: String, formats: [TrackFormat], extent: Extent) {
        self.name = name
        self.extent = extent
        let known = formats.filter { payloadWriter(for: $0) != nil }
            .sorted { $0.kind.rawValue < $1.kind.rawValue }
        tracks = known.enumerated().map { ServedTrack(index: $0.offset, format: $0.element) }
    }

    /// The session description (RFC 8866), the body of a DESCRIBE response.
    package var description: String {
        let range =
            switch extent {
            case .live: "now-"
            case .recorded(nil): "0-"
            case .recorded(let duration?): "0-\(PlayRange.text(duration))"
            }
        var lines = [
            "v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=\(name)", "c=IN IP4 0.0.0.0", "t=0 0",
            "a=tool:tributary", "a=control:*", "a=range:npt=\(range)",
        ]
        for track in tracks { lines += Self.lines(of: track) }
        return lines.map { "\($0)\r\n" }.joined()
    }

    private static func lines(of track: ServedTrack) -> [String] {
        let type = track.payloadType
        let (medium, map, parameters): (String, String, String)
        switch track.format {
        case .video(let format) where format.codec == .h264:
            medium = "video"
            map = "H264/90000"
            parameters = h264(format)
        case .video(let format):
            medium = "video"
            map = "H265/90000"
            parameters = h265(format)
        case .audio(let format):
            medium = "audio"
            map = "MPEG4-GENERIC/\(format.sampleRate)/\(format.channels)"
            parameters =
                "streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;"
                + "config=\(ByteText.hexadecimal(format.configuration))"
        }
        return [
            "m=\(medium) 0 RTP/AVP \(type)", "a=rtpmap:\(type) \(map)",
            "a=fmtp:\(type) \(parameters)", "a=control:trackID=\(track.index)",
        ]
    }

    /// H.264 parameters of `fmtp` (RFC 6184 §8.1).
    private static func h264(_ format: VideoFormat) -> String {
        let sets = format.parameterSets.map { ByteText.base64($0) }.joined(separator: ",")
        let profile = format.sets(.sequence).first.map { $0.dropFirst().prefix(3) } ?? []
        let level = profile.count == 3 ? "profile-level-id=\(ByteText.hexadecimal(profile));" : ""
        return "packetization-mode=1;\(level)sprop-parameter-sets=\(sets)"
    }

    /// H.265 parameters of `fmtp` (RFC 7798 §7.1).
    private static func h265(_ format: VideoFormat) -> String {
        func sets(_ kind: ParameterSetKind) -> String {
            format.sets(kind).map { ByteText.base64($0) }.joined(separator: ",")
        }
        return
            "sprop-vps=\(sets(.video));sprop-sps=\(sets(.sequence));sprop-pps=\(sets(.picture))"
    }
}
