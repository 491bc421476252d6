import Archive
import CLinux
import Files
import Glibc

/// The directory in which an import writes until its session is complete.
///
/// Its name reserves the session's name among imports. It is locked while the import runs, so one without a lock is left by
/// an import that was killed.
struct ImportPlace {
    private static let prefix = ".import-"

    let path: String
    private let lock: FileLock

    /// Reserves a session's name; nil if another import has it.
    static func reserve(_ session: String, in root: String) throws -> ImportPlace? {
        let path = "\(root)/\(prefix)\(session)"
        while true {
            try FileSystem.makeDirectories(path)
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else {
                // Another import has finished or removed it.
                if errno == ENOENT { continue }
                throw FileError.system(operation: "write into", path: path, errno: errno)
            }
            guard let lock = try FileLock.take(descriptor, path: path) else { return nil }
            var (own, named) = (stat(), stat())
            guard fstat(descriptor, &own) == 0, lstat(path, &named) == 0,
                own.st_ino == named.st_ino, own.st_dev == named.st_dev
            else { continue }
            return ImportPlace(path: path, lock: lock)
        }
    }

    /// Removes what killed imports have left.
    static func removeAbandoned(in root: String) {
        guard let names = Directory.names(in: root) else { return }
        for name in names where name.hasPrefix(prefix) {
            // Earlier versions name it by their process and do not lock it.
            if let process = pid_t(name.dropFirst(prefix.count)), kill(process, 0) == 0 { continue }
            let path = "\(root)/\(name)"
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0, let lock = try? FileLock.take(descriptor, path: path) else {
                continue
            }
            // Remaining files are harmless.
            try? FileSystem.removeTree(path)
            withExtendedLifetime(lock) {}
        }
    }

    /// Removes it; the lock is kept until then.
    func remove() throws {
        try FileSystem.removeTree(path)
        withExtendedLifetime(lock) {}
    }
}
