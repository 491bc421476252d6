import Glibc

/// Numeric addresses as bytes.
package enum IPAddress {
    package static let version4Bytes = 4
    package static let version6Bytes = 16
    /// The longest text of an IPv6 address, with an IPv4 address at its end.
    private static let maximumTextBytes = 45

    /// 4 bytes for `192.0.2.1`, 16 for `2001:db8::1`; nil for anything else.
    package static func bytes(_ text: String) -> [UInt8]? {
        // inet_pton(3) reads up to the first zero byte.
        guard text.utf8.count <= maximumTextBytes, text.utf8.allSatisfy(isForAddress) else {
            return nil
        }
        var version4 = in_addr()
        if inet_pton(AF_INET, text, &version4) == 1 {
            return withUnsafeBytes(of: &version4) { Array($0) }
        }
        var version6 = in6_addr()
        if inet_pton(AF_INET6, text, &version6) == 1 {
            return withUnsafeBytes(of: &version6) { Array($0) }
        }
        return nil
    }

    private static func isForAddress(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "."), UInt8(ascii: ":"):
            true
        default: false
        }
    }
}

/// The unit for counting log-ins: an IPv4 address, or an IPv6 network of 64 bits, which one subscriber has.
package struct RemoteNetwork: Hashable, Sendable {
    private static let networkBytes = 8
    /// RFC 4291 §2.5.5.2: `::ffff:0:0/96`, an IPv4 address in an IPv6 socket.
    private static let mappedPrefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]

    /// 4 or 8; none: no numeric address, and all such peers are counted together.
    private let bytes: [UInt8]

    /// - Parameter address: numeric, without a port. The zone of a link-local address does not count.
    package init(_ address: String) {
        let numeric = String(address.prefix { $0 != "%" })
        guard let all = IPAddress.bytes(numeric) else {
            bytes = []
            return
        }
        if all.count == IPAddress.version4Bytes {
            bytes = all
        } else if all.starts(with: Self.mappedPrefix) {
            bytes = Array(all.dropFirst(Self.mappedPrefix.count))
        } else {
            bytes = Array(all.prefix(Self.networkBytes))
        }
    }
}
