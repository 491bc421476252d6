import CLinux
import Glibc

/// A session that is over, as the end of its description says: four system calls, where an archive may have a hundred thousand.
struct FinishedSession {
    /// A description ends in its state and its zero, the keys being sorted: they take half of this.
    private static let tailBytes = 512
    /// As ``SessionManifest/encoded()`` writes it. Within a text, the quotes would have a backslash before them.
    private static let mark = Array(
        "\"state\" : \"\(SessionManifest.State.finished.rawValue)\"".utf8)

    /// When the description was written last, by the file's own time.
    let written: UTCTime

    /// Looks at a session's description; nil when that does not say that the session is finished, or cannot be read.
    init?(_ path: String) {
        let descriptor = CLinux_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size > 0 else { return nil }
        let size = min(Self.tailBytes, Int(status.st_size))
        var tail = [UInt8](repeating: 0, count: size)
        guard pread(descriptor, &tail, size, status.st_size - off_t(size)) == size,
            tail.indices.contains(where: { tail[$0...].starts(with: Self.mark) })
        else { return nil }
        written = UTCTime(clamping: status.st_mtim)
    }
}
