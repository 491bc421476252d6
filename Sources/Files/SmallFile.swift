import Glibc

/// Small files that are read and written whole: keys, accounts, configurations.
package enum SmallFile {
    /// The permissions that other users must not have.
    package enum Access: Sendable {
        /// Other users may have any permissions, and the file may be of any kind.
        case any
        /// A list of trusted keys: a regular file that only its owner may write.
        case trusted
        /// A secret: a regular file that only its owner may read or write.
        case secret

        fileprivate var excluded: UInt32 {
            switch self {
            case .any: 0
            case .trusted: 0o022
            case .secret: 0o077
            }
        }
    }

    /// Identifies the content of a file: equal marks mean that it was not written, replaced or given another mode.
    package struct Mark: Hashable, Sendable {
        private let inode: UInt
        private let sizeBytes: Int
        private let mode: UInt32
        private let changedSeconds: Int
        private let changedNanoseconds: Int

        fileprivate init(_ status: stat) {
            inode = UInt(status.st_ino)
            sizeBytes = Int(status.st_size)
            mode = status.st_mode
            // Unlike the time of modification, it cannot be set.
            changedSeconds = status.st_ctim.tv_sec
            changedNanoseconds = status.st_ctim.tv_nsec
        }

        /// The present mark of a file; nil if it does not exist, or cannot be examined.
        package init?(of path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            self.init(status)
        }
    }

    package struct Content: Hashable, Sendable {
        package var bytes: [UInt8]
        package var mark: Mark
    }

    // MARK: Reading

    /// A whole file; nil if it does not exist.
    package static func read(
        _ path: String, limit: Int, _ access: Access
    ) throws(FileError) -> Content? {
        // Links are followed, because secrets are often mounted as links: the opened file counts. Opened without
        // blocking where pipes are refused, because opening a pipe waits for a writer.
        let flags = access == .any ? O_NOCTTY : O_NONBLOCK
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | flags)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .system(operation: "read", path: path, errno: errno)
        }
        defer { close(descriptor) }
        // The mark is older than the bytes: a change while they are read changes it.
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw .system(operation: "read", path: path, errno: errno)
        }
        if access != .any, status.st_mode & S_IFMT != S_IFREG { throw .notAFile(path: path) }
        try check(status, access, path: path)
        guard let bytes = Descriptor.read(descriptor, limit: limit) else {
            if errno == EFBIG { throw .tooLarge(path: path, limitBytes: limit) }
            throw .system(operation: "read", path: path, errno: errno)
        }
        return Content(bytes: bytes, mark: Mark(status))
    }

    /// The beginning of one of the kernel's files in /proc and /sys, up to a page; nil if it cannot be read.
    package static func kernelText(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        return count >= 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }

    /// Checks the permissions of a file or directory, if it exists.
    package static func check(_ path: String, _ access: Access) throws(FileError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw .system(operation: "read", path: path, errno: errno)
        }
        try check(status, access, path: path)
    }

    private static func check(
        _ status: stat, _ access: Access, path: String
    ) throws(FileError) {
        guard status.st_mode & access.excluded == 0 else { throw .accessibleByOthers(path: path) }
    }

    // MARK: Writing

    /// Permissions and naming of a new file.
    package enum Replacement: Sendable {
        /// An existing file is replaced.
        case replace
        /// An existing file is replaced, and keeps its mode.
        case replaceKeepingMode
        /// An existing file stays: `EEXIST`.
        case create
    }

    private static let temporarySuffix = ".new"
    /// Age from which a temporary file is a leftover of a killed process.
    private static let leftoverSeconds = 3_600

    /// Writes a file atomically and durably: at every instant, either the old or the new file exists, complete.
    ///
    /// If root writes it, an existing file keeps its owner, and a new one belongs to the owner of its directory: root
    /// prepares files for services that run as other users.
    /// - Parameter mode: the permissions, regardless of the umask.
    package static func write(
        _ bytes: [UInt8], to path: String, mode: UInt32, _ replacement: Replacement = .replace
    ) throws(FileError) {
        let directory = Path.directory(of: path)
        removeLeftovers(of: path, in: directory)
        // Random, not a process ID: in a container, every process ID is 1, and a file left by a killed process would
        // block the name forever.
        let temporary =
            "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 36))\(temporarySuffix)"
        let descriptor = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            throw .system(operation: "write into", path: directory, errno: errno)
        }
        defer { unlink(temporary) }
        var before = stat()
        let isReplaced = stat(path, &before) == 0
        let keptMode = isReplaced && replacement == .replaceKeepingMode
        let isWritten =
            fchmod(descriptor, keptMode ? before.st_mode & 0o777 : mode) == 0
            && giveToOwner(of: isReplaced ? path : directory, descriptor)
            && Descriptor.write(descriptor, bytes) && fsync(descriptor) == 0
        let code = errno
        close(descriptor)
        guard isWritten else { throw .system(operation: "write", path: path, errno: code) }
        // link(2) fails if there is a file, rename(2) replaces it.
        let isNamed =
            replacement == .create ? link(temporary, path) == 0 : rename(temporary, path) == 0
        guard isNamed else { throw .system(operation: "write", path: path, errno: errno) }
        try Directory.synchronize(directory)
    }

    private static func giveToOwner(of path: String, _ descriptor: Int32) -> Bool {
        guard geteuid() == 0 else { return true }
        var status = stat()
        return stat(path, &status) == 0 && fchown(descriptor, status.st_uid, status.st_gid) == 0
    }

    /// Removes temporary files of this file that are older than an hour; newer ones may be in use. Files that cannot be
    /// removed are harmless, because their names are not used again.
    private static func removeLeftovers(of path: String, in directory: String) {
        let beginning = "\(Path.name(of: path))."
        let names = Directory.names(in: directory) {
            $0.hasPrefix(beginning) && $0.hasSuffix(temporarySuffix)
        }
        for name in names ?? [] {
            let leftover = "\(directory)/\(name)"
            var status = stat()
            guard lstat(leftover, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                time(nil) - status.st_mtim.tv_sec >= leftoverSeconds
            else { continue }
            unlink(leftover)
        }
    }
}
