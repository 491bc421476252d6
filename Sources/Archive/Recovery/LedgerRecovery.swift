import CLinux
import Glibc

/// Puts a ledger in order: what follows its last whole line is cut, and the rest is durable.
///
/// Damaged lines in front of that stay: `verify` names them, and no line depends on another.
enum LedgerRecovery {
    /// A ledger larger than this was not written by us.
    private static let maximumBytes = 256 << 20

    struct Outcome: Sendable {
        var contents = Ledger.Contents()
        var cutBytes = 0
    }

    static func recover(_ path: String) throws(ArchiveError) -> Outcome {
        guard FileSystem.exists(path) else { return Outcome() }
        let bytes = try FileSystem.read(path, limit: maximumBytes)
        let whole = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let descriptor = CLinux_open(path, O_WRONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw .system(operation: "open", path: path, errno: errno) }
        defer { close(descriptor) }
        if whole < bytes.count, ftruncate(descriptor, off_t(whole)) != 0 {
            throw .system(operation: "cut", path: path, errno: errno)
        }
        // What is told to agents as durable has to be so.
        guard fdatasync(descriptor) == 0 else {
            throw .system(operation: "synchronise", path: path, errno: errno)
        }
        return Outcome(
            contents: Ledger.parse(Array(bytes[..<whole])), cutBytes: bytes.count - whole)
    }

    /// Appends lines to a ledger, durably.
    static func append(_ entries: [LedgerEntry], to path: String) throws(ArchiveError) {
        guard !entries.isEmpty else { return }
        let descriptor = CLinux_open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw .system(operation: "open", path: path, errno: errno) }
        defer { close(descriptor) }
        try FileSystem.writeAll(descriptor, entries.flatMap(Ledger.line), path: path)
        guard fdatasync(descriptor) == 0 else {
            throw .system(operation: "synchronise", path: path, errno: errno)
        }
    }
}
