import Accounts
import Archive

/// A list entry of a link that an account has made. It does not contain the signature.
struct MadeLink: Codable, Hashable, Sendable {
    /// Digest of the whole address: 16 hexadecimal digits.
    var id: String
    /// The account that created it.
    var owner: String
    /// Path and query, without expiry and signature.
    var address: String
    /// Seconds since 1970.
    var madeSeconds: Int64
    var expiresSeconds: Int64
    var hasEnded: Bool

    /// The identifier of a link.
    /// - Parameter address: path and query with the signature.
    static func id(of address: String) -> String {
        String(Digest(of: Array(address.utf8)).description.prefix(16))
    }

    private static let maximumAddressBytes = 1_024
    /// As nanoseconds, they fit 64 bits.
    private static let seconds: ClosedRange<Int64> = 0...9_000_000_000

    /// Whether its values are plausible.
    var isPlausible: Bool {
        id.utf8.count == 16 && id.utf8.allSatisfy(Self.isHexadecimal) && UserName.isValid(owner)
            && address.utf8.count <= Self.maximumAddressBytes
            && Self.seconds.contains(madeSeconds) && Self.seconds.contains(expiresSeconds)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }
}
