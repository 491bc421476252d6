import CLinux
import Files
import Glibc

/// A file that appears under its name when it is complete: until then it has a temporary name in the same directory,
/// and is removed if the work fails.
///
/// Owned by one thread.
package final class OutputFile {
    /// The final path.
    package let path: String
    package let temporaryPath: String
    private var isCommitted = false

    /// - Parameters:
    ///   - overwrites: whether an existing file may be replaced.
    ///   - inputs: files that are read: the output must be none of them.
    package init(_ path: String, overwrites: Bool, inputs: [String] = []) throws {
        self.path = path
        try Self.check(path, overwrites: overwrites, inputs: inputs)
        temporaryPath = Self.temporaryPath(of: path)
        let descriptor = open(temporaryPath, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw ExportError.system(operation: "write", path: path, reason: systemMessage(errno))
        }
        close(descriptor)
    }

    package static func temporaryPath(of path: String) -> String {
        "\(Path.directory(of: path))/.\(Path.name(of: path)).\(getpid()).part"
    }

    deinit {
        if !isCommitted { unlink(temporaryPath) }
    }

    /// Checks whether a file may be written.
    /// - Throws: ``ExportError`` if it exists and may not be replaced, is no regular file, or is an input.
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

    func sizeBytes() throws -> Int64 {
        var status = stat()
        guard stat(temporaryPath, &status) == 0 else {
            throw ExportError.system(operation: "access", path: path, reason: systemMessage(errno))
        }
        return Int64(status.st_size)
    }

    /// Renames the file to its final name, and replaces an existing one.
    package func commit() throws {
        guard rename(temporaryPath, path) == 0 else {
            throw ExportError.system(operation: "name", path: path, reason: systemMessage(errno))
        }
        isCommitted = true
    }
}
