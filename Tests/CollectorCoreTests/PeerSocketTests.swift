import Glibc
import Testing

@testable import CollectorCore

/// Connections that had the same descriptor one after the other.
struct PeerSocketTests {
    private struct NoSocket: Error {}

    /// Two connected sockets, as of `ipc://`.
    private func pair() throws -> [Int32] {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
            throw NoSocket()
        }
        return ends
    }

    /// Whether a byte arrives at the other end.
    private func isConnected(_ end: Int32, _ other: Int32) -> Bool {
        var byte: UInt8 = 1
        guard send(other, &byte, 1, Int32(MSG_NOSIGNAL)) == 1 else { return false }
        return recv(end, &byte, 1, 0) == 1
    }

    @Test func `closing a connection does not affect the next one with its descriptor`() throws {
        let (first, second) = (try pair(), try pair())
        defer { for descriptor in first + second { close(descriptor) } }
        let earlier = try #require(PeerSocket(descriptor: first[0]))
        // The connection ends, and the next one gets its number.
        #expect(dup2(second[0], first[0]) == first[0])
        earlier.shutDown()
        earlier.abort()
        #expect(isConnected(second[0], second[1]))
        try #require(PeerSocket(descriptor: first[0])).shutDown()
        #expect(!isConnected(second[0], second[1]))
    }
}
