import CZeroMQ
import Glibc

/// A CURVE public key (Curve25519, RFC 7748), which identifies a peer. It is not secret.
package struct PublicKey: Hashable, Sendable {
    /// Size of public and of secret keys.
    package static let byteCount = 32

    /// 32 bytes.
    package let bytes: [UInt8]

    /// - Returns: nil unless there are 32 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }
}

/// A CURVE secret key: its holder can impersonate the owner.
///
/// The one copy here is overwritten when the last reference is released; libzmq keeps its own copies in the sockets
/// that use it. It is never printed.
// @unchecked Sendable: the memory is filled before init returns, and only read until deinit.
package final class SecretKey: @unchecked Sendable, Hashable, CustomStringConvertible,
    CustomReflectable
{
    private let memory: UnsafeMutableRawBufferPointer
    /// The public key that belongs to it.
    package let publicKey: PublicKey

    /// A key of 32 bytes; the caller should overwrite the array.
    package init(_ bytes: borrowing [UInt8]) throws(MessagingError) {
        precondition(bytes.count == PublicKey.byteCount, "a secret key has 32 bytes")
        memory = .allocate(byteCount: PublicKey.byteCount, alignment: 16)
        memory.copyBytes(from: copy bytes)
        publicKey = try Self.derivePublicKey(of: memory)
    }

    /// A new key from the system's random numbers.
    package static func generate() throws(MessagingError) -> SecretKey {
        try withTextMemory { (publicText, secretText) throws(MessagingError) in
            guard zmq_curve_keypair(publicText, secretText) == 0 else {
                throw .last("make", "a key")
            }
            var bytes = [UInt8](repeating: 0, count: PublicKey.byteCount)
            defer { wipe(&bytes) }
            guard zmq_z85_decode(&bytes, secretText) != nil else { throw .last("make", "a key") }
            return try SecretKey(bytes)
        }
    }

    deinit {
        if let start = memory.baseAddress { explicit_bzero(start, memory.count) }
        memory.deallocate()
    }

    /// Calls `body` with the key's bytes in place; the pointer is valid inside `body` only.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(memory))
    }

    package static func == (one: SecretKey, other: SecretKey) -> Bool {
        one.publicKey == other.publicKey
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(publicKey) }

    package var description: String { "a secret key" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }

    private static func derivePublicKey(
        of secret: UnsafeMutableRawBufferPointer
    ) throws(MessagingError) -> PublicKey {
        try withTextMemory { (publicText, secretText) throws(MessagingError) in
            let start = secret.bindMemory(to: UInt8.self).baseAddress
            var bytes = [UInt8](repeating: 0, count: PublicKey.byteCount)
            guard zmq_z85_encode(secretText, start, secret.count) != nil,
                zmq_curve_public(publicText, secretText) == 0,
                zmq_z85_decode(&bytes, publicText) != nil, let key = PublicKey(bytes)
            else { throw .last("use", "a secret key") }
            return key
        }
    }

    /// Memory for a public and a secret key in libzmq's text form (Z85, RFC 32 of ZeroMQ), which is overwritten afterwards.
    private static func withTextMemory<Result>(
        _ body: (UnsafeMutablePointer<CChar>, UnsafeMutablePointer<CChar>) throws(MessagingError)
            -> Result
    ) throws(MessagingError) -> Result {
        let textBytes = 41
        let memory = UnsafeMutablePointer<CChar>.allocate(capacity: 2 * textBytes)
        defer {
            explicit_bzero(memory, 2 * textBytes)
            memory.deallocate()
        }
        return try body(memory, memory + textBytes)
    }
}

/// Overwrites secret bytes in a way that the optimiser does not remove.
package func wipe(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { memory in
        if let start = memory.baseAddress { explicit_bzero(start, memory.count) }
    }
}
