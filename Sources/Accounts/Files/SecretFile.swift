package import Files
import Glibc

/// Small files that only their owner may read: ``SmallFile`` with the errors of this module.
package enum SecretFile {
    /// Reads a file; nil if it does not exist.
    /// - Throws: also if other users may read or write it.
    package static func read(_ path: String, limit: Int) throws(AccessError) -> SmallFile.Content? {
        do throws(FileError) { return try SmallFile.read(path, limit: limit, .secret) } catch {
            throw AccessError(error)
        }
    }

    /// Replaces a file atomically and durably. The caller holds the lock.
    package static func replace(_ path: String, with bytes: [UInt8]) throws(AccessError) {
        do throws(FileError) { try SmallFile.write(bytes, to: path, mode: 0o600) } catch {
            throw AccessError(error)
        }
    }

    /// Writes a file unless it exists. The caller holds the lock.
    package static func create(_ path: String, _ bytes: [UInt8]) throws(AccessError) {
        do throws(FileError) { try SmallFile.write(bytes, to: path, mode: 0o600, .create) } catch {
            // Made by a program that does not use the lock.
            if case .system(_, _, EEXIST) = error { return }
            throw AccessError(error)
        }
    }

    /// Creates the directory of such files.
    package static func makeDirectory(_ path: String) throws(AccessError) {
        do throws(FileError) { try Directory.make(path) } catch { throw AccessError(error) }
    }

    /// Runs `body` while it holds the lock of the directory that contains `path`: for a read-modify-write of its files.
    package static func withLock<Result>(
        besides path: String, _ body: () throws(AccessError) -> Result
    ) throws(AccessError) -> Result {
        let lock: FileLock
        do throws(FileError) { lock = try FileLock.wait(directory: Path.directory(of: path)) } catch
        {
            throw AccessError(error)
        }
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }
}

extension AccessError {
    package init(_ error: FileError) {
        switch error {
        case .system(let operation, let path, let errno):
            self = .system(operation: operation, path: path, errno: errno)
        case .notAFile(let path): self = .notAFile(path: path)
        case .tooLarge(let path, let limit): self = .tooLarge(path: path, limitBytes: limit)
        case .accessibleByOthers(let path): self = .accessibleByOthers(path: path)
        }
    }
}
