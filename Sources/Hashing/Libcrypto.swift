import COpenSSL

/// OpenSSL's libcrypto as a part of the process.
package enum Libcrypto {
    private static let lifetime: Void = {
        let hasBegun = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
        // It can only fail for lack of memory.
        precondition(hasBegun, "libcrypto does not start")
    }()

    /// Keeps libcrypto's state until the process ends. To be called before anything else uses libcrypto.
    ///
    /// By default, `exit` frees that state while other threads still run (OPENSSL_init_crypto(3)). A thread that ends at the same
    /// moment frees its part a second time, which aborts the process.
    package static func keepUntilExit() { lifetime }
}
