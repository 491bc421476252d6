import Foundation
import Testing

@testable import Terminal

@Suite struct ServiceManagerTests {
    /// A socket that receives services' notifications.
    private struct Listener: ~Copyable {
        let path = NSTemporaryDirectory() + "n\(UInt32.random(in: 0...UInt32.max))"
        let descriptor: Int32

        init() {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let status = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            precondition(status == 0, "\(path): \(errno)")
        }

        func heard() -> [String] {
            var found: [String] = []
            var bytes = [UInt8](repeating: 0, count: 4096)
            while case let count = recv(
                descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT)),
                count >= 0
            {
                found.append(String(decoding: bytes[..<count], as: UTF8.self))
            }
            return found
        }

        deinit {
            close(descriptor)
            unlink(path)
        }
    }

    @Test func `systemd gets the service's notifications`() {
        let listener = Listener()
        let manager = ServiceManager {
            ["NOTIFY_SOCKET": listener.path, "WATCHDOG_USEC": "3000000"][$0]
        }
        #expect(manager.watchdog == .seconds(3))
        manager.ready()
        manager.status("recording\nREADY=0")
        manager.alive()
        #expect(listener.heard() == ["READY=1", "STATUS=recording\\u{a}READY=0", "WATCHDOG=1"])
        manager.reloading()
        #expect(listener.heard().first?.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") == true)
    }

    @Test func `no watchdog notification is sent for another process`() {
        let listener = Listener()
        let manager = ServiceManager {
            ["NOTIFY_SOCKET": listener.path, "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"][$0]
        }
        manager.alive()
        #expect(manager.watchdog == nil && listener.heard().isEmpty)
    }

    @Test(arguments: [
        nil, "", "relative", "/nobody/there", "@nobody", String(repeating: "/x", count: 80),
    ])
    func `without systemd no notification is sent`(path: String?) {
        let manager = ServiceManager { $0 == "NOTIFY_SOCKET" ? path : nil }
        manager.ready()
        manager.status("x")
    }
}
