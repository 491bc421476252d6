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
        guard let attributes = payloadWriter(for: track.format)?.attributes(of: track.format) else {
            return []
        }
        let type = track.payloadType
        return [
            "m=\(track.format.kind) 0 RTP/AVP \(type)",
            "a=rtpmap:\(type) \(attributes.map)", "a=fmtp:\(type) \(attributes.parameters)",
            "a=control:trackID=\(track.index)",
        ]
    }
}
