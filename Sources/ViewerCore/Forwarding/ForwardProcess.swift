import Files
import FoundationEssentials
import Glibc
import Synchronization

/// The program `tributary` that forwards, and its arguments besides those of an entry.
package struct ForwardProgram: Hashable, Sendable {
    /// Ends the process when the viewer is killed (prctl(2), PR_SET_PDEATHSIG; setpriv(1) of util-linux).
    private static let launchers = ["/usr/bin/setpriv", "/bin/setpriv"]
    private static let name = "tributary"

    package let path: String
    let launcher: String
    /// The archive or the feed, and keys.
    let options: [String]

    /// The program `tributary` in the directory of the running one.
    package init(options: [String]) throws(ViewerError) {
        guard let own = Self.ownPath else {
            throw .cannotForward(reason: "/proc is not mounted: mount it")
        }
        try self.init(path: "\(Path.directory(of: own))/\(Self.name)", options: options)
    }

    init(path: String, options: [String]) throws(ViewerError) {
        guard access(path, X_OK) == 0 else {
            throw .cannotForward(
                reason: "\(path) is not there: install the program tributary beside the viewer")
        }
        guard let launcher = Self.launchers.first(where: { access($0, X_OK) == 0 }) else {
            throw .cannotForward(
                reason: "the program setpriv is not there: install the package util-linux")
        }
        self.path = path
        self.launcher = launcher
        self.options = options
    }

    private static var ownPath: String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(validating: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func arguments(for entry: ForwardEntry) -> [String] {
        [
            launcher, "--pdeathsig", "KILL", path, "forward", entry.source,
            "--url-file=\(entry.file)", "--json",
        ] + options
    }
}

/// A process of `tributary forward`. One thread runs it, any thread may stop it.
final class ForwardProcess: Sendable {
    private struct State {
        /// Nil before the start, and once it may have been reaped.
        var id: pid_t?
        var isStopping = false
    }

    /// Interval of checks for the end of a process whose output stays open, milliseconds.
    private static let checkMilliseconds: Int32 = 1_000

    private let arguments: [String]
    private let state = Mutex(State())

    init(_ program: ForwardProgram, _ entry: ForwardEntry) {
        arguments = program.arguments(for: entry)
    }

    /// Sends a signal to the process; from now on none is started.
    func stop(_ signal: Int32) {
        state.withLock { state in
            state.isStopping = true
            if let id = state.id { kill(id, signal) }
        }
    }

    /// Runs the process until it ends. Blocks the calling thread, which the process does not outlive.
    /// - Parameter line: called with each line of standard output.
    /// - Returns: why it has ended, one line.
    func run(_ line: (String) -> Void) -> String {
        var output: [Int32] = [-1, -1]
        var complaints: [Int32] = [-1, -1]
        // Sockets, because SOCK_CLOEXEC is set when they are created: a process that another thread starts at the same time does not
        // inherit them. Swift's Glibc module has no pipe2(2).
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &output) == 0 else {
            return "no sockets: \(systemMessage(errno))"
        }
        guard socketpair(AF_UNIX, type, 0, &complaints) == 0 else {
            let reason = systemMessage(errno)
            for end in output { close(end) }
            return "no sockets: \(reason)"
        }
        let code = start(output: output[1], complaints: complaints[1])
        close(output[1])
        close(complaints[1])
        defer {
            close(output[0])
            close(complaints[0])
        }
        guard code == 0 else {
            return "\(arguments[0]) cannot be started: \(systemMessage(code))"
        }
        let complaint = read(output[0], complaints[0], line)
        let status = reap()
        return complaint ?? "the process ended\(status.map { " with \($0)" } ?? "")"
    }

    /// - Returns: an errno.
    private func start(output: Int32, complaints: Int32) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO)
        // The viewer's connections and files are not inherited.
        for number in Self.openDescriptors where number > STDERR_FILENO {
            posix_spawn_file_actions_addclose(&actions, number)
        }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var words = arguments.map { strdup($0) } + [nil]
        // Options of the viewer are not the process's.
        var variables = Self.environment.map { strdup($0) } + [nil]
        defer { for word in words + variables { free(word) } }
        return state.withLock { state in
            guard !state.isStopping else { return ECANCELED }
            var id = pid_t()
            let code = posix_spawn(&id, arguments[0], &actions, &attributes, &words, &variables)
            if code == 0 { state.id = id }
            return code
        }
    }

    /// Most close themselves (O_CLOEXEC), but not all of the libraries'. One that is closed by now is no error (posix_spawn of glibc).
    private static var openDescriptors: [Int32] {
        Directory.names(in: "/proc/self/fd")?.compactMap { Int32($0) } ?? []
    }

    private static var environment: [String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("TRIBUTARY_") }
            .map { "\($0.key)=\($0.value)" }
    }

    /// Whether the process has ended. It is not reaped.
    private var hasEnded: Bool {
        guard let id = state.withLock({ $0.id }) else { return true }
        // Its signal number stays 0 while the process runs (waitid(2), WNOHANG).
        var information = siginfo_t()
        let code = waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT | WNOHANG)
        return code != 0 || information.si_signo != 0
    }

    /// Waits for the end of the process.
    /// - Returns: its status in words; nil if it is unknown.
    private func reap() -> String? {
        guard let id = state.withLock({ $0.id }) else { return nil }
        // It stays a zombie until its number is forgotten here: no signal goes to another process.
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        return state.withLock { state in
            state.id = nil
            var status: Int32 = 0
            guard waitpid(id, &status, 0) == id else { return nil }
            let signal = status & 0x7F
            return signal == 0 ? "status \(status >> 8 & 0xFF)" : "signal \(signal)"
        }
    }

    /// Reads both outputs until they are closed, or until the process has ended and they are empty: processes that it started may
    /// hold them open.
    /// - Returns: the last error message of the process; its log is dropped.
    private func read(
        _ output: Int32, _ complaints: Int32, _ line: (String) -> Void
    ) -> String? {
        var lines = (output: LineBuffer(), complaints: LineBuffer())
        var last: String?
        var open = [
            pollfd(fd: output, events: Int16(POLLIN), revents: 0),
            pollfd(fd: complaints, events: Int16(POLLIN), revents: 0),
        ]
        var bytes = [UInt8](repeating: 0, count: 4_096)
        var isLast = false
        while open.contains(where: { $0.fd >= 0 }) {
            let ready = poll(&open, 2, isLast ? 0 : Self.checkMilliseconds)
            if ready == 0 {
                if isLast { break }
                // It may have written since the poll.
                isLast = hasEnded
            }
            guard ready > 0 else { continue }
            for index in open.indices where open[index].revents != 0 {
                let count = Glibc.read(open[index].fd, &bytes, bytes.count)
                guard count > 0 else {
                    if count < 0, errno == EINTR || errno == EAGAIN { continue }
                    open[index].fd = -1
                    continue
                }
                if index == 0 {
                    for text in lines.output.take(bytes[..<count]) { line(text) }
                } else {
                    let texts = lines.complaints.take(bytes[..<count])
                    last = texts.compactMap(Self.reason).last ?? last
                }
            }
        }
        return last
    }

    /// The message of `tributary forward: MESSAGE`; nil for other lines.
    private static func reason(_ line: String) -> String? {
        guard line.hasPrefix("tributary"), let colon = line.firstRange(of: ": ") else { return nil }
        return String(line[colon.upperBound...])
    }
}

/// Divides bytes into lines.
struct LineBuffer {
    /// The rest of a longer line is dropped.
    private static let maximumBytes = 16 << 10

    private var bytes: [UInt8] = []

    /// Complete lines, without their ends.
    mutating func take(_ more: ArraySlice<UInt8>) -> [String] {
        var lines: [String] = []
        for byte in more {
            if byte == UInt8(ascii: "\n") {
                lines.append(String(decoding: bytes, as: UTF8.self))
                bytes = []
            } else if bytes.count < Self.maximumBytes {
                bytes.append(byte)
            }
        }
        return lines
    }
}
