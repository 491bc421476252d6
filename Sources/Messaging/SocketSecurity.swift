import CZeroMQ

/// Protection of a socket's connections (ZMTP's mechanisms NULL and CURVE, RFC 26 of ZeroMQ).
package enum SocketSecurity: Hashable, Sendable {
    /// No authentication, no encryption.
    case plain
    /// The listening end: its key; admits the peers that an ``Authenticator`` admits, and none without one.
    case server(SecretKey)
    /// The connecting end: its key, and the server's key, whose holder it connects to.
    case client(SecretKey, server: PublicKey)

    /// `ZMQ_ZAP_ENFORCE_DOMAIN`: supported by libzmq 4.3, but declared in its header for builds with the draft API only.
    private static let enforceDomain: Int32 = 93

    /// Whether messages are encrypted.
    var isEncrypted: Bool {
        switch self {
        case .plain: false
        case .server, .client: true
        }
    }

    func apply(to handle: UnsafeMutableRawPointer) throws(MessagingError) {
        switch self {
        case .plain:
            return
        case .server(let secret):
            try Self.set(ZMQ_CURVE_SERVER, to: Int32(1), on: handle)
            try Self.set(ZMQ_CURVE_SECRETKEY, to: secret, on: handle)
            try Self.set(ZMQ_ZAP_DOMAIN, to: Array("tributary".utf8), on: handle)
            // Without it, libzmq admits every peer when there is no authenticator.
            try Self.set(Self.enforceDomain, to: Int32(1), on: handle)
        case .client(let secret, let server):
            try Self.set(ZMQ_CURVE_SERVERKEY, to: server.bytes, on: handle)
            try Self.set(ZMQ_CURVE_PUBLICKEY, to: secret.publicKey.bytes, on: handle)
            try Self.set(ZMQ_CURVE_SECRETKEY, to: secret, on: handle)
        }
    }

    private static func set(
        _ option: Int32, to secret: SecretKey, on handle: UnsafeMutableRawPointer
    ) throws(MessagingError) {
        try check(
            secret.withUnsafeBytes { zmq_setsockopt(handle, option, $0.baseAddress, $0.count) })
    }

    private static func set(
        _ option: Int32, to bytes: [UInt8], on handle: UnsafeMutableRawPointer
    ) throws(MessagingError) {
        try check(
            bytes.withUnsafeBytes { zmq_setsockopt(handle, option, $0.baseAddress, $0.count) })
    }

    private static func set(
        _ option: Int32, to value: Int32, on handle: UnsafeMutableRawPointer
    ) throws(MessagingError) {
        try check(
            withUnsafeBytes(of: value) {
                zmq_setsockopt(handle, option, $0.baseAddress, $0.count)
            })
    }

    private static func check(_ result: Int32) throws(MessagingError) {
        guard result == 0 else { throw .last("set", "a socket's keys") }
    }
}
