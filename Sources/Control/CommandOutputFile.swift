import Files
import Glibc
import Terminal

/// Writes a command's output file atomically.
enum CommandOutputFile {
    /// Checks whether the file may be written.
    /// - Parameter overwrites: whether an existing regular file may be replaced.
    static func check(_ path: String, overwrites: Bool) throws {
        var status = stat()
        guard path != "-", stat(path, &status) == 0 else { return }
        // The rename would replace a device by a picture.
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(
                "cannot write \(path): it is not a regular file; use - for standard output")
        }
        guard overwrites else {
            throw Failure("\(path) already exists: use --overwrite to replace it")
        }
    }

    /// Writes the bytes atomically; `-` is standard output.
    static func write(_ bytes: [UInt8], to path: String, overwrites: Bool) throws {
        guard path != "-" else {
            guard Descriptor.write(STDOUT_FILENO, bytes) else {
                throw Failure("cannot write \(path): \(systemMessage(errno))")
            }
            return
        }
        // Checked again, because the picture may have been slow.
        try check(path, overwrites: overwrites)
        do throws(FileError) { try SmallFile.write(bytes, to: path, mode: 0o644) } catch {
            throw Failure("\(error)")
        }
    }
}
