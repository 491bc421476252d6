import Foundation

/// The socket for systemd's service notifications (sd_notify(3)).
final class ServiceListener: Sendable {
    let path: String
    private let descriptor: Int32

    init(on stage: Stage) throws {
        path = stage.directory.appending(path: "notify").path
        descriptor = socket(
            AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { throw StageFailure(description: "\(path): \(errno)") }
    }

    deinit { close(descriptor) }

    /// Starts a program as a service with a watchdog timeout of ten seconds.
    func start(_ program: Executable, _ arguments: [String], on stage: Stage) throws -> Running {
        try stage.start(
            at: URL(filePath: "/usr/bin/env"),
            ["NOTIFY_SOCKET=\(path)", "WATCHDOG_USEC=10000000", program.url.path] + arguments)
    }

    /// Waits for a notification with this beginning that contains `text`, skipping others.
    @discardableResult
    func hears(_ beginning: String, _ text: String = "") async throws -> String {
        var found = ""
        var others: [String] = []
        do {
            try await eventually("\"\(beginning)…\(text)\" is heard") {
                while let line = next() {
                    if line.hasPrefix(beginning), text.isEmpty || line.contains(text) {
                        found = line
                        return true
                    }
                    others.append(line)
                }
                return false
            }
        } catch {
            throw StageFailure(description: "\(error); heard were \(others)")
        }
        return found
    }

    private func next() -> String? {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }
}
