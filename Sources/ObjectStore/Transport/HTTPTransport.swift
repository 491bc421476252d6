import Dispatch
import Media
import Synchronization
import Threads

/// Sends requests with libcurl: HTTP/1.1, persistent connections, TLS with verified certificates. An exchange runs on
/// its caller's thread.
///
/// Redirects are not followed, because a signature is for one host. Nothing is retried: the caller knows which requests
/// are idempotent.
final class HTTPTransport: StoreTransport {
    /// Maximum simultaneous connections to one store.
    private static let maximumConnections = 16

    private struct Idle: Sendable {
        var connection: HTTPConnection
        var sinceNanoseconds: Int64
    }

    private let authorities: String?
    private let setting: String?
    private let timeouts: TransportTimeouts
    private let shutdown: Shutdown
    /// Counts unused connections.
    private let free = Semaphore(value: maximumConnections)
    /// The most recently used one is last.
    private let idle = Mutex<[Idle]>([])

    /// - Parameters:
    ///   - authorities: a file of trusted certificates (PEM), instead of the system's; nil: the system's.
    ///   - setting: where that file is named, for errors; nil: nowhere.
    ///   - shutdown: ends every exchange.
    init(
        authorities: String? = nil, setting: String? = nil,
        timeouts: TransportTimeouts = TransportTimeouts(),
        shutdown: Shutdown = Shutdown()
    ) throws(TransportFailure) {
        if let authorities, !Self.hasCertificates(authorities) {
            throw TransportFailure(
                "\(setting.map { "\($0): " } ?? "")no certificates can be read from \(authorities)")
        }
        self.authorities = authorities
        self.setting = setting
        self.timeouts = timeouts
        self.shutdown = shutdown
    }

    func exchange(_ request: StoreRequest) throws(TransportFailure) -> StoreAnswer {
        let began = SystemClock.monotonic.nowNanoseconds
        try waitForFreeConnection(request)
        defer { free.signal() }
        var rest = request
        rest.deadlineNanoseconds -= SystemClock.monotonic.nowNanoseconds - began
        let connection: HTTPConnection
        if let idle = idleConnection() {
            connection = idle
        } else {
            connection = try HTTPConnection(
                authorities: authorities, setting: setting, timeouts: timeouts)
        }
        let answer = try connection.exchange(
            rest, timeouts: timeouts, shutdown: shutdown)
        idle.withLock {
            $0.append(
                Idle(
                    connection: connection,
                    sinceNanoseconds: SystemClock.monotonic.nowNanoseconds))
        }
        return answer
    }

    private func waitForFreeConnection(_ request: StoreRequest) throws(TransportFailure) {
        let free = free
        // A shutdown wakes each waiting thread; the count is not needed afterwards.
        let outcome = shutdown.withHandler({ free.signal() }) {
            free.wait(timeout: .now() + .nanoseconds(Int(request.deadlineNanoseconds)))
        }
        if shutdown.hasBegun { throw .cancelled }
        guard outcome == .success else {
            throw TransportFailure("no connection became free in time")
        }
    }

    /// The most recently used connection; those that were idle for too long are closed.
    private func idleConnection() -> HTTPConnection? {
        let oldest =
            SystemClock.monotonic.nowNanoseconds - Int64(HTTPConnection.idleSeconds)
            * 1_000_000_000
        // Closing takes time, so it is done outside the lock.
        let (last, dropped) = idle.withLock { idle in
            let dropped = idle.filter { $0.sinceNanoseconds < oldest }
            idle.removeAll { $0.sinceNanoseconds < oldest }
            return (idle.popLast()?.connection, dropped)
        }
        return withExtendedLifetime(dropped) { last }
    }

    /// Whether a file has at least one PEM certificate (RFC 7468 §5).
    private static func hasCertificates(_ path: String) -> Bool {
        guard let bytes = CredentialsSource.contents(path) else { return false }
        return bytes.split(separator: UInt8(ascii: "\n")).contains {
            $0.starts(with: "-----BEGIN CERTIFICATE-----".utf8)
        }
    }
}
