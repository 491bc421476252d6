import Glibc
import RTSP
import Terminal

/// A file with a network camera's user name and password, which nobody but its owner may read.
enum CameraLoginFile {
    /// A name and a password have this much at most.
    private static let maximumBytes = 4_096

    static func read(_ path: String) throws -> CameraLogin {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Failure("--camera-login \(path) is not a regular file")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw Failure(
                "--camera-login \(path) can be read by other users: chmod 600 \(path)")
        }
        var bytes = [UInt8](repeating: 0, count: maximumBytes)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw failure(path) }
        guard
            let login = CameraLogin(fileText: String(decoding: bytes.prefix(count), as: UTF8.self))
        else {
            throw Failure("--camera-login \(path): the first line must be USER:PASSWORD")
        }
        return login
    }

    private static func failure(_ path: String) -> Failure {
        Failure("cannot read --camera-login \(path): \(String(cString: strerror(errno)))")
    }
}
