import Crypto

/// A SHA-256 value (FIPS 180-4): 32 bytes.
package struct Digest: Hashable, Sendable, CustomStringConvertible {
    /// Always 32 bytes.
    package let bytes: [UInt8]

    package static let byteCount = 32
    /// What stands before the first link of a chain.
    package static let zero = Digest(bytes: [UInt8](repeating: 0, count: byteCount))

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// A value that came from elsewhere; nil when it is not 32 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = Array(bytes)
    }

    /// The digest of `bytes`.
    package init(of bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { Digest(of: $0) }
    }

    /// The digest of memory.
    package init(of bytes: UnsafeRawBufferPointer) {
        var hash = SHA256()
        hash.update(bufferPointer: bytes)
        self.bytes = Array(hash.finalize())
    }

    package var description: String { hexadecimal(bytes) }
}

/// Lower-case hexadecimal.
package func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
}

/// Bytes out of an even number of hexadecimal digits.
/// Lower-case only, as ``hexadecimal(_:)`` writes them.
package func bytes(hexadecimal text: String) -> [UInt8]? {
    let digits = text.utf8.map { digit -> UInt8? in
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
    guard digits.count % 2 == 0, !digits.contains(nil) else { return nil }
    let values = digits.compactMap { $0 }
    return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
}
