import CLinux
import Files
import Glibc

// The only access to files below an archive's directory, whose content is untrusted.
//
// A link may lead anywhere, and opening a pipe or a device may block forever or have effects. So no call below follows
// a symbolic link, in any part of the path, and only regular files are opened. The archive's own directory may be
// behind links: `ArchiveLayout` resolves its path once (`NamedPath.resolved(_:)`), so paths that begin with it contain
// none.
//
// Each path is split into a directory and a name. Only opening the directory resolves a path; all other calls use a
// name in an open directory. So concurrent changes cannot redirect them.

/// System calls on paths without symbolic links. Each returns what the call of its name returns, −1 with `errno` on failure:
///
/// - `ELOOP`: a part of the path is a symbolic link.
/// - `EISDIR`, `ENXIO`: what should be a file is a directory, or a pipe, socket or device.
/// - `EINVAL`: the path has a part `..`, or a zero byte.
enum PlainPath {
    /// The system call that resolves a path.
    enum Resolution: CaseIterable {
        /// openat2(2), one call.
        case kernel
        /// openat(2) for each component, if the kernel or a seccomp filter does not allow openat2.
        case partByPart
    }

    // MARK: Directories

    /// Opens a directory; for its path alone with `CLinux_O_PATH`, to list or synchronise it with `O_RDONLY`.
    static func openDirectory(
        _ path: String, flags: Int32, by resolution: Resolution = .kernel
    ) -> Int32 {
        guard isResolvable(path) else {
            errno = EINVAL
            return -1
        }
        let flags = flags | O_DIRECTORY | O_CLOEXEC
        guard resolution == .kernel else { return walk(path, flags) }
        let descriptor = CLinux_open_linkless(path, flags)
        // Seccomp filters may return EPERM for unknown calls.
        guard descriptor < 0, errno == ENOSYS || errno == EPERM else { return descriptor }
        return walk(path, flags)
    }

    private static func walk(_ path: String, _ flags: Int32) -> Int32 {
        var directory = CLinux_open(
            path.hasPrefix("/") ? "/" : ".", pathDirectory | O_CLOEXEC, 0)
        let parts = path.split(separator: "/").map(String.init) + ["."]
        for (index, part) in parts.enumerated() where directory >= 0 {
            let isLast = index == parts.count - 1
            let next = CLinux_open_at(
                directory, part,
                isLast ? flags : pathDirectory | O_NOFOLLOW | O_CLOEXEC, 0)
            var code = errno
            if next < 0, code == ENOTDIR, isLink(part, in: directory) { code = ELOOP }
            close(directory)
            errno = code
            directory = next
        }
        return directory
    }

    private static func isLink(_ name: String, in directory: Int32) -> Bool {
        var status = stat()
        return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0
            && status.st_mode & S_IFMT == S_IFLNK
    }

    private static func isResolvable(_ path: String) -> Bool {
        !path.utf8.contains(0) && !path.split(separator: "/").contains("..")
    }

    /// Runs `body` with the parent directory of `path`, and the name in it.
    /// - Returns: nil, with `errno`, if the directory cannot be opened.
    private static func withDirectory<Result>(
        of path: String, _ body: (_ directory: Int32, _ name: String) -> Result
    ) -> Result? {
        var path = path[...]
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        let name = path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path
        guard isResolvable(String(name)) else {
            errno = EINVAL
            return nil
        }
        let directory = openDirectory(Path.directory(of: String(path)), flags: CLinux_O_PATH)
        guard directory >= 0 else { return nil }
        let result = body(directory, name.isEmpty ? "." : String(name))
        let code = errno
        close(directory)
        errno = code
        return result
    }

    // MARK: Files

    /// Opens a regular file, or creates one with `O_CREAT`.
    static func openFile(_ path: String, flags: Int32, mode: UInt32 = 0) -> Int32 {
        withDirectory(of: path) { directory, name in
            var status = stat()
            if fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
                // Other kinds are not opened even for a moment: that would wake a process that waits at a pipe, or
                // start a device.
                guard isRegular(status) else { return -1 }
            } else if errno != ENOENT || flags & O_CREAT == 0 {
                return -1
            }
            let descriptor = CLinux_open_at(
                directory, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode)
            guard descriptor >= 0 else { return -1 }
            // The name may have been replaced since.
            guard fstat(descriptor, &status) == 0, isRegular(status) else {
                let code = errno
                close(descriptor)
                errno = code
                return -1
            }
            return descriptor
        } ?? -1
    }

    /// Whether a status is that of a regular file; else sets `errno` to the kind.
    private static func isRegular(_ status: stat) -> Bool {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return true
        case S_IFLNK: errno = ELOOP
        case S_IFDIR: errno = EISDIR
        default: errno = ENXIO
        }
        return false
    }

    // MARK: Names

    /// lstat(2); nil on failure.
    static func status(_ path: String) -> stat? {
        var status = stat()
        let result = withDirectory(of: path) { directory, name in
            fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW)
        }
        return result == 0 ? status : nil
    }

    /// mkdir(2).
    static func makeDirectory(_ path: String) -> Int32 {
        withDirectory(of: path) { mkdirat($0, $1, 0o755) } ?? -1
    }

    /// unlink(2).
    static func unlink(_ path: String) -> Int32 {
        withDirectory(of: path) { unlinkat($0, $1, 0) } ?? -1
    }

    /// rmdir(2).
    static func removeDirectory(_ path: String) -> Int32 {
        withDirectory(of: path) { unlinkat($0, $1, AT_REMOVEDIR) } ?? -1
    }

    /// rename(2).
    static func rename(_ path: String, to new: String) -> Int32 {
        withDirectory(of: path) { directory, name in
            withDirectory(of: new) { renameat(directory, name, $0, $1) } ?? -1
        } ?? -1
    }
}

/// For operations on entries of a directory, not for reading it.
private let pathDirectory = CLinux_O_PATH | O_DIRECTORY
