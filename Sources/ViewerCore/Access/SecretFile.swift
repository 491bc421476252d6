import CLinux
import Glibc

/// Small files that only their owner may read: accounts, and the key for cookies and links.
enum SecretFile {
    private static let mode: mode_t = 0o600

    /// Identifies the content of a file: equal marks mean that nobody has written it, replaced it or changed its mode.
    struct Mark: Hashable, Sendable {
        private let inode: UInt
        private let sizeBytes: Int
        private let mode: UInt32
        private let changedSeconds: Int
        private let changedNanoseconds: Int

        fileprivate init(_ status: stat) {
            inode = UInt(status.st_ino)
            sizeBytes = Int(status.st_size)
            mode = status.st_mode
            // Unlike the time of modification, nobody can set it.
            changedSeconds = status.st_ctim.tv_sec
            changedNanoseconds = status.st_ctim.tv_nsec
        }
    }

    struct Content: Hashable, Sendable {
        var bytes: [UInt8]
        var mark: Mark
    }

    /// The present mark of a file; nil when there is none, or it cannot be looked at.
    static func mark(of path: String) -> Mark? {
        var status = stat()
        return stat(path, &status) == 0 ? Mark(status) : nil
    }

    /// A whole file; nil when there is none.
    /// - Throws: also when others than the owner may read or write it.
    static func read(_ path: String, limit: Int) throws(AccessError) -> Content? {
        // Links are followed, because secrets are often mounted as such: the file that is opened is what counts.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .system(operation: "read", path: path, errno: errno)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw .system(operation: "read", path: path, errno: errno)
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
        guard status.st_mode & 0o077 == 0 else { throw .accessibleByOthers(path: path) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 16_384)
        while bytes.count <= limit {
            let count = Glibc.read(descriptor, &block, block.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw .system(operation: "read", path: path, errno: errno) }
            // The mark is older than the bytes: what is written meanwhile shows as a change.
            if count == 0 { return Content(bytes: bytes, mark: Mark(status)) }
            bytes += block[..<count]
        }
        throw .tooLarge(path: path, limitBytes: limit)
    }

    /// Writes a file so that at every instant either the old or the new one is there, whole and durable. The caller holds the
    /// lock.
    static func replace(_ path: String, with bytes: [UInt8]) throws(AccessError) {
        let temporary = try writeTemporary(for: path, bytes)
        defer { unlink(temporary) }
        guard rename(temporary, path) == 0 else {
            throw .system(operation: "write", path: path, errno: errno)
        }
        try synchronizeDirectory(of: path)
    }

    /// Writes a file, whole and durable, unless there is one: that one stays. The caller holds the lock.
    static func create(_ path: String, _ bytes: [UInt8]) throws(AccessError) {
        let temporary = try writeTemporary(for: path, bytes)
        defer { unlink(temporary) }
        // Unlike rename(2), link(2) does not replace what somebody has put there who does not know of the lock.
        guard link(temporary, path) == 0 || errno == EEXIST else {
            throw .system(operation: "write", path: path, errno: errno)
        }
        try synchronizeDirectory(of: path)
    }

    /// Changes files of a directory while no other program of ours does: what is read is what is replaced.
    static func withLock<Result>(
        besides path: String, _ body: () throws(AccessError) -> Result
    ) throws(AccessError) -> Result {
        let folder = directory(of: path)
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .system(operation: "write into", path: folder, errno: errno)
        }
        // Closing it lets go of the lock.
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else {
                throw .system(operation: "lock", path: folder, errno: errno)
            }
        }
        return try body()
    }

    // MARK: Writing

    /// - Returns: the path of a durable file beside `path`.
    private static func writeTemporary(
        for path: String, _ bytes: [UInt8]
    ) throws(AccessError) -> String {
        let temporary = "\(path).new"
        // Left by a program that was killed. Nobody else is writing, because of the lock.
        unlink(temporary)
        let descriptor = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            throw .system(operation: "write into", path: directory(of: path), errno: errno)
        }
        defer { close(descriptor) }
        do throws(AccessError) {
            try fill(descriptor, bytes, for: path)
        } catch {
            unlink(temporary)
            throw error
        }
        return temporary
    }

    private static func fill(
        _ descriptor: Int32, _ bytes: [UInt8], for path: String
    ) throws(AccessError) {
        // The process's mask has a say in open(2).
        guard fchmod(descriptor, mode) == 0 else {
            throw .system(operation: "write", path: path, errno: errno)
        }
        try giveToOwner(descriptor, of: path)
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw .system(operation: "write", path: path, errno: errno) }
            rest = rest.dropFirst(count)
        }
        guard fsync(descriptor) == 0 else {
            throw .system(operation: "write", path: path, errno: errno)
        }
    }

    /// Root writes files for services that run as other users: a file keeps its owner, and a new one is the directory's owner's.
    private static func giveToOwner(_ descriptor: Int32, of path: String) throws(AccessError) {
        guard geteuid() == 0 else { return }
        var status = stat()
        guard stat(path, &status) == 0 || stat(directory(of: path), &status) == 0,
            fchown(descriptor, status.st_uid, status.st_gid) == 0
        else { throw .system(operation: "write", path: path, errno: errno) }
    }

    private static func synchronizeDirectory(of path: String) throws(AccessError) {
        let folder = directory(of: path)
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .system(operation: "write into", path: folder, errno: errno)
        }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw .system(operation: "write into", path: folder, errno: errno)
        }
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
