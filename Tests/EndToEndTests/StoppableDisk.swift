import Foundation
import Glibc

/// A file system (ext4 in a file) that can be stopped: until it continues, writes and synchronisations wait.
final class StoppableDisk: Sendable {
    /// FIFREEZE and FITHAW of `linux/fs.h`.
    private static let freeze: UInt = 0xC004_5877
    private static let thaw: UInt = 0xC004_5878

    /// Whether this process may mount, and the programs are there.
    static let isPossible =
        geteuid() == 0 && Foreign.isThere("mkfs.ext4")
        && FileManager.default.fileExists(atPath: "/dev/loop-control")

    private let path: String
    private let descriptor: Int32

    /// Mounts it on a directory that it makes.
    init(at path: String, on stage: Stage) async throws {
        self.path = path
        let image = stage.directory.appending(path: "disk.img")
        try Data().write(to: image)
        truncate(image.path, 64 << 20)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        _ = try await Foreign.quiet("mkfs.ext4", ["-q", image.path], on: stage)
        _ = try await Foreign.quiet("mount", ["-o", "loop", image.path, path], on: stage)
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }

    func stop() throws { try control(Self.freeze, "stopped") }

    func goOn() throws { try control(Self.thaw, "let go on") }

    /// Lets it continue, and unmounts it.
    func end() {
        _ = ioctl(descriptor, Self.thaw, 0)
        close(descriptor)
        umount2(path, Int32(MNT_DETACH))
    }

    private func control(_ request: UInt, _ what: String) throws {
        guard ioctl(descriptor, request, 0) == 0 else {
            throw StageFailure(description: "\(path) cannot be \(what): errno \(errno)")
        }
    }
}
