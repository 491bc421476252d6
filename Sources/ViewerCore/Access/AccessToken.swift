import Hashing

/// What a script logs in with: 32 random bytes, of which the file of accounts has the SHA-256 only.
///
/// A hash that costs time is for passwords, which can be guessed; these bytes cannot.
struct AccessToken: Sendable {
    private static let byteCount = 32

    private let bytes: [UInt8]

    private init(bytes: [UInt8]) { self.bytes = bytes }

    static func random() -> AccessToken { AccessToken(bytes: randomBytes(byteCount)) }

    /// 43 characters, base64url.
    var text: String { ByteText.base64URL(bytes) }

    /// Reads what ``text`` wrote; nil for anything else.
    init?(text: String) {
        guard text.utf8.count <= 64, let bytes = ByteText.decode(base64URL: text),
            bytes.count == Self.byteCount
        else { return nil }
        self.init(bytes: bytes)
    }

    var digest: TokenDigest { TokenDigest(of: bytes) }
}

/// The SHA-256 of a token, 32 bytes: what is kept of it.
struct TokenDigest: Hashable, Sendable {
    private let bytes: [UInt8]

    fileprivate init(of token: [UInt8]) { bytes = HashFunction.sha256.hash(token) }

    /// Base64url.
    var text: String { ByteText.base64URL(bytes) }

    /// Reads what ``text`` wrote; nil for anything else.
    init?(text: String) {
        guard text.utf8.count <= 64, let bytes = ByteText.decode(base64URL: text),
            bytes.count == HashFunction.sha256.byteCount
        else { return nil }
        self.bytes = bytes
    }
}
