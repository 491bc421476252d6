import Glibc
import Media
package import ONVIF
package import RTSP
import Synchronization
import Threads

/// Asks network cameras about themselves over HTTP, and over HTTPS.
package enum DeviceExamination {
    /// Timeout of one request, connection and response included.
    private static let answerNanoseconds: Int64 = 5_000_000_000
    /// Time for one camera.
    private static let cameraNanoseconds: Int64 = 30_000_000_000
    /// Cameras that are asked at a time.
    private static let mostThreads = 16
    private static let bufferBytes = 65_536

    /// Asks several cameras side by side. Blocks; a camera costs 30 s at most.
    /// - Parameter trust: for `https://`.
    /// - Returns: the answers, in order.
    package static func run(
        _ services: [DeviceURL], login: CameraLogin?, trust: CameraTrust = CameraTrust(),
        agent: String
    ) -> [DeviceFacts] {
        let work = Work(count: services.count)
        let threads = (0..<min(mostThreads, services.count)).map { _ in
            let thread = JoinableThread()
            thread.start("ask camera") {
                while let place = work.take() {
                    let session = DeviceSession(
                        service: services[place], login: login, agent: agent)
                    work.give(examine(session, trust), at: place)
                }
            }
            return thread
        }
        for thread in threads { thread.join() }
        return work.results
    }

    private final class Work: Sendable {
        private struct State {
            var next = 0
            var results: [DeviceFacts]
        }

        private let count: Int
        private let state: Mutex<State>

        init(count: Int) {
            self.count = count
            state = Mutex(State(results: Array(repeating: DeviceFacts(), count: count)))
        }

        func take() -> Int? {
            state.withLock { state in
                guard state.next < count else { return nil }
                state.next += 1
                return state.next - 1
            }
        }

        func give(_ facts: DeviceFacts, at place: Int) {
            state.withLock { $0.results[place] = facts }
        }

        var results: [DeviceFacts] { state.withLock { $0.results } }
    }

    private static func examine(_ session: DeviceSession, _ trust: CameraTrust) -> DeviceFacts {
        var session = session
        let end = SystemClock.monotonic.nowNanoseconds + cameraNanoseconds
        while let request = session.next(utcNanoseconds: utc, nonce: nonce()) {
            let sent = utc
            do throws(NetworkFailure) {
                let response = try exchange(request, trust, end)
                session.answered(
                    response, sentUTCNanoseconds: sent, receivedUTCNanoseconds: utc,
                    nonce: nonce())
            } catch {
                session.failed(error.reason)
            }
        }
        return session.facts
    }

    private static var utc: Int64 { SystemClock.utc.nowNanoseconds }

    private static func nonce() -> [UInt8] {
        (0..<DeviceSession.nonceBytes).map { _ in UInt8.random(in: .min ... .max) }
    }

    /// Sends a request on a new connection, and waits for the response.
    private static func exchange(
        _ request: DeviceRequest, _ trust: CameraTrust, _ end: Int64
    ) throws(NetworkFailure) -> HTTPResponse {
        let limit = min(end, SystemClock.monotonic.nowNanoseconds + answerNanoseconds)
        func isInTime() -> Bool { SystemClock.monotonic.nowNanoseconds < limit }
        let late = NetworkFailure(
            "it does not answer within \(answerNanoseconds / 1_000_000_000) s")
        guard
            let addresses = try NetworkAddress.find(
                request.url.host, port: request.url.port, while: isInTime),
            let connection = try NetworkSocket.connected(
                to: addresses, withinNanoseconds: answerNanoseconds, while: isInTime)
        else { throw late }
        let socket = connection.socket
        let tls =
            request.url.isSecure ? try TLSConnection(host: request.url.host, trust: trust) : nil
        try tls?.send(request.bytes)
        var unsent = (tls?.takeOutgoing() ?? request.bytes)[...]
        var reader = HTTPResponseReader()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferBytes, alignment: 16)
        defer { buffer.deallocate() }
        while isInTime() {
            let wanted = unsent.isEmpty ? POLLIN : POLLIN | POLLOUT
            var wait = pollfd(fd: socket.descriptor, events: Int16(wanted), revents: 0)
            guard poll(&wait, 1, 100) > 0 else { continue }
            if !unsent.isEmpty {
                switch socket.send(unsent) {
                case .success(let count): unsent = unsent.dropFirst(count)
                // The device may have answered before it read all of the request.
                case .failure: unsent = []
                }
            }
            var received: [UInt8] = []
            var isClosed = false
            switch socket.receive(into: buffer) {
            case .nothing: continue
            case .failed(let number):
                throw NetworkFailure("the connection failed", errno: number)
            case .closed: isClosed = true
            case .received(let own): received = own.bytes
            }
            if let tls {
                received = try tls.received(received)
                unsent += tls.takeOutgoing()
                guard tls.isEstablished || !isClosed else {
                    throw NetworkFailure("it has ended the TLS handshake")
                }
                isClosed = isClosed || tls.isClosed
            }
            do throws(ONVIFError) {
                if !received.isEmpty, let response = try reader.add(received) {
                    return response
                }
                if isClosed { return try reader.close() }
            } catch {
                throw NetworkFailure("\(error)")
            }
        }
        throw late
    }
}
