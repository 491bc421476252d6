/// A session description (SDP, RFC 8866), as far as recording needs it.
package struct SessionDescription: Hashable, Sendable {
    /// Further media are ignored.
    package static let maximumMedia = 32

    /// Session-level `a=control`.
    package private(set) var control: String?
    package private(set) var media: [MediaDescription] = []

    /// The media that the camera sends: all but back channels.
    ///
    /// Directions are from the client's view: cameras write `recvonly` for what they send, and `sendonly` for a back channel (ONVIF
    /// Streaming Specification §5.3.1). Other servers state their own view, which the direction of video shows.
    package var recordable: [MediaDescription] {
        let isServersView = media.contains { $0.kind == "video" && $0.direction == .sendOnly }
        let backward: MediaDescription.Direction = isServersView ? .receiveOnly : .sendOnly
        let sent = media.filter { $0.direction != backward }
        return sent.contains { $0.kind == "video" || $0.kind == "audio" } ? sent : media
    }

    /// Unknown and malformed lines are ignored, because many cameras send some.
    package init(parsing bytes: [UInt8]) throws(RTSPError) {
        for line in bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            guard line.count > 2, line[line.startIndex + 1] == UInt8(ascii: "=") else { continue }
            let value = String(decoding: line.dropFirst(2), as: UTF8.self).trimmed
            switch line.first {
            case UInt8(ascii: "m"):
                guard media.count < Self.maximumMedia else { return }
                media.append(MediaDescription(line: value))
            case UInt8(ascii: "a"):
                if media.isEmpty {
                    if value.hasPrefix("control:") { control = String(value.dropFirst(8)).trimmed }
                } else {
                    media[media.count - 1].take(attribute: value)
                }
            default: continue
            }
        }
        guard !media.isEmpty else {
            throw .unusableDescription("the camera describes no media")
        }
    }
}
