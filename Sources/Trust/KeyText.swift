import Hashing
package import Messaging

// Keys as text: base32 (RFC 4648 §6) in lower case, without padding, of the key's 32 bytes and the first 3 bytes of a
// SHA-256 over the kind of key and the key. So a key is one word of 56 letters and digits without shell metacharacters.
// The checksum detects typing errors, and a secret key in place of a public one. (libzmq's own Z85 is shorter and full
// of shell metacharacters.)

extension PublicKey {
    /// The key as text: 56 letters and digits.
    package var text: String { KeyText.encode(bytes, .publicKey) }

    /// The first 8 characters of ``text``, for logs: enough to distinguish the keys of a site.
    package var shortText: String { String(text.prefix(8)) }

    /// Parses ``text``; upper case is accepted.
    package init(text: String) throws(TrustError) {
        if let bytes = KeyText.decode(text, .publicKey), let key = PublicKey(bytes) {
            self = key
        } else if KeyText.decode(text, .secretKey) != nil {
            throw .isASecretKey
        } else {
            throw .notAPublicKey(text)
        }
    }
}

/// The kinds of keys as text.
enum KeyText {
    enum Kind: String {
        case publicKey = "tributary public key"
        case secretKey = "tributary secret key"
        /// The secret half of a one-time key for enrolment.
        case token = "tributary enrolment token"
    }

    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
    private static let checkBytes = 3
    /// Characters: 35 bytes are exactly 56 of 5 bits.
    private static let length = 56

    static func encode(_ key: [UInt8], _ kind: Kind) -> String {
        String(decoding: encodeBytes(key, kind), as: UTF8.self)
    }

    /// The same text as bytes, which the caller can overwrite after use.
    static func encodeBytes(_ key: [UInt8], _ kind: Kind) -> [UInt8] {
        var all = key + check(key, kind)
        defer { wipe(&all) }
        var text: [UInt8] = []
        text.reserveCapacity(length)
        var bits: UInt32 = 0
        var count = 0
        for byte in all {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                text.append(alphabet[Int(bits >> UInt32(count) & 31)])
            }
            bits &= (1 << UInt32(count)) - 1
        }
        return text
    }

    static func decode(_ text: String, _ kind: Kind) -> [UInt8]? {
        decode(bytes: Array(text.utf8), kind)
    }

    /// The key's 32 bytes; nil for an invalid character, a wrong length, a wrong checksum or another kind of key.
    static func decode(bytes text: [UInt8], _ kind: Kind) -> [UInt8]? {
        guard text.count == length else { return nil }
        var all: [UInt8] = []
        all.reserveCapacity(PublicKey.byteCount + checkBytes)
        defer { wipe(&all) }
        var bits: UInt32 = 0
        var count = 0
        for character in text {
            // Upper case to lower case.
            let small = (0x41...0x5A).contains(character) ? character + 0x20 : character
            guard let value = alphabet.firstIndex(of: small) else { return nil }
            bits = bits << 5 | UInt32(value)
            count += 5
            guard count >= 8 else { continue }
            count -= 8
            all.append(UInt8(bits >> UInt32(count) & 255))
            bits &= (1 << UInt32(count)) - 1
        }
        let key = Array(all.prefix(PublicKey.byteCount))
        guard Array(all.dropFirst(PublicKey.byteCount)) == check(key, kind) else { return nil }
        return key
    }

    private static func check(_ key: [UInt8], _ kind: Kind) -> [UInt8] {
        Array(HashFunction.sha256.hash(Array(kind.rawValue.utf8) + key).prefix(checkBytes))
    }
}
