import Hashing

/// A script's credential: 32 random bytes; only their SHA-256 is stored.
///
/// A slow hash is not needed, because the bytes cannot be guessed.
package struct AccessToken: Sendable {
    private static let byteCount = 32

    private let bytes: [UInt8]

    private init(bytes: [UInt8]) { self.bytes = bytes }

    package static func random() -> AccessToken { AccessToken(bytes: randomBytes(byteCount)) }

    /// 43 characters, base64url.
    package var text: String { ByteText.base64URL(bytes) }

    /// Parses ``text``; nil if it is invalid.
    package init?(text: String) {
        guard text.utf8.count <= 64, let bytes = ByteText.decode(base64URL: text),
            bytes.count == Self.byteCount
        else { return nil }
        self.init(bytes: bytes)
    }

    package var digest: TokenDigest { TokenDigest(of: bytes) }
}

/// The stored SHA-256 of a token, 32 bytes.
package struct TokenDigest: Hashable, Sendable {
    private let bytes: [UInt8]

    fileprivate init(of token: [UInt8]) { bytes = HashFunction.sha256.hash(token) }

    /// Base64url.
    package var text: String { ByteText.base64URL(bytes) }

    /// Parses ``text``; nil if it is invalid.
    package init?(text: String) {
        guard text.utf8.count <= 64, let bytes = ByteText.decode(base64URL: text),
            bytes.count == HashFunction.sha256.byteCount
        else { return nil }
        self.bytes = bytes
    }
}
