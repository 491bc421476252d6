import CTLS
import Glibc
import RTSP

/// The client side of a TLS connection, TLS 1.2 or later. It has no socket: the caller transfers the bytes. Used on one thread.
final class TLSConnection {
    /// One call of OpenSSL returns at most one record (RFC 8446 §5.1).
    private static let recordBytes = 16_384
    /// The certificates and keys of a handshake are far smaller; more is an attack on memory.
    private static let mostHandshakeBytes = 262_144

    private let context: OpaquePointer
    private let connection: OpaquePointer
    /// Owned by `connection`.
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private let trust: CameraTrust
    /// Data to send after the handshake.
    private var waiting: [UInt8] = []
    private var handshakeBytes = 0
    private(set) var isEstablished = false
    /// Whether the other end has said that nothing follows.
    private(set) var isClosed = false

    /// - Parameter host: name or address that the certificate must be for.
    init(host: String, trust: CameraTrust) throws(NetworkFailure) {
        self.trust = trust
        ERR_clear_error()
        guard let context = SSL_CTX_new(TLS_client_method()) else {
            throw NetworkFailure("no TLS: \(Self.lastError)")
        }
        guard let connection = SSL_new(context) else {
            SSL_CTX_free(context)
            throw NetworkFailure("no TLS: \(Self.lastError)")
        }
        self.context = context
        self.connection = connection
        guard let incoming = BIO_new(BIO_s_mem()), let outgoing = BIO_new(BIO_s_mem()) else {
            throw NetworkFailure("no TLS: \(Self.lastError)")
        }
        self.incoming = incoming
        self.outgoing = outgoing
        SSL_set_bio(connection, incoming, outgoing)
        SSL_set_connect_state(connection)
        guard CTLS_require_version_1_2(context) == 1 else {
            throw NetworkFailure("no TLS: \(Self.lastError)")
        }
        try require(URLHost.withoutZone(host))
    }

    deinit {
        SSL_free(connection)
        SSL_CTX_free(context)
    }

    /// Sets the requirements on the peer's certificate.
    private func require(_ host: String) throws(NetworkFailure) {
        // The handshake ignores the result of the verification. `checkCertificate()` checks it, so that its error can show the
        // fingerprint.
        SSL_set_verify(connection, SSL_VERIFY_NONE, nil)
        guard trust.fingerprints.isEmpty else { return }
        let areRead =
            if let file = trust.authorities {
                SSL_CTX_load_verify_file(context, file)
            } else {
                SSL_CTX_set_default_verify_paths(context)
            }
        guard areRead == 1 else {
            throw NetworkFailure(
                "cannot read the certificates of \(trust.authorities ?? "this system"): \(Self.lastError)"
            )
        }
        // An address is no server name (RFC 6066 §3).
        let isAddress = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), host) == 1
        if !isAddress {
            guard SSL_set1_host(connection, host) == 1 else {
                throw NetworkFailure("'\(host)' is no name that a certificate can have")
            }
            _ = CTLS_set_server_name(connection, host)
        }
    }

    /// Begins the handshake, or continues it.
    private func shakeHands() throws(NetworkFailure) {
        guard !isEstablished else { return }
        ERR_clear_error()
        let result = SSL_do_handshake(connection)
        if result == 1 {
            try checkCertificate()
            isEstablished = true
            let first = waiting
            waiting = []
            try write(first)
            return
        }
        let error = SSL_get_error(connection, result)
        guard error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE else {
            throw NetworkFailure("the TLS handshake failed: \(Self.lastError)")
        }
    }

    /// Nothing is sent before the certificate is checked.
    private func checkCertificate() throws(NetworkFailure) {
        // Without a certificate, SSL_get_verify_result(3) returns X509_V_OK.
        guard let fingerprint else { throw NetworkFailure("it shows no certificate") }
        guard trust.fingerprints.isEmpty else {
            guard trust.fingerprints.contains(fingerprint) else {
                throw NetworkFailure(
                    "its certificate is another than --camera-fingerprint says: it has \(fingerprint)"
                )
            }
            return
        }
        let verdict = SSL_get_verify_result(connection)
        guard verdict == Int(X509_V_OK) else {
            let reason = String(cString: X509_verify_cert_error_string(verdict))
            throw NetworkFailure(
                "its certificate is not trusted: \(reason); if it is the camera's, give --camera-fingerprint \(fingerprint)"
            )
        }
    }

    /// Fingerprint of the peer's certificate; nil without one.
    private var fingerprint: CertificateFingerprint? {
        guard let certificate = SSL_get1_peer_certificate(connection) else { return nil }
        defer { X509_free(certificate) }
        var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard X509_digest(certificate, EVP_sha256(), &bytes, &count) == 1 else { return nil }
        return CertificateFingerprint(bytes: Array(bytes.prefix(Int(count))))
    }

    /// Encrypts bytes; those before the end of the handshake wait for it.
    func send(_ bytes: [UInt8]) throws(NetworkFailure) {
        guard isEstablished else {
            waiting += bytes
            return try shakeHands()
        }
        try write(bytes)
    }

    private func write(_ bytes: [UInt8]) throws(NetworkFailure) {
        guard !bytes.isEmpty else { return }
        ERR_clear_error()
        // Memory takes everything at once.
        guard
            SSL_write(connection, bytes, Int32(clamping: bytes.count))
                == Int32(clamping: bytes.count)
        else { throw NetworkFailure("cannot send over TLS: \(Self.lastError)") }
    }

    /// Encrypted bytes to send to the peer.
    func takeOutgoing() -> [UInt8] {
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: Self.recordBytes)
        while case let count = BIO_read(outgoing, &part, Int32(part.count)), count > 0 {
            all += part.prefix(Int(count))
        }
        return all
    }

    /// Decrypts bytes of the peer.
    func received(_ bytes: [UInt8]) throws(NetworkFailure) -> [UInt8] {
        guard !bytes.isEmpty else { return [] }
        guard
            BIO_write(incoming, bytes, Int32(clamping: bytes.count)) == Int32(clamping: bytes.count)
        else { throw NetworkFailure("no memory for TLS") }
        if !isEstablished {
            handshakeBytes += bytes.count
            guard handshakeBytes <= Self.mostHandshakeBytes else {
                throw NetworkFailure("its TLS handshake has no end")
            }
            try shakeHands()
            guard isEstablished else { return [] }
        }
        var plain: [UInt8] = []
        var part = [UInt8](repeating: 0, count: Self.recordBytes)
        while true {
            ERR_clear_error()
            let count = SSL_read(connection, &part, Int32(part.count))
            if count > 0 {
                plain += part.prefix(Int(count))
                continue
            }
            switch SSL_get_error(connection, count) {
            case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return plain
            case SSL_ERROR_ZERO_RETURN:
                isClosed = true
                return plain
            default: throw NetworkFailure("its TLS is damaged: \(Self.lastError)")
            }
        }
    }

    private static var lastError: String {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else {
            return "no reason is given"
        }
        return String(cString: reason)
    }
}
