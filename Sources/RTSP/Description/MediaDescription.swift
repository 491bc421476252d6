/// One medium of a ``SessionDescription``: an `m=` line and its attributes.
package struct MediaDescription: Hashable, Sendable {
    /// Media type: "video", "audio", "application".
    package private(set) var kind: String
    /// Whether its packets are encrypted (SRTP, RFC 3711).
    package private(set) var isEncrypted = false
    /// The first payload type of the line, which is the one in use.
    package private(set) var payloadType: UInt8?
    package private(set) var control: String?
    /// Encoding name in upper case: "H264", "MPEG4-GENERIC"; nil if unknown.
    package private(set) var encoding: String?
    /// The stated clock rate, Hz; may be implausible.
    package private(set) var clockRate: UInt32?
    package private(set) var channels: Int?
    /// Parameters of `fmtp`, with lower-case names.
    package private(set) var parameters: [String: String] = [:]
    /// The stated direction; see ``SessionDescription/recordable``.
    package private(set) var direction: Direction?

    package enum Direction: String, Hashable, Sendable {
        case sendOnly = "sendonly"
        case receiveOnly = "recvonly"
    }

    /// Static payload types (RFC 3551 §6), which need no `rtpmap`.
    private static let fixed: [UInt8: (encoding: String, rate: UInt32, channels: Int)] = [
        0: ("PCMU", 8_000, 1), 8: ("PCMA", 8_000, 1), 10: ("L16", 44_100, 2),
        11: ("L16", 44_100, 1), 14: ("MPA", 90_000, 1), 26: ("JPEG", 90_000, 1),
    ]

    init(line: String) {
        let words = line.split(separator: " ")
        kind = words.first.map { $0.lowercased() } ?? ""
        isEncrypted = words.count > 2 && words[2].uppercased().contains("SAVP")
        payloadType = words.count > 3 ? UInt8(words[3]).flatMap { $0 < 128 ? $0 : nil } : nil
        if let payloadType, let known = Self.fixed[payloadType] {
            (encoding, clockRate, channels) = (known.encoding, known.rate, known.channels)
        }
    }

    mutating func take(attribute: String) {
        let parts = attribute.split(separator: ":", maxSplits: 1)
        let value = parts.count > 1 ? String(parts[1]).trimmed : ""
        switch parts.first {
        case "control": control = value
        case "sendonly", "recvonly": direction = Direction(rawValue: String(parts[0]))
        case "rtpmap":
            guard let own = ownValue(value) else { return }
            let fields = own.split(separator: "/")
            guard let name = fields.first else { return }
            encoding = String(name).trimmed.uppercased()
            clockRate = fields.count > 1 ? UInt32(String(fields[1]).trimmed) : nil
            channels = fields.count > 2 ? Int(String(fields[2]).trimmed) : nil
        case "fmtp":
            guard let own = ownValue(value) else { return }
            for parameter in own.split(separator: ";") {
                let pair = parameter.split(
                    separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let name = String(pair[0]).trimmed.lowercased()
                parameters[name] = pair.count > 1 ? String(pair[1]).trimmed : ""
            }
        default: return
        }
    }

    /// The value after the payload type; nil if the attribute is for another payload type.
    private func ownValue(_ value: String) -> String? {
        guard let blank = value.firstIndex(where: \.isWhitespace),
            let number = UInt8(value[..<blank]), number == payloadType
        else { return nil }
        return String(value[blank...]).trimmed
    }
}
