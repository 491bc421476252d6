import Glibc

/// Notifications to systemd, if it has started the service (sd_notify(3), "Well-known assignments").
///
/// The protocol is one datagram of lines to the socket named by `NOTIFY_SOCKET`; libsystemd is not needed for that.
/// Without the variable, nothing is sent.
package struct ServiceManager: Sendable {
    /// Maximum bytes of a status line: an error, and a command with a key.
    private static let statusBytes = 320

    private let socketPath: String?
    /// systemd's watchdog timeout; nil: disabled.
    package let watchdog: Duration?

    /// The service manager of this process. Its variables are removed from the environment, so that child processes do not
    /// inherit them.
    package static func current() -> ServiceManager { ofThisProcess }

    private static let ofThisProcess: ServiceManager = {
        let manager = ServiceManager { name in getenv(name).map { String(cString: $0) } }
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] { unsetenv(name) }
        return manager
    }()

    /// - Parameter variable: looks up an environment variable.
    init(_ variable: (String) -> String?) {
        let path = variable("NOTIFY_SOCKET")
        socketPath = path.flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        let isMeant = variable("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
        let microseconds = variable("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
        watchdog = isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Whether there is a service manager.
    package var isThere: Bool { socketPath != nil }

    /// The service is ready.
    package func ready() { send("READY=1") }

    /// The service is stopping, as requested.
    package func stopping() { send("STOPPING=1") }

    /// The service reloads its configuration; ``ready()`` follows.
    package func reloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        send("RELOADING=1\nMONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1_000)")
    }

    /// The service's state, in one line.
    package func status(_ line: String) {
        send(
            "STATUS=" + String(decoding: oneLine(line).utf8.prefix(Self.statusBytes), as: UTF8.self)
        )
    }

    /// Resets the watchdog. Call it on the working thread, at least twice per ``watchdog``.
    package func alive() {
        if watchdog != nil { send("WATCHDOG=1") }
    }

    /// Sends an assignment. A failure has no remedy.
    private func send(_ text: String) {
        guard let socketPath else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array(socketPath.utf8)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard path.count < room else { return }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        // A socket without a file: its name begins with a zero (unix(7), "abstract").
        if socketPath.hasPrefix("@") { address.sun_path.0 = 0 }
        let length = MemoryLayout<sockaddr_un>.size - room + path.count
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        _ = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                Array(text.utf8).withUnsafeBytes {
                    sendto(
                        descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL), address,
                        socklen_t(length))
                }
            }
        }
    }
}
