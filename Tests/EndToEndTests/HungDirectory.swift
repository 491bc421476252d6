import Foundation
import Glibc

/// A directory that does not answer: a file system (FUSE) whose requests are not served. Every access waits until it is
/// taken away.
final class HungDirectory: Sendable {
    private let path: String
    private let device: Int32

    /// Whether this process may mount, and the kernel has FUSE.
    static let isPossible: Bool = {
        let path = "\(NSTemporaryDirectory())hung-\(UUID().uuidString)"
        guard mkdir(path, 0o700) == 0 else { return false }
        defer { rmdir(path) }
        guard let hung = try? HungDirectory(at: path) else { return false }
        hung.end()
        return true
    }()

    /// - Parameter path: an existing directory, whose content is hidden meanwhile.
    init(at path: String) throws {
        self.path = path
        device = open("/dev/fuse", O_RDWR | O_CLOEXEC)
        let options = "fd=\(device),rootmode=40000,user_id=0,group_id=0"
        guard device >= 0, mount("hung", path, "fuse", 0, options) == 0 else {
            throw StageFailure(description: "\(path) cannot be made to hang: errno \(errno)")
        }
    }

    /// Releases all waiting calls: they fail.
    func end() {
        close(device)
        umount2(path, Int32(MNT_DETACH))
    }
}
