import Glibc

/// A file that appears under its name when it is whole, and not before: until then it has another name beside it, and is removed
/// when the work ends otherwise.
///
/// Owned by one thread.
package final class OutputFile {
    /// What it is to be called.
    package let path: String
    /// What it is called meanwhile.
    package let temporaryPath: String
    private var isCommitted = false

    /// - Parameters:
    ///   - overwrites: whether a file of that name may be replaced.
    ///   - inputs: files that are read: the output is none of them.
    package init(_ path: String, overwrites: Bool, inputs: [String] = []) throws {
        self.path = path
        try Self.check(path, overwrites: overwrites, inputs: inputs)
        temporaryPath = Self.temporaryPath(of: path)
        let descriptor = open(temporaryPath, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw ExportError.system(operation: "write", path: path, reason: reason(errno))
        }
        close(descriptor)
    }

    /// What the file is called until it is whole.
    package static func temporaryPath(of path: String) -> String {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return "\(directory(of: path))/.\(name).\(getpid()).part"
    }

    deinit {
        if !isCommitted { unlink(temporaryPath) }
    }

    /// Looks whether a file may be written.
    /// - Throws: ``ExportError`` where it is there and may not be replaced, is no ordinary file, or is read.
    package static func check(_ path: String, overwrites: Bool, inputs: [String]) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw ExportError.refused(path: path, reason: "it is not a regular file")
        }
        for input in inputs {
            var other = stat()
            if stat(input, &other) == 0, other.st_ino == status.st_ino,
                other.st_dev == status.st_dev
            {
                throw ExportError.outputIsInput(path)
            }
        }
        guard overwrites else { throw ExportError.outputExists(path) }
    }

    /// Bytes that have been written so far.
    func sizeBytes() throws -> Int64 {
        var status = stat()
        guard stat(temporaryPath, &status) == 0 else {
            throw ExportError.system(operation: "access", path: path, reason: reason(errno))
        }
        return Int64(status.st_size)
    }

    /// Gives the file its name; what had it before is gone.
    package func commit() throws {
        guard rename(temporaryPath, path) == 0 else {
            throw ExportError.system(operation: "name", path: path, reason: reason(errno))
        }
        isCommitted = true
    }

    /// The directory that a path's file is in.
    static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// A failed system call's errno, for people.
func reason(_ code: Int32) -> String {
    guard let text = strerror(code) else { return "error \(code)" }
    return String(cString: text)
}
