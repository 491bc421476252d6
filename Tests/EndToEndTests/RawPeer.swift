import Glibc

/// A bare TCP connection.
final class RawPeer {
    /// ZMTP 3.1 §3.2: signature, version, mechanism NULL, client.
    static let greeting: [UInt8] =
        [0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 1] + Array("NULL".utf8)
        + [UInt8](repeating: 0, count: 48)
    /// ZMTP 3.1 §4.2: the READY command of a DEALER, with or without an identity.
    static func ready(identity: String, others: [(String, String)] = []) -> [UInt8] {
        func property(_ name: String, _ value: String) -> [UInt8] {
            [UInt8(name.utf8.count)] + Array(name.utf8) + [0, 0, 0, UInt8(value.utf8.count)]
                + Array(value.utf8)
        }
        let body =
            [5] + Array("READY".utf8) + property("Socket-Type", "DEALER")
            + property("Identity", identity) + others.flatMap { property($0.0, $0.1) }
        return [4, UInt8(body.count)] + body
    }

    /// A part of a message, by default the last (ZMTP 3.1 §4.1).
    static func part(_ bytes: [UInt8], hasMore: Bool = false) -> [UInt8] {
        let size = (0..<8).reversed().map { UInt8(bytes.count >> ($0 * 8) & 255) }
        return [hasMore ? 3 : 2] + size + bytes
    }

    private let descriptor: Int32

    /// - Parameter endpoint: `tcp://127.0.0.1:PORT`.
    init(to endpoint: String) throws {
        let port = endpoint.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard descriptor >= 0, result == 0 else {
            throw StageFailure(description: "cannot connect to \(endpoint): errno \(errno)")
        }
        // Each call's bytes go in a TCP segment of their own.
        var yes: Int32 = 1
        setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        // Limits the wait for a peer that does not read.
        var patience = timeval(tv_sec: 5, tv_usec: 0)
        for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
            setsockopt(
                descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    deinit {
        close(descriptor)
    }

    /// Sends bytes; returns how many were written before the other end closed.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Int {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { break }
            sent += count
        }
        return sent
    }

    /// Greets as a DEALER and waits for the other end's greeting, before which libzmq accepts no message.
    /// - Parameter others: properties that no DEALER of libzmq sends.
    func greet(identity: String = "", others: [(String, String)] = []) async throws {
        send(Self.greeting + Self.ready(identity: identity, others: others))
        var answer: [UInt8] = []
        try await eventually("the collector greets") {
            answer += received()
            return String(decoding: answer, as: UTF8.self).contains("READY")
        }
    }

    /// Bytes received since the last call.
    func received() -> [UInt8] {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = recv(descriptor, &block, block.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return bytes }
            bytes += block[..<count]
        }
    }

    /// Whether the other end has closed, after its remaining data.
    func isEnded() -> Bool {
        var block = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = recv(descriptor, &block, block.count, Int32(MSG_DONTWAIT))
            if count > 0 { continue }
            return count == 0 || errno != EAGAIN
        }
    }
}
