import CZeroMQ

/// libzmq's request before it admits a connection (ZAP, RFC 27 of ZeroMQ).
package struct AuthenticationRequest: Hashable, Sendable {
    /// The peer's address without its port; empty for `ipc://`.
    package var address: String
    /// The key that the peer has proved to hold; nil if it did not use CURVE.
    package var key: PublicKey?

    package init(address: String, key: PublicKey?) {
        self.address = address
        self.key = key
    }
}

/// The answer to a request.
package enum AuthenticationAnswer: Hashable, Sendable {
    /// Admit the connection; the text accompanies every message of the connection as "User-Id".
    case admitted(userID: String)
    /// Refuse the handshake; the peer only receives status 400.
    case refused
}

/// Answers libzmq's ZAP requests for every ``SocketSecurity/server(_:)`` socket of one context.
///
/// Belongs to the thread that created it. Sockets use it only if it exists when they are bound, and a handshake waits until it
/// has answered.
package struct Authenticator: ~Copyable {
    private static let endpoint = "inproc://zeromq.zap.01"
    private static let version = Array("1.0".utf8)
    /// Version, request ID, domain, address, routing identity, mechanism, credentials.
    private static let requestParts = 7

    private let socket: Socket

    /// For the poller.
    var handle: UnsafeMutableRawPointer { socket.handle }

    package init(in context: Context) throws(MessagingError) {
        let socket = try Socket(.reply, in: context)
        try socket.bind(Self.endpoint)
        self.socket = socket
    }

    /// Answers the next request; false when none is pending. Never blocks.
    package func answerNext(
        _ decide: (AuthenticationRequest) -> AuthenticationAnswer
    ) throws(MessagingError) -> Bool {
        guard let message = try socket.receive(maximumParts: Self.requestParts) else {
            return false
        }
        let parts = message.parts.map(\.bytes)
        // Only this process can send requests here; a malformed one is refused nevertheless.
        let isWellFormed =
            parts.count == Self.requestParts && message.droppedParts == 0
            && parts[0] == Self.version
        let requestID = parts.count > 1 ? parts[1] : []
        var answer = AuthenticationAnswer.refused
        if isWellFormed {
            let isCurve = parts[5] == Array("CURVE".utf8)
            let request = AuthenticationRequest(
                address: withoutMapping(String(decoding: parts[3], as: UTF8.self)),
                key: isCurve ? PublicKey(parts[6]) : nil)
            answer = decide(request)
        }
        let (status, text, userID) =
            switch answer {
            case .admitted(let userID): ("200", "OK", userID)
            case .refused: ("400", "refused", "")
            }
        _ = try socket.send(
            .bytes(Self.version), .bytes(requestID), .bytes(Array(status.utf8)),
            .bytes(Array(text.utf8)), .bytes(Array(userID.utf8)), .bytes([]))
        return true
    }
}
