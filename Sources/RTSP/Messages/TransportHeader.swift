/// The Transport header of a SETUP response (RFC 2326 §12.39).
package struct TransportHeader: Hashable, Sendable {
    /// RTP and RTCP channels on the control connection.
    package var interleaved: (rtp: UInt8, rtcp: UInt8)?
    package var serverPorts: (rtp: UInt16, rtcp: UInt16)?

    /// Unknown and malformed parameters are ignored: cameras write `ssrc` with spaces, in decimal, or twice.
    package init(parsing text: String) {
        // If several transports are listed, the first one is in use.
        let first = text.split(separator: ",").first ?? ""
        for parameter in first.split(separator: ";") {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let value = String(parts[1]).trimmed
            switch String(parts[0]).trimmed.lowercased() {
            case "interleaved":
                interleaved = Self.pair(value).flatMap { first, second in
                    guard let rtp = UInt8(exactly: first),
                        let rtcp = second.map({ UInt8(exactly: $0) }) ?? UInt8(exactly: first + 1)
                    else { return nil }
                    return (rtp, rtcp)
                }
            case "server_port":
                serverPorts = Self.pair(value).flatMap { first, second in
                    guard let rtp = UInt16(exactly: first), rtp > 0,
                        let rtcp = UInt16(exactly: second ?? first + 1), rtcp > 0
                    else { return nil }
                    return (rtp, rtcp)
                }
            default: continue
            }
        }
    }

    private static func pair(_ text: String) -> (Int, Int?)? {
        let numbers = text.split(separator: "-").map { UInt16($0.trimmingBlanks).map(Int.init) }
        guard let first = numbers.first ?? nil else { return nil }
        guard numbers.count > 1 else { return (first, nil) }
        guard numbers.count == 2, let second = numbers[1] else { return nil }
        return (first, second)
    }

    package static func == (left: TransportHeader, right: TransportHeader) -> Bool {
        left.interleaved?.rtp == right.interleaved?.rtp
            && left.interleaved?.rtcp == right.interleaved?.rtcp
            && left.serverPorts?.rtp == right.serverPorts?.rtp
            && left.serverPorts?.rtcp == right.serverPorts?.rtcp
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(interleaved?.rtp)
        hasher.combine(serverPorts?.rtp)
    }
}

extension Substring {
    fileprivate var trimmingBlanks: String { String(self).trimmed }
}
