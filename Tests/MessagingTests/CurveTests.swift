import Glibc
import Messaging
import Testing

/// A router that requires keys, and its authenticator.
private struct Server: ~Copyable {
    let context: Context
    let authenticator: Authenticator
    let router: Socket
    let key: SecretKey

    init() throws {
        let context = try Context()
        let key = try SecretKey.generate()
        let authenticator = try Authenticator(in: context)
        var options = SocketOptions()
        options.security = .server(key)
        let router = try Socket(.router, in: context, options: options)
        try router.bind("tcp://127.0.0.1:*")
        self.context = context
        self.key = key
        self.authenticator = authenticator
        self.router = router
    }

    /// The next message, answering authentication requests meanwhile; nil after `milliseconds`.
    func next(
        milliseconds: Int = 10_000, _ decide: (AuthenticationRequest) -> AuthenticationAnswer
    ) throws -> ReceivedMessage? {
        var poller = Poller()
        let token = poller.add(router)
        _ = poller.add(authenticator)
        for _ in 0..<milliseconds / 10 {
            _ = try poller.wait(milliseconds: 10)
            while try authenticator.answerNext(decide) {}
            if poller.isReadable(token) { return try router.receive(maximumParts: 3) }
        }
        return nil
    }
}

/// A dealer with its own context, key and monitor.
private struct Client: ~Copyable {
    let dealer: Socket
    let monitor: ConnectionMonitor

    init(to endpoint: String, _ security: SocketSecurity) throws {
        let context = try Context()
        var options = SocketOptions()
        options.security = security
        options.lingerMilliseconds = 1_000
        let dealer = try Socket(.dealer, in: context, options: options)
        let monitor = try ConnectionMonitor(of: dealer, in: context)
        try dealer.connect(endpoint)
        self.monitor = monitor
        self.dealer = dealer
    }

    /// The first failure of a handshake; nil when there is none for ten seconds.
    func failure(meanwhile: () throws -> Void = {}) throws -> HandshakeFailure? {
        var poller = Poller()
        _ = poller.add(monitor)
        for _ in 0..<1_000 {
            _ = try poller.wait(milliseconds: 10)
            try meanwhile()
            while let event = try monitor.nextEvent() {
                if case .handshakeFailed(_, let failure) = event { return failure }
            }
        }
        return nil
    }
}

struct `A connection with keys` {
    @Test func `is admitted by its key, and every message has its mark`() throws {
        let server = try Server()
        let secret = try SecretKey.generate()
        let client = try Client(
            to: try server.router.lastEndpoint(), .client(secret, server: server.key.publicKey))
        _ = try client.dealer.send(.bytes([1]), .bytes([UInt8](repeating: 7, count: 100_000)))
        var asked: [AuthenticationRequest] = []
        let first = try server.next {
            asked.append($0)
            return .admitted(userID: "stage")
        }
        #expect(asked == [AuthenticationRequest(address: "127.0.0.1", key: secret.publicKey)])
        let parts = try #require(first?.parts)
        #expect(parts[1].metadata("User-Id") == "stage")
        #expect(parts[2].bytes == [UInt8](repeating: 7, count: 100_000))
        let mark = try #require(parts[1].connection)
        #expect(parts.dropFirst().allSatisfy { $0.connection == mark })
        _ = try client.dealer.send(.bytes([2]))
        let second = try server.next { _ in .refused }
        #expect(second?.parts.last?.connection == mark)
    }

    @Test func `whose key is not admitted gets a refusal`() throws {
        let server = try Server()
        let client = try Client(
            to: try server.router.lastEndpoint(),
            .client(try .generate(), server: server.key.publicKey))
        _ = try client.dealer.send(.bytes([1]))
        var messages = 0
        let failure = try client.failure {
            if try server.next(milliseconds: 10, { _ in .refused }) != nil { messages += 1 }
        }
        #expect(messages == 0)
        #expect(failure == .refused(status: 400))
    }

    @Test func `that expects another collector's key fails`() throws {
        let server = try Server()
        let client = try Client(
            to: try server.router.lastEndpoint(),
            .client(try .generate(), server: try SecretKey.generate().publicKey))
        _ = try client.dealer.send(.bytes([1]))
        var questions = 0
        let failure = try client.failure {
            _ = try server.next(milliseconds: 10) { _ in
                questions += 1
                return .admitted(userID: "")
            }
        }
        guard case .brokenOff = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(questions == 0)
    }

    @Test func `without keys fails with the reason`() throws {
        let server = try Server()
        let client = try Client(to: try server.router.lastEndpoint(), .plain)
        // Either end may close the connection first.
        switch try client.failure() {
        case .securityMismatch, .brokenOff: break
        case let other: Issue.record("\(String(describing: other))")
        }
    }

    @Test func `fails when the authenticator has stopped`() throws {
        let context = try Context()
        let key = try SecretKey.generate()
        let authenticator = try Authenticator(in: context)
        var options = SocketOptions()
        options.security = .server(key)
        // libzmq closes sockets asynchronously. A handshake that requests authentication before that waits until its
        // timeout.
        options.handshakeMilliseconds = 500
        let router = try Socket(.router, in: context, options: options)
        try router.bind("tcp://127.0.0.1:*")
        _ = consume authenticator
        let client = try Client(
            to: try router.lastEndpoint(), .client(try .generate(), server: key.publicKey))
        _ = try client.dealer.send(.bytes([1]))
        var messages = 0
        let failure = try client.failure {
            if try router.receive(maximumParts: 2) != nil { messages += 1 }
        }
        #expect(messages == 0)
        guard case .brokenOff = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }

    @Test func `counts the bytes of a message with their overhead`() throws {
        let server = try Server()
        let client = try Client(
            to: try server.router.lastEndpoint(),
            .client(try .generate(), server: server.key.publicKey))
        // ZMTP 3.1 §4.1, and 33 bytes of CURVE's for each part: the first of these has a short size, the others a long one.
        _ = try client.dealer.send(
            .bytes([UInt8](repeating: 0, count: 222)), .bytes([UInt8](repeating: 0, count: 223)),
            .bytes([UInt8](repeating: 0, count: 5_000)))
        let message = try server.next { _ in .admitted(userID: "") }
        #expect(message?.wireBytes == 222 + 33 + 2 + 223 + 33 + 9 + 5_000 + 33 + 9)
    }

    @Test func `fails with the reason if the other end has no keys`() throws {
        let router = try Socket(.router, in: Context())
        try router.bind("tcp://127.0.0.1:*")
        let client = try Client(
            to: try router.lastEndpoint(),
            .client(try .generate(), server: try SecretKey.generate().publicKey))
        switch try client.failure() {
        case .securityMismatch, .brokenOff: break
        case let other: Issue.record("\(String(describing: other))")
        }
    }

    @Test func `ends when its descriptor is shut down`() throws {
        let server = try Server()
        let client = try Client(
            to: try server.router.lastEndpoint(),
            .client(try .generate(), server: server.key.publicKey))
        _ = try client.dealer.send(.bytes([1]))
        let message = try server.next { _ in .admitted(userID: "") }
        let descriptor = try #require(message?.parts.last?.descriptor)
        #expect(shutdown(descriptor, Int32(SHUT_RDWR)) == 0)
        var isGone = false
        var poller = Poller()
        _ = poller.add(client.monitor)
        for _ in 0..<1_000 where !isGone {
            _ = try poller.wait(milliseconds: 10)
            while let event = try client.monitor.nextEvent() {
                if case .disconnected = event { isGone = true }
            }
        }
        #expect(isGone)
    }
}

struct `A connection's mark` {
    @Test func `differs for each connection of an address while earlier ones are kept`() throws {
        let context = try Context()
        let router = try Socket(.router, in: context)
        try router.bind("tcp://127.0.0.1:*")
        let endpoint = try router.lastEndpoint()
        var marks: Set<UnsafeRawPointer?> = []
        var kept: [ReceivedPart] = []
        for _ in 0..<20 {
            let dealer = try Socket(.dealer, in: context)
            try dealer.connect(endpoint)
            _ = try dealer.send(.bytes([1]))
            var poller = Poller()
            _ = poller.add(router)
            while try !poller.wait(milliseconds: 100) {}
            let message = try #require(try router.receive(maximumParts: 2))
            marks.insert(message.parts[1].connection)
            kept.append(message.parts[1])
        }
        #expect(marks.count == 20)
        #expect(!marks.contains(nil))
    }
}

struct `A secret key` {
    @Test func `is random, and determines its public key`() throws {
        let one = try SecretKey.generate()
        let other = try SecretKey.generate()
        #expect(one.publicKey != other.publicKey)
        let again = try SecretKey(one.withUnsafeBytes { Array($0) })
        #expect(again.publicKey == one.publicKey)
    }

    @Test func `is not printed`() throws {
        let key = try SecretKey.generate()
        var text = ""
        dump(key, to: &text)
        #expect("\(key)" == "a secret key")
        #expect(String(reflecting: key) == "a secret key")
        #expect(!text.contains("memory"))
    }

    @Test func `is overwritten on demand`() {
        var bytes: [UInt8] = [1, 2, 3]
        wipe(&bytes)
        #expect(bytes == [0, 0, 0])
    }
}
