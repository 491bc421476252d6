import Files
import Glibc
import RTSP
import Terminal

/// The file with a camera's login, `--camera-login`.
enum CameraLoginFile {
    /// Maximum size of the file, larger than any name and password.
    private static let maximumBytes = 4_096

    static func read(_ path: String) throws -> CameraLogin {
        let content: SmallFile.Content?
        do throws(FileError) {
            content = try SmallFile.read(path, limit: maximumBytes, .secret)
        } catch .accessibleByOthers {
            throw Failure("--camera-login \(path) can be read by other users: chmod 600 \(path)")
        } catch {
            throw Failure("--camera-login: \(error)")
        }
        guard let content else {
            throw Failure("cannot read --camera-login \(path): \(systemMessage(ENOENT))")
        }
        guard let login = CameraLogin(fileText: String(decoding: content.bytes, as: UTF8.self))
        else { throw Failure("--camera-login \(path): the first line must be USER:PASSWORD") }
        return login
    }
}
