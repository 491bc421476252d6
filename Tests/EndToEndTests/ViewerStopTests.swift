import Foundation
import Synchronization
import Testing

extension EndToEnd {
    @Suite(.serialized) struct ViewerStopTests {
        /// Connects until it is cancelled; each connection sends a request and closes.
        private final class Callers: Sendable {
            private let isOver = Mutex(false)
            private let ended = DispatchGroup()

            init(_ count: Int, port: UInt16) {
                for _ in 0..<count {
                    ended.enter()
                    Thread.detachNewThread { [self] in
                        while !isOver.withLock({ $0 }) { Self.call(port) }
                        ended.leave()
                    }
                }
            }

            func end() {
                isOver.withLock { $0 = true }
                ended.wait()
            }

            private static func call(_ port: UInt16) {
                let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                defer { close(descriptor) }
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = port.bigEndian
                address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
                let result = withUnsafePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
                guard result == 0 else {
                    usleep(1_000)
                    return
                }
                let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
                _ = send(descriptor, request, request.utf8.count, Int32(MSG_NOSIGNAL))
                var bytes = [UInt8](repeating: 0, count: 16)
                _ = recv(descriptor, &bytes, bytes.count, 0)
            }
        }

        @Test func `a viewer that is stopped while connections arrive ends with status 0`()
            async throws
        {
            try await Stage.with { stage in
                for round in 0..<4 {
                    let served = try await ServedArchive(on: stage)
                    let port = try #require(UInt16(served.address.split(separator: ":").last ?? ""))
                    let callers = Callers(12, port: port)
                    defer { callers.end() }
                    try await Task.sleep(for: .milliseconds(500))
                    served.viewer.signal(SIGTERM)
                    let outcome = try await served.viewer.outcome()
                    #expect(outcome.status == 0, "round \(round): \(outcome.complaints)")
                }
            }
        }
    }
}
