import CLinux
import Glibc

/// A finished session, recognised by the end of its description: four system calls per session, because an archive may have a
/// hundred thousand sessions.
struct FinishedSession {
    /// Bytes read from the end of a description. Its keys are sorted, so it ends with its state and its zero, which
    /// need half of this.
    private static let tailBytes = 512
    /// In the notation of ``SessionManifest/encoded()``. Within a text value, the quotes would be escaped.
    private static let mark = Array(
        "\"state\" : \"\(SessionManifest.State.finished.rawValue)\"".utf8)

    /// When the description was last written, by its modification time.
    let written: UTCTime

    /// Checks a session's description; nil when it does not mark the session as finished, or cannot be read.
    init?(_ path: String) {
        let descriptor = PlainPath.openFile(path, flags: O_RDONLY)
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
