import COpenSSL

/// scrypt (RFC 7914), computed by OpenSSL's libcrypto: derives a key from a password. Blocks during the computation.
package enum Scrypt {
    /// - Parameters:
    ///   - rounds: N, a power of two.
    ///   - blockSize: r.
    ///   - parallelism: p.
    /// - Returns: `byteCount` bytes; `nil` for invalid parameters or lack of memory (slightly more than 128 · N · r
    ///   bytes).
    package static func derive(
        from password: [UInt8], salt: [UInt8], rounds: Int, blockSize: Int, parallelism: Int,
        byteCount: Int
    ) -> [UInt8]? {
        var key = [UInt8](repeating: 0, count: byteCount)
        // libcrypto's default limit of 32 MiB is too low for N + 2 + p blocks.
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
