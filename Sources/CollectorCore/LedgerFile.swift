import Archive
import CLinux
import Glibc

/// An open `ledger.jsonl`, which only grows. Owned by the disk thread.
final class LedgerFile {
    private let path: String
    private let descriptor: Int32
    private var sizeBytes: off_t
    private var unsynchronised: [PersistedRecords] = []

    /// Opens a ledger, or begins one.
    init(path: String) throws(ArchiveError) {
        self.path = path
        descriptor = CLinux_open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw .system(operation: "open", path: path, errno: errno)
        }
        sizeBytes = lseek(descriptor, 0, SEEK_END)
    }

    deinit {
        close(descriptor)
    }

    /// Appends whole lines, or nothing.
    func append(_ lines: [UInt8], records: PersistedRecords?) throws(ArchiveError) {
        let count = lines.withUnsafeBytes {
            pwrite(descriptor, $0.baseAddress, $0.count, sizeBytes)
        }
        guard count == lines.count else {
            let code = count < 0 ? errno : ENOSPC
            // What was torn would be read as such; the next attempt writes over it.
            _ = ftruncate(descriptor, sizeBytes)
            throw .system(operation: "write", path: path, errno: code)
        }
        sizeBytes += off_t(count)
        if let records { unsynchronised.append(records) }
    }

    /// Makes all lines durable; returns the records that are so now.
    func synchronize() throws(ArchiveError) -> [PersistedRecords] {
        guard fdatasync(descriptor) == 0 else {
            throw .system(operation: "synchronise", path: path, errno: errno)
        }
        defer { unsynchronised.removeAll() }
        return unsynchronised
    }
}
