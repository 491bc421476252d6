import CLinux
import Glibc

/// A regular file at one moment: a file with an equal one has not been written since.
package struct FileVersion: Hashable, Sendable {
    package var inode: UInt64
    package var sizeBytes: Int64
    /// Nanoseconds since 1970 (UTC).
    package var modifiedNanoseconds: Int64

    package init(inode: UInt64, sizeBytes: Int64, modifiedNanoseconds: Int64) {
        self.inode = inode
        self.sizeBytes = sizeBytes
        self.modifiedNanoseconds = modifiedNanoseconds
    }

    private init(_ status: stat) {
        self.init(
            inode: UInt64(status.st_ino), sizeBytes: Int64(status.st_size),
            modifiedNanoseconds: UTCTime(clamping: status.st_mtim).nanoseconds)
    }

    /// Version of a file in an archive; nil if it does not exist, or is not a regular file.
    package init?(path: String) {
        guard let status = PlainPath.status(path), status.st_mode & S_IFMT == S_IFREG else {
            return nil
        }
        self.init(status)
    }

    /// Version of an open file; nil on failure, with `errno`.
    package init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }
}
