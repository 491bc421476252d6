import COpenSSL

/// HMAC-SHA256 (RFC 2104), computed by OpenSSL's libcrypto. Thread-safe.
package enum AuthenticationCode {
    /// Length of a code, bytes.
    package static let byteCount = HashFunction.sha256.byteCount

    /// The code of a message, 32 bytes.
    package static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { code, count in
            var size: UInt32 = 0
            let result = HMAC(
                EVP_sha256(), key, Int32(key.count), message, message.count, code.baseAddress, &size
            )
            // It can only fail for lack of memory.
            precondition(result != nil && Int(size) == byteCount, "libcrypto computes no HMAC")
            count = byteCount
        }
    }

    /// Verifies a message's code in constant time.
    package static func isValid(_ code: [UInt8], of message: [UInt8], key: [UInt8]) -> Bool {
        isEqual(code, self.code(of: message, key: key))
    }

    /// Compares two secrets. The time depends on their lengths only.
    package static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}
