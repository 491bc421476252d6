import Dispatch
import Foundation
import Glibc
import Synchronization

/// A TCP proxy on loopback that delays each piece of data at random, in each direction independently, keeping its
/// order.
///
/// Two blocking threads per direction, a reader and a writer, which end with their connection.
final class DelayProxy: Sendable {
    /// Its port on loopback.
    let port: UInt16
    private let listener: Int32

    /// Forwards to `port` of this machine.
    init(to target: UInt16, atMost delay: Duration, seed: UInt64) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        port = try Self.bindToLoopback(listener)
        guard listen(listener, 16) == 0 else { throw Self.failure("listen") }
        let listener = listener
        Thread.detachNewThread {
            var seed = seed
            while case let client = accept(listener, nil, nil), client >= 0 {
                let server = Self.connected(to: target)
                guard server >= 0 else {
                    close(client)
                    continue
                }
                // No Nagle algorithm (RFC 1122 §4.2.3.4), as on the network it simulates.
                Self.sendAtOnce(client)
                Self.sendAtOnce(server)
                // The last of the two directions to end closes both.
                let ends = Ends(client, server)
                for (source, sink) in [(client, server), (server, client)] {
                    seed += 1
                    Direction(from: source, to: sink, atMost: delay, seed: seed, ends).run()
                }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// A free port of loopback.
    static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return try bindToLoopback(descriptor)
    }

    private static func bindToLoopback(_ descriptor: Int32) throws -> UInt16 {
        var address = loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard bound else { throw failure("bind") }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func sendAtOnce(_ descriptor: Int32) {
        var yes: Int32 = 1
        _ = setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func connected(to port: UInt16) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = loopback(port)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
        }
        if result == 0 { return descriptor }
        close(descriptor)
        return -1
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func failure(_ what: String) -> StageFailure {
        StageFailure(description: "the proxy cannot \(what): \(String(cString: strerror(errno)))")
    }
}

/// Both sockets of a connection.
private final class Ends: Sendable {
    private let descriptors: [Int32]

    init(_ descriptors: Int32...) {
        self.descriptors = descriptors
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }
}

/// One direction of a connection.
private final class Direction: Sendable {
    private struct Piece: Sendable {
        var due: ContinuousClock.Instant
        /// Empty: end of stream.
        var bytes: [UInt8]
    }

    private let source: Int32
    private let sink: Int32
    private let delayNanoseconds: Int64
    private let ends: Ends
    private let queue = Mutex<[Piece]>([])
    private let arrived = DispatchSemaphore(value: 0)
    private let random: Mutex<SplitMix>

    init(from source: Int32, to sink: Int32, atMost delay: Duration, seed: UInt64, _ ends: Ends) {
        self.source = source
        self.sink = sink
        let parts = delay.components
        delayNanoseconds = parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000
        self.ends = ends
        random = Mutex(SplitMix(state: seed))
    }

    /// Starts both threads, which retain this object and the sockets.
    func run() {
        Thread.detachNewThread { self.read() }
        Thread.detachNewThread { self.write() }
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            let wait = random.withLock { Int64.random(in: 0...delayNanoseconds, using: &$0) }
            queue.withLock {
                $0.append(
                    Piece(
                        due: .now + .nanoseconds(wait), bytes: Array(buffer.prefix(max(0, count)))))
            }
            arrived.signal()
            if count <= 0 { return }
        }
    }

    private func write() {
        while true {
            arrived.wait()
            let piece = queue.withLock { $0.removeFirst() }
            let rest = piece.due - .now
            if rest > .zero { usleep(UInt32(rest / .microseconds(1))) }
            guard !piece.bytes.isEmpty else {
                shutdown(sink, Int32(SHUT_RDWR))
                return
            }
            var sent = 0
            while sent < piece.bytes.count {
                let count = piece.bytes[sent...].withUnsafeBytes {
                    send(sink, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                // The other direction's reader sees the end and reports it.
                guard count > 0 else { return }
                sent += count
            }
        }
    }
}

/// Random numbers from a seed (Steele, Lea and Flood: SplitMix64).
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
