import COpenSSL

/// scrypt (RFC 7914), computed by OpenSSL's libcrypto: derives a key from a password. It blocks for as long as that takes.
package enum Scrypt {
    /// - Parameters:
    ///   - rounds: N, a power of two.
    ///   - blockSize: r.
    ///   - parallelism: p.
    /// - Returns: `byteCount` bytes; `nil` if libcrypto refuses the parameters or has no memory (128 · N · r bytes, and some).
    package static func derive(
        from password: [UInt8], salt: [UInt8], rounds: Int, blockSize: Int, parallelism: Int,
        byteCount: Int
    ) -> [UInt8]? {
        var key = [UInt8](repeating: 0, count: byteCount)
        // libcrypto's default is 32 MiB, which the caller's limits exceed: N + 2 blocks, and p of them.
        let memory = 128 * blockSize * (rounds + parallelism + 2)
        let status = password.withUnsafeBytes { password in
            EVP_PBE_scrypt(
                password.baseAddress?.assumingMemoryBound(to: CChar.self), password.count, salt,
                salt.count, UInt64(rounds), UInt64(blockSize), UInt64(parallelism), UInt64(memory),
                &key, key.count)
        }
        return status == 1 ? key : nil
    }
}
