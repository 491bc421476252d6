import CLinux
import Files
import Glibc
import Synchronization

/// A spool's directory on a real disk, locked by one storage at a time, until ``close()``.
///
/// Files are opened for every operation: ten or so per second, which costs less than managing open descriptors.
package final class DirectoryStorage: SpoolStorage {
    /// File of the lock. If the process ends without ``close()``, the kernel releases the lock.
    private static let lockName = "lock"
    /// Maximum time for which ``isInUse(_:)`` has the lock.
    private static let lookTime = Duration.milliseconds(100)

    package var path: String { reading.path }
    private let reading: DirectoryReading
    /// Nil: closed.
    private let lock: Mutex<FileLock?>

    /// Creates the directory if necessary, and takes its lock.
    /// - Throws: ``SpoolError/inUse(path:)`` when another storage has it, of this process or another one.
    package init(path: String) throws(SpoolError) {
        reading = DirectoryReading(path: path)
        do throws(FileError) { try Directory.make(path, mode: 0o700) } catch {
            throw SpoolError(error)
        }
        let lockPath = "\(path)/\(Self.lockName)"
        let descriptor = CLinux_open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .system(operation: "write into", path: path, errno: errno)
        }
        let taken: FileLock?
        do throws(FileError) {
            taken = try FileLock.take(descriptor, path: lockPath, timeout: Self.lookTime)
        } catch {
            throw SpoolError(error)
        }
        guard let taken else { throw .inUse(path: path) }
        lock = Mutex(taken)
    }

    /// Whether a storage has the lock of a directory. It may begin or end to have it at any time.
    package static func isInUse(_ path: String) -> Bool {
        let lockPath = "\(path)/\(lockName)"
        let descriptor = CLinux_open(lockPath, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return errno != ENOENT }
        do throws(FileError) {
            // Released at once; a storage that is being opened waits for that.
            return try FileLock.take(descriptor, .shared, path: lockPath) == nil
        } catch {
            return true
        }
    }

    /// Releases the lock. Writing afterwards is an error of the caller: the files may belong to another process.
    package func close() { lock.withLock { $0 = nil } }

    private func checkOwnership() {
        precondition(lock.withLock { $0 != nil }, "a closed spool directory is not written")
    }

    package func names() throws(SpoolError) -> [String] {
        try reading.names { $0 != Self.lockName }
    }

    package func append(
        _ pieces: [UnsafeRawBufferPointer], to name: String, at offset: Int
    ) throws(SpoolError) {
        checkOwnership()
        let file = try open(name, O_WRONLY | O_CREAT)
        defer { Glibc.close(file) }
        var vectors = pieces.filter { !$0.isEmpty }.map {
            iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
        }
        var place = off_t(offset)
        while !vectors.isEmpty {
            let count = pwritev(file, vectors, Int32(vectors.count), place)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else {
                throw .system(operation: "write", path: "\(path)/\(name)", errno: errno)
            }
            place += off_t(count)
            var rest = count
            while let first = vectors.first, rest >= first.iov_len {
                rest -= first.iov_len
                vectors.removeFirst()
            }
            if rest > 0 {
                vectors[0].iov_base = vectors[0].iov_base.advanced(by: rest)
                vectors[0].iov_len -= rest
            }
        }
    }

    package func read(
        _ name: String, at offset: Int, limit: Int
    ) throws(SpoolError) -> [UInt8] {
        try reading.read(name, at: offset, limit: limit)
    }

    package func sizeBytes(of name: String) throws(SpoolError) -> Int {
        try reading.sizeBytes(of: name)
    }

    package func rename(_ name: String, to other: String) throws(SpoolError) {
        checkOwnership()
        guard Glibc.rename("\(path)/\(name)", "\(path)/\(other)") == 0 else {
            throw error("rename", name)
        }
    }

    package func delete(_ name: String) throws(SpoolError) {
        checkOwnership()
        guard unlink("\(path)/\(name)") == 0 || errno == ENOENT else {
            throw error("delete", name)
        }
    }

    package func synchronize(_ names: [String]) throws(SpoolError) {
        for name in names {
            let file = CLinux_open("\(path)/\(name)", O_RDONLY | O_CLOEXEC, 0)
            if file < 0 && errno == ENOENT { continue }
            guard file >= 0 else { throw error("open", name) }
            defer { Glibc.close(file) }
            guard fdatasync(file) == 0 else { throw error("synchronise", name) }
        }
        do throws(FileError) { try Directory.synchronize(path) } catch { throw SpoolError(error) }
    }

    private func open(_ name: String, _ flags: Int32) throws(SpoolError) -> Int32 {
        let file = CLinux_open("\(path)/\(name)", flags | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw error("open", name) }
        return file
    }

    private func error(_ operation: String, _ name: String) -> SpoolError {
        reading.error(operation, name)
    }
}
