import Hashing

/// A SHA-256 value (FIPS 180-4): 32 bytes.
package struct Digest: Hashable, Sendable, CustomStringConvertible {
    /// Always 32 bytes.
    package let bytes: [UInt8]

    package static let byteCount = 32
    /// The predecessor of a chain's first link.
    package static let zero = Digest(bytes: [UInt8](repeating: 0, count: byteCount))

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// - Returns: nil unless there are 32 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = Array(bytes)
    }

    package init(of bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { Digest(of: $0) }
    }

    package init(of bytes: UnsafeRawBufferPointer) {
        self.bytes = HashFunction.sha256.hash(bytes)
    }

    package var description: String { ByteText.hexadecimal(bytes) }
}
