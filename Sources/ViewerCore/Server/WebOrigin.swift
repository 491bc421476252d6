/// The origin of web pages: `https://HOST[:PORT]` (RFC 6454 §6.2). Its text is copied into a header.
package struct WebOrigin: Hashable, Sendable {
    package let text: String

    /// Maximum length of a host's name (RFC 1035 §2.3.4), and of an address in brackets.
    private static let maximumHostBytes = 253

    /// - Returns: nil if the text is no origin.
    package init?(_ text: String) {
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix) else { return nil }
        var host = text.dropFirst(scheme.count)
        // The colons of an IPv6 address are in brackets.
        let address = host.hasPrefix("[") ? host.firstIndex(of: "]") : host.startIndex
        guard let address else { return nil }
        if let colon = host[address...].firstIndex(of: ":") {
            guard Self.isPort(host[host.index(after: colon)...]) else { return nil }
            host = host[..<colon]
        }
        guard (1...Self.maximumHostBytes).contains(host.utf8.count), Self.isHost(host) else {
            return nil
        }
        self.text = text
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.utf8.count <= 5 && text.utf8.allSatisfy(isDigit)
            && Int(text).map { (1...65_535).contains($0) } ?? false
    }

    private static func isHost(_ text: Substring) -> Bool {
        if text.hasPrefix("["), text.hasSuffix("]") {
            let address = text.dropFirst().dropLast()
            return address.contains(":")
                && address.utf8.allSatisfy { isHexadecimal($0) || ":.".utf8.contains($0) }
        }
        return text.utf8.allSatisfy { isDigit($0) || isLetter($0) || "-.".utf8.contains($0) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
}
