import Glibc
import Terminal

/// Writes a command's output file atomically.
enum OutputFile {
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

    /// Writes the bytes to a temporary file, and renames it; `-` is standard output.
    static func write(_ bytes: [UInt8], to path: String, overwrites: Bool) throws {
        if path == "-" { return try write(bytes, STDOUT_FILENO, path) }
        // Checked again, because the picture may have taken time.
        try check(path, overwrites: overwrites)
        let temporary = "\(path).part"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure(path) }
        do {
            defer { close(descriptor) }
            try write(bytes, descriptor, path)
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, path) == 0 else {
            let error = failure(path)
            unlink(temporary)
            throw error
        }
    }

    private static func write(_ bytes: [UInt8], _ descriptor: Int32, _ path: String) throws {
        try bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let slice = UnsafeRawBufferPointer(rebasing: rest)
                let written = Glibc.write(descriptor, slice.baseAddress, slice.count)
                if written < 0, errno == EINTR { continue }
                guard written > 0 else { throw failure(path) }
                rest = rest.dropFirst(written)
            }
        }
    }

    private static func failure(_ path: String) -> Failure {
        Failure("cannot write \(path): \(String(cString: strerror(errno)))")
    }
}
