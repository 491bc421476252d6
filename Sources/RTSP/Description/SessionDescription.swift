/// A session description (SDP, RFC 8866), as far as recording needs it.
package struct SessionDescription: Hashable, Sendable {
    /// Further media are ignored.
    package static let maximumMedia = 32

    /// Session-level `a=control`.
    package private(set) var control: String?
    package private(set) var media: [MediaDescription] = []

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
