import COpenSSL

/// A hash function, computed by OpenSSL's libcrypto. Thread-safe.
package enum HashFunction: Hashable, Sendable {
    /// SHA-256 (FIPS 180-4): 32 bytes.
    case sha256
    /// MD5 (RFC 1321): 16 bytes. Only for entity tags and `Content-MD5` of object stores, never for security.
    case md5
    /// SHA-1 (FIPS 180-4): 20 bytes. Only where another program's protocol demands it (WS-Security's password digest).
    case sha1

    /// Length of a hash, bytes.
    package var byteCount: Int {
        switch self {
        case .sha256: 32
        case .md5: 16
        case .sha1: 20
        }
    }

    package func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { hash, count in
            var size: UInt32 = 0
            let status = EVP_Digest(
                bytes.baseAddress, bytes.count, hash.baseAddress, &size, algorithm.pointer, nil)
            // It can only fail for lack of memory.
            precondition(status == 1 && Int(size) == byteCount, "libcrypto computes no \(self)")
            count = byteCount
        }
    }

    package func hash(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { hash($0) }
    }

    private var algorithm: Algorithm {
        switch self {
        case .sha256: .sha256
        case .md5: .md5
        case .sha1: .sha1
        }
    }
}

/// An algorithm of libcrypto. It is looked up once: a lookup takes longer than the hash of a few bytes.
///
/// `@unchecked Sendable`: libcrypto counts references to an `EVP_MD` atomically and never changes one (EVP_MD_fetch(3)).
private struct Algorithm: @unchecked Sendable {
    static let sha256 = Algorithm("SHA256", properties: nil)
    /// Fetched with `-fips`, so that it is also available in FIPS mode: RTSP Digest (RFC 7616) and `Content-MD5` require it.
    static let md5 = Algorithm("MD5", properties: "-fips")
    static let sha1 = Algorithm("SHA1", properties: nil)

    let pointer: OpaquePointer

    /// - Parameter properties: selects an implementation (property(7)).
    private init(_ name: String, properties: String?) {
        Libcrypto.keepUntilExit()
        guard let pointer = EVP_MD_fetch(nil, name, properties) else {
            preconditionFailure("libcrypto has no \(name)")
        }
        self.pointer = pointer
    }
}
