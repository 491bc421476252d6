import Media

/// How the certificate of a camera that is reached by TLS is checked.
package struct CameraTrust: Hashable, Sendable {
    /// SHA-256 fingerprints of the accepted certificates, whose signatures are not checked. Empty: the certificate is checked by
    /// name and authority.
    package var authorities: String?
    /// SHA-256 of the certificates that a camera may have, whose signatures are then not checked; empty: a certificate is
    /// checked by name and authority.
    package var fingerprints: Set<CertificateFingerprint>

    package init(authorities: String? = nil, fingerprints: Set<CertificateFingerprint> = []) {
        self.authorities = authorities
        self.fingerprints = fingerprints
    }
}

/// SHA-256 of a certificate's DER encoding, as `openssl x509 -fingerprint -sha256` prints it.
package struct CertificateFingerprint: Hashable, Sendable, CustomStringConvertible {
    private static let count = 32

    package let bytes: [UInt8]

    /// - Parameter bytes: 32 of them.
    init?(bytes: [UInt8]) {
        guard bytes.count == Self.count else { return nil }
        self.bytes = bytes
    }

    /// Reads 64 hexadecimal digits, with or without colons between the bytes.
    package init?(parsing text: String) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: ":") }
        guard digits.count == 2 * Self.count, text.utf8.count <= 3 * Self.count else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: digits.count, by: 2) {
            let pair = String(decoding: digits[place...place + 1], as: UTF8.self)
            guard let byte = UInt8(pair, radix: 16), pair.first != "+" else { return nil }
            bytes.append(byte)
        }
        self.bytes = bytes
    }

    package var description: String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
            .joined(separator: ":")
    }
}
