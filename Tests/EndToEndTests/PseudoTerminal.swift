import Foundation
import Glibc
import Synchronization

/// A controlling terminal for a program: writes keys and reads the screen output.
final class PseudoTerminal: Sendable {
    private let master: Int32
    private let process: Process
    private let shown = Mutex("")

    /// Whether programs can be given a controlling terminal here.
    static let canBeMade = FileManager.default.isExecutableFile(atPath: "/usr/bin/setsid")

    /// Starts a program with the terminal as standard input and standard error.
    init(_ executable: URL, _ arguments: [String], in directory: URL) throws {
        // posix_openpt(3), unlockpt(3) and ptsname(3), which Swift's Glibc lacks.
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (isLocked, number): (Int32, Int32) = (0, 0)
        let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
        guard master >= 0, ioctl(master, setLock, &isLocked) == 0,
            ioctl(master, getNumber, &number) == 0
        else { throw StageFailure(description: "no pseudo terminal: errno \(errno)") }
        // A `winsize`: rows, columns, no pixel sizes.
        var size: [UInt16] = [24, 80, 0, 0]
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
        _ = fcntl(master, F_SETFL, O_NONBLOCK)
        let terminal = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        guard terminal >= 0 else {
            throw StageFailure(description: "no pseudo terminal: errno \(errno)")
        }
        process = Process()
        // Only a session leader can have one.
        process.executableURL = URL(filePath: "/usr/bin/setsid")
        process.arguments = ["--ctty", "--wait", executable.path] + arguments
        process.currentDirectoryURL = directory
        let handle = FileHandle(fileDescriptor: terminal, closeOnDealloc: true)
        process.standardInput = handle
        process.standardError = handle
        process.standardOutput = FileHandle.nullDevice
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        close(master)
    }

    /// Types keys.
    func type(_ keys: String) {
        let bytes = Array(keys.utf8)
        _ = write(master, bytes, bytes.count)
    }

    /// All output so far.
    var text: String {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(master, &bytes, bytes.count)
            guard count > 0 else { break }
            let more = String(decoding: bytes[..<count], as: UTF8.self)
            shown.withLock { $0 += more }
        }
        return shown.withLock { $0 }
    }

    /// The current line.
    var lastLine: String {
        text.components(separatedBy: "\u{1B}[K").last ?? ""
    }

    /// Waits until the current line satisfies a condition.
    func shows(_ what: String, _ isSo: (String) -> Bool) async throws {
        do {
            try await eventually("the terminal shows \(what)") { isSo(lastLine) }
        } catch {
            throw StageFailure(description: "\(error); it shows: \(text.suffix(400))")
        }
    }

    /// Waits for the program's exit status.
    func status() async throws -> Int32 {
        try await eventually("the program ends") {
            _ = text
            return !process.isRunning
        }
        return process.terminationStatus
    }
}
