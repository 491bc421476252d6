import Glibc

/// What a service tells systemd, where it was started by it (sd_notify(3), "Well-known assignments").
///
/// The protocol is one datagram of lines to the socket that `NOTIFY_SOCKET` names; libsystemd is not needed for that.
/// Everywhere else nothing happens.
package struct ServiceManager: Sendable {
    /// Bytes of a status line: what is wrong, and a command with a key in it.
    private static let statusBytes = 320

    private let socketPath: String?
    /// How long systemd waits for a sign of life before it starts the service anew; nil: it does not watch.
    package let watchdog: Duration?

    /// Of this process. The variables are taken out of the environment: they are not for programs started by this one.
    package static func current() -> ServiceManager { ofThisProcess }

    private static let ofThisProcess: ServiceManager = {
        let manager = ServiceManager { name in getenv(name).map { String(cString: $0) } }
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] { unsetenv(name) }
        return manager
    }()

    /// - Parameter variable: the environment.
    init(_ variable: (String) -> String?) {
        let path = variable("NOTIFY_SOCKET")
        socketPath = path.flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        let isMeant = variable("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
        let microseconds = variable("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
        watchdog = isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Whether anybody listens.
    package var isThere: Bool { socketPath != nil }

    /// The service does its work from now on.
    package func ready() { send("READY=1") }

    /// It ends, as asked.
    package func stopping() { send("STOPPING=1") }

    /// It reads its configuration again; ``ready()`` says when it has.
    package func reloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        send("RELOADING=1\nMONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1_000)")
    }

    /// What it does at present, in a line for people.
    package func status(_ line: String) {
        send(
            "STATUS=" + String(decoding: oneLine(line).utf8.prefix(Self.statusBytes), as: UTF8.self)
        )
    }

    /// It is alive. To be said where the work is done, at least twice in ``watchdog``.
    package func alive() {
        if watchdog != nil { send("WATCHDOG=1") }
    }

    /// Sends an assignment. Nobody can do anything about one that is lost.
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
