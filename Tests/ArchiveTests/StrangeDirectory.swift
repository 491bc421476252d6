import Archive
import CLinux
import Glibc
import TestRecordings
import Testing

/// Entries that may replace an archive's file or directory.
enum StrangeEntry: CaseIterable {
    case file, directory, linkToFile, linkToDirectory, linkToNothing, linkToItself, pipe, socket

    /// Makes one. Links lead to the `outside` directory, which has a file `file` and a directory `directory`.
    func make(at path: String, outside: String) {
        let result: Int32
        switch self {
        case .file: result = touch(path)
        case .directory: result = mkdir(path, 0o755)
        case .linkToFile: result = symlink("\(outside)/file", path)
        case .linkToDirectory: result = symlink("\(outside)/directory", path)
        case .linkToNothing: result = symlink("\(outside)/nothing", path)
        case .linkToItself: result = symlink(path, path)
        case .pipe: result = mkfifo(path, 0o644)
        case .socket: result = mknod(path, S_IFSOCK | 0o644, 0)
        }
        precondition(result == 0, "\(self) at \(path): errno \(errno)")
    }

    private func touch(_ path: String) -> Int32 {
        let descriptor = CLinux_open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o644)
        return descriptor < 0 ? -1 : close(descriptor)
    }
}

/// An archive's directory, and one outside that must stay unchanged.
final class StrangeDirectory {
    private let directory = TemporaryDirectory()
    let archive: String
    let outside: String

    init() throws {
        archive = "\(directory.path)/archive"
        outside = "\(directory.path)/outside"
        try FileSystem.makeDirectories("\(outside)/directory")
        try FileSystem.makeDirectories(archive)
        for name in ["file", "directory/file"] {
            try FileSystem.replace("\(outside)/\(name)", with: Array("canary".utf8))
        }
    }

    /// A path in the archive.
    func path(_ name: String) -> String { "\(archive)/\(name)" }

    func expectOutsideUnchanged(sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(
            try FileSystem.names(in: outside) == ["directory", "file"],
            sourceLocation: sourceLocation)
        #expect(
            try FileSystem.names(in: "\(outside)/directory") == ["file"],
            sourceLocation: sourceLocation)
        for name in ["file", "directory/file"] {
            #expect(
                try FileSystem.read("\(outside)/\(name)", limit: 64) == Array("canary".utf8),
                sourceLocation: sourceLocation)
        }
    }
}
