/// A host's name or numeric address in normalised form.
package enum HostName: Hashable, Sendable {
    /// Small letters, without a dot at the end.
    case name(String)
    /// 4 or 16 bytes.
    case address([UInt8])

    /// RFC 1035 §2.3.4.
    private static let maximumBytes = 253

    /// Nil if the text is neither. An IPv6 address has no brackets.
    package init?(_ text: String) {
        if let bytes = IPAddress.bytes(text) {
            self = .address(bytes)
            return
        }
        let name = text.hasSuffix(".") ? String(text.dropLast()) : text
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard name.utf8.count <= Self.maximumBytes, name.utf8.allSatisfy(Self.isForName),
            labels.allSatisfy({ !$0.isEmpty })
        else { return nil }
        self = .name(name.lowercased())
    }

    private static func isForName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// The value of a `Host` header (RFC 9110 §7.2), or an `Origin` header without its scheme.
package struct HostAndPort: Hashable, Sendable {
    /// The longest name, brackets, and a port.
    private static let maximumBytes = 264

    package let host: HostName
    /// Nil: the scheme's own.
    package let port: UInt16?

    /// Nil unless the text is `name`, `name:port`, `[IPv6]` or `[IPv6]:port`.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maximumBytes else { return nil }
        let rest: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let inside = String(text[text.index(after: text.startIndex)..<end])
            guard let bytes = IPAddress.bytes(inside), bytes.count == IPAddress.version6Bytes
            else { return nil }
            host = .address(bytes)
            rest = text[text.index(after: end)...]
        } else {
            let end = text.firstIndex(of: ":") ?? text.endIndex
            guard let name = HostName(String(text[..<end])) else { return nil }
            host = name
            rest = text[end...]
        }
        if rest.isEmpty {
            port = nil
        } else {
            guard rest.hasPrefix(":"), let number = UInt16(rest.dropFirst()),
                rest == ":\(number)", number > 0
            else { return nil }
            port = number
        }
    }
}
