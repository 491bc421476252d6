import Glibc
import Messaging
import Testing

@testable import ForwardCore

@Suite struct FeedAccessTests {
    private static let remote = "tcp://192.0.2.1:5560"
    private static let local = "ipc:///srv/recordings/collector.feed"
    private static let second: Int64 = 1_000_000_000

    private static func access(
        _ endpoint: String, _ security: SocketSecurity = .plain, openingError: Int32 = 0
    ) -> FeedAccess {
        FeedAccess(
            source: "stage", endpoint: endpoint, security: security, now: 0,
            openingError: { path in
                #expect(path == "/srv/recordings/collector.feed")
                return openingError
            })
    }

    private static func status(_ names: [String], omitted: Int = 0) -> [UInt8] {
        let sources = names.map { "{\"name\": \"\($0)\", \"isConnected\": true}" }
        return Array(
            """
            {"version": "1", "sources": [\(sources.joined(separator: ", "))], "omittedSources": \(omitted)}
            """.utf8)
    }

    @Test func `a collector that does not answer is stated after three seconds`() {
        let access = Self.access(Self.remote)
        #expect(access.trouble(now: 2 * Self.second) == nil)
        let line = access.trouble(now: 3 * Self.second)
        #expect(line?.contains("no connection to the collector at \(Self.remote)") == true)
    }

    @Test(arguments: [
        (remote, Int32(0), "no collector listens at \(remote)"),
        (local, ENOENT, "/srv/recordings/collector.feed does not exist"),
        (local, 0, "no collector listens at /srv/recordings/collector.feed"),
    ])
    func `a missing collector is stated at once, and waited for`(
        endpoint: String, openingError: Int32, expected: String
    ) throws {
        var access = Self.access(endpoint, openingError: openingError)
        try access.received(.retrying(endpoint: endpoint, milliseconds: 100), now: 1)
        #expect(access.trouble(now: 1)?.contains(expected) == true)
        #expect(!access.wantsStatus(now: 10 * Self.second))
        try access.received(.ready(endpoint: endpoint), now: 2)
        #expect(access.trouble(now: 2) == nil)
        try access.received(.disconnected(endpoint: endpoint, descriptor: 3), now: 3)
        #expect(access.trouble(now: 3)?.contains("has closed the connection") == true)
    }

    @Test func `a socket that this user may not open is a refusal`() {
        var access = Self.access(Self.local, openingError: EACCES)
        let error = #expect(throws: ForwardError.self) {
            try access.received(.retrying(endpoint: Self.local, milliseconds: 100), now: 1)
        }
        guard case .refused(let line)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(line.contains("may not open /srv/recordings/collector.feed"))
    }

    @Test(arguments: [
        (HandshakeFailure.refused(status: 400), " --watch'"), (.securityMismatch, "uses no keys"),
        (.wrongKey, "its key is not the one given"),
    ])
    func `a key without the right to watch ends forwarding, and the message names the right`(
        failure: HandshakeFailure, expected: String
    ) throws {
        let key = try SecretKey.generate()
        var access = Self.access(
            Self.remote, .client(key, server: try SecretKey.generate().publicKey))
        let error = #expect(throws: ForwardError.self) {
            try access.received(.handshakeFailed(endpoint: Self.remote, failure), now: 1)
        }
        guard case .refused(let line)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(line.contains(expected))
    }

    @Test func `a connection that ends during its handshake is tried again`() throws {
        var access = Self.access(Self.remote)
        try access.received(
            .handshakeFailed(endpoint: Self.remote, .brokenOff(errno: EPIPE)), now: 1)
        #expect(access.trouble(now: 1)?.contains("--collector-key") == true)
    }

    @Test func `an unknown source is stated with those that the collector has`() throws {
        var access = Self.access(Self.remote)
        try access.received(.ready(endpoint: Self.remote), now: 0)
        #expect(!access.wantsStatus(now: 0))
        #expect(access.wantsStatus(now: Self.second))
        try access.received(status: Self.status(["mic", "door"]))
        #expect(access.trouble(now: 2 * Self.second) == nil)
        #expect(
            access.trouble(now: 3 * Self.second)
                == "the collector has no source 'stage': start its agent, or use one of door, mic")
        try access.received(status: Self.status([]))
        #expect(access.trouble(now: 3 * Self.second)?.contains("and no other one") == true)
        try access.received(status: Self.status((1...10).map { "c\($0)" }))
        #expect(access.trouble(now: 3 * Self.second)?.contains("and 2 more") == true)
        try access.received(status: Self.status(["stage"]))
        #expect(
            access.trouble(now: 3 * Self.second)
                == "no samples of 'stage' arrive: check its agent")
        // A status with some of the sources does not say that one is missing.
        try access.received(status: Self.status(["door"], omitted: 1))
        #expect(access.trouble(now: 5 * Self.second) == nil)
        #expect(access.trouble(now: 6 * Self.second)?.contains("check its name") == true)
        access.receivedSample(now: 7 * Self.second)
        #expect(access.trouble(now: 9 * Self.second) == nil)
        #expect(access.trouble(now: 13 * Self.second) != nil)
    }

    @Test func `an invalid status changes nothing`() throws {
        var access = Self.access(Self.remote)
        #expect(throws: (any Error).self) { try access.received(status: Array("[]".utf8)) }
        #expect(access.trouble(now: 1) == nil)
    }
}
