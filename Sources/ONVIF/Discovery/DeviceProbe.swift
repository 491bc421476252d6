import Media
import RTSP
import XML

/// A search for cameras (OASIS WS-Discovery 1.1 §5, with the namespaces of ONVIF Core Specification §7.3): datagrams to send
/// to the multicast group, and the answers to them.
package struct DeviceProbe: Sendable {
    /// The groups and the port of WS-Discovery (§2.4); the IPv6 group is on a link.
    package static let group = "239.255.255.250"
    package static let linkGroup = "ff02::c"
    package static let port: UInt16 = 3_702
    /// Devices of a search; more are not listed.
    package static let maximumDevices = 256
    /// Devices at one address: a recorder can answer for each of its channels. One hostile device must not fill the list.
    package static let maximumDevicesOfHost = 16
    /// A datagram of IPv4.
    static let maximumBytes = 65_507
    private static let maximumMatches = 16
    private static let maximumScopes = 64

    private static let addressing = "http://schemas.xmlsoap.org/ws/2004/08/addressing"
    private static let discovery = "http://schemas.xmlsoap.org/ws/2005/04/discovery"
    /// Device types to search for: Profile S cameras, and all ONVIF devices. Each type has its own probe, because a probe
    /// with both types only finds devices that have both.
    private static let types = [
        ("http://www.onvif.org/ver10/network/wsdl", "NetworkVideoTransmitter"),
        ("http://www.onvif.org/ver10/device/wsdl", "Device"),
    ]

    private let identifiers: [String]
    private var all: [DiscoveredDevice] = []

    /// Devices in the order of their answers, each once: one that answers over IPv4 and IPv6 has its IPv4 address.
    package var devices: [DiscoveredDevice] {
        let known = all.lazy.filter { !$0.isIPv6 && $0.service != nil && !$0.endpoint.isEmpty }
        let endpoints = Set(known.map(\.endpoint))
        return all.filter { !$0.isIPv6 || !endpoints.contains($0.endpoint) }
    }

    /// - Parameter random: unpredictable numbers: only an answer that names its probe counts.
    package init(random: () -> UInt64) {
        identifiers = Self.types.map { _ in Self.identifier(random(), random()) }
    }

    /// `urn:uuid:` with a random UUID (RFC 9562 §5.4).
    private static func identifier(_ high: UInt64, _ low: UInt64) -> String {
        let bits = [high & ~0xF000 | 0x4000, low & ~(3 << 62) | 2 << 62]
        let digits = bits.map { word in
            let text = String(word, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined()
        var parts: [Substring] = []
        var rest = digits[...]
        for count in [8, 4, 4, 4, 12] {
            parts.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return "urn:uuid:" + parts.joined(separator: "-")
    }

    /// The messages to send.
    package var datagrams: [[UInt8]] {
        zip(Self.types, identifiers).map { type, identifier in
            let header = """
                <a:MessageID xmlns:a="\(Self.addressing)">\(identifier)</a:MessageID>\
                <a:To xmlns:a="\(Self.addressing)">urn:schemas-xmlsoap-org:ws:2005:04:discovery</a:To>\
                <a:Action xmlns:a="\(Self.addressing)">\(Self.discovery)/Probe</a:Action>
                """
            let body = """
                <d:Probe xmlns:d="\(Self.discovery)"><d:Types xmlns:n="\(type.0)">n:\(type.1)</d:Types></d:Probe>
                """
            return Array(SOAPEnvelope.text(header: header, body: body).utf8)
        }
    }

    /// Takes a datagram; one that is no answer to this search is ignored.
    /// - Parameter host: the numeric address of its sender.
    package mutating func receive(_ bytes: [UInt8], from host: String) {
        guard bytes.count <= Self.maximumBytes else { return }
        let root: XMLElement
        do throws(XMLElement.Flaw) {
            root = try XMLElement.parse(bytes)
        } catch {
            return
        }
        guard root.name == "Envelope", let related = root.descendant("Header", "RelatesTo"),
            identifiers.contains(String(related.text.filter { !$0.isWhitespace })),
            let matches = root.descendant("Body", "ProbeMatches")
        else { return }
        for match in matches.children.prefix(Self.maximumMatches) where match.name == "ProbeMatch" {
            take(match, from: host)
        }
    }

    private mutating func take(_ match: XMLElement, from host: String) {
        let endpoint = shownText(match.descendant("EndpointReference", "Address")?.text ?? "")
        var device = DiscoveredDevice(
            host: host, endpoint: endpoint, service: Self.service(match, at: host))
        let scopes = (match.text(of: "Scopes") ?? "").split(whereSeparator: \.isWhitespace)
        for scope in scopes.prefix(Self.maximumScopes) {
            device.name = device.name ?? Self.value("name", of: scope)
            device.hardware = device.hardware ?? Self.value("hardware", of: scope)
        }
        if let place = all.firstIndex(where: { $0.host == host && $0.endpoint == endpoint }) {
            all[place].service = all[place].service ?? device.service
        } else if all.count < Self.maximumDevices,
            all.count(where: { $0.host == host }) < Self.maximumDevicesOfHost
        {
            all.append(device)
        }
    }

    /// The best of its addresses: one at the host that the answer came from, or else with that host, because cameras state
    /// addresses of other networks; of these one without TLS, because few cameras have a certificate that an authority has
    /// signed.
    private static func service(_ match: XMLElement, at host: String) -> DeviceURL? {
        var found: [DeviceURL] = []
        let texts = (match.text(of: "XAddrs") ?? "").split(whereSeparator: \.isWhitespace)
        for text in texts.prefix(maximumMatches) {
            do throws(ONVIFError) {
                found.append(try DeviceURL(parsing: String(text)))
            } catch {
                continue
            }
        }
        let preferred = found.filter { !$0.isSecure } + found.filter(\.isSecure)
        let own = preferred.first { $0.host == URLHost.withoutZone(host) }
        return (own ?? preferred.first)?.at(host: host)
    }

    /// The last part of `onvif://www.onvif.org/CATEGORY/VALUE`, decoded.
    private static func value(_ category: String, of scope: Substring) -> String? {
        let prefix = "onvif://www.onvif.org/\(category)/"
        guard scope.lowercased().hasPrefix(prefix) else { return nil }
        var bytes: [UInt8] = []
        var rest = Array(scope.utf8.dropFirst(prefix.utf8.count))[...]
        while let byte = rest.popFirst() {
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                digits.allSatisfy(\.isHexDigit), let value = UInt8(digits, radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        let text = shownText(String(decoding: bytes, as: UTF8.self))
        return text.isEmpty ? nil : text
    }
}
