import CLinux
import Glibc

/// A spool's directory that is only looked at: its lock is not taken, and nothing in it is changed, whatever is found wrong.
///
/// Whoever owns it may go on meanwhile; what he deletes is gone for the reader too.
package struct ReadOnlyDirectory: SpoolStorage {
    package let path: String

    /// - Throws: when there is no such directory.
    package init(path: String) throws(SpoolError) {
        self.path = path
        _ = try names()
    }

    /// Whether a directory has the files of a spool.
    package static func holdsSpool(_ path: String) -> Bool {
        do throws(SpoolError) {
            return try ReadOnlyDirectory(path: path).names().contains { SpoolName($0) != nil }
        } catch {
            return false
        }
    }

    package func names() throws(SpoolError) -> [String] {
        guard let handle = opendir(path) else {
            throw .system(operation: "read the directory", path: path, errno: errno)
        }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if SpoolName(name) != nil { names.append(name) }
        }
        return names
    }

    package func read(
        _ name: String, at offset: Int, limit: Int
    ) throws(SpoolError) -> [UInt8] {
        let file = Glibc.open("\(path)/\(name)", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw error("open", name) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw error("look at", name) }
        let size = max(0, min(limit, Int(status.st_size) - offset))
        var failure: Int32?
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size {
                let step = pread(
                    file, buffer.baseAddress?.advanced(by: count), size - count,
                    off_t(offset + count))
                if step < 0 && errno == EINTR { continue }
                if step < 0 { failure = errno }
                guard step > 0 else { return }
                count += step
            }
        }
        if let failure {
            throw .system(operation: "read", path: "\(path)/\(name)", errno: failure)
        }
        return bytes
    }

    package func sizeBytes(of name: String) throws(SpoolError) -> Int {
        var status = stat()
        guard stat("\(path)/\(name)", &status) == 0 else { throw error("look at", name) }
        return Int(status.st_size)
    }

    package func append(
        _ pieces: [UnsafeRawBufferPointer], to name: String, at offset: Int
    ) throws(SpoolError) {
        throw .system(operation: "write", path: "\(path)/\(name)", errno: EROFS)
    }

    package func rename(_ name: String, to other: String) throws(SpoolError) {
        throw .system(operation: "rename", path: "\(path)/\(name)", errno: EROFS)
    }

    /// What a writer would put in order stays; the reader leaves it out all the same.
    package func delete(_ name: String) throws(SpoolError) {}

    package func synchronize(_ names: [String]) throws(SpoolError) {}

    /// The last system call's error.
    private func error(_ operation: String, _ name: String) -> SpoolError {
        .system(operation: operation, path: "\(path)/\(name)", errno: errno)
    }
}
