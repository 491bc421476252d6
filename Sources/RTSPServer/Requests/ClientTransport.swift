/// The transport of one track (RFC 2326 §12.39).
package enum ClientTransport: Hashable, Sendable {
    /// Interleaved with messages on the control connection.
    case interleaved(rtp: UInt8, rtcp: UInt8)
    /// UDP, to these ports of the client's address.
    case datagrams(rtp: UInt16, rtcp: UInt16)

    /// Lower ports belong to system services.
    private static let lowestPort: UInt16 = 1_024

    /// Selects the first supported transport of a list.
    /// - Parameters:
    ///   - track: its index, which determines the default channels.
    ///   - allowsDatagrams: whether the server has UDP ports.
    package init?(parsing text: String, track: Int, allowsDatagrams: Bool) {
        for offer in text.split(separator: ",").prefix(8) {
            let parameters = offer.split(separator: ";").map { Self.trimmed($0) }
            guard let profile = parameters.first?.uppercased(),
                !parameters.contains(where: { $0.lowercased() == "multicast" }),
                // Such a client would send media.
                !parameters.contains(where: { $0.lowercased().hasPrefix("mode=record") })
            else { continue }
            func value(_ name: String) -> String? {
                parameters.first { $0.lowercased().hasPrefix("\(name)=") }
                    .map { String($0.dropFirst(name.count + 1)) }
            }
            switch profile {
            case "RTP/AVP/TCP":
                guard let text = value("interleaved") else {
                    self = .interleaved(rtp: UInt8(2 * track), rtcp: UInt8(2 * track + 1))
                    return
                }
                guard let (first, second) = Self.pair(text), let rtp = UInt8(exactly: first),
                    let rtcp = UInt8(exactly: second), rtp != rtcp
                else { continue }
                self = .interleaved(rtp: rtp, rtcp: rtcp)
                return
            case "RTP/AVP", "RTP/AVP/UDP":
                // `destination` is ignored: packets go only to the connection's peer.
                guard allowsDatagrams, let text = value("client_port"),
                    let (rtp, rtcp) = Self.pair(text), rtp >= Self.lowestPort,
                    rtcp >= Self.lowestPort, rtp != rtcp
                else { continue }
                self = .datagrams(rtp: rtp, rtcp: rtcp)
                return
            default: continue
            }
        }
        return nil
    }

    /// The Transport header of the response.
    /// - Parameters:
    ///   - source: the track's SSRC.
    ///   - ports: the server's UDP ports.
    func header(source: UInt32, ports: ServerPorts?) -> String {
        let hexadecimal = String(source, radix: 16, uppercase: true)
        let ssrc = String(repeating: "0", count: 8 - hexadecimal.count) + hexadecimal
        switch self {
        case .interleaved(let rtp, let rtcp):
            return "RTP/AVP/TCP;unicast;interleaved=\(rtp)-\(rtcp);ssrc=\(ssrc)"
        case .datagrams(let rtp, let rtcp):
            let own = ports.map { ";server_port=\($0.rtp)-\($0.rtcp)" } ?? ""
            return "RTP/AVP;unicast;client_port=\(rtp)-\(rtcp)\(own);ssrc=\(ssrc)"
        }
    }

    private static func pair(_ text: String) -> (UInt16, UInt16)? {
        let numbers = text.split(separator: "-", omittingEmptySubsequences: false)
            .map { UInt16($0) }
        guard numbers.count <= 2, let first = numbers[0] else { return nil }
        guard numbers.count == 2 else { return first < .max ? (first, first + 1) : nil }
        return numbers[1].map { (first, $0) }
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " || $0 == "\t" })
    }
}

/// The server's UDP ports.
package struct ServerPorts: Hashable, Sendable {
    package var rtp: UInt16
    package var rtcp: UInt16

    package init(rtp: UInt16, rtcp: UInt16) {
        self.rtp = rtp
        self.rtcp = rtcp
    }
}
