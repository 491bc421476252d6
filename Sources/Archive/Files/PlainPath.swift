import CLinux
import Glibc

// The one way to what is below an archive's directory, which may come from a stranger.
//
// A link in it may lead anywhere, and opening a pipe or a device may wait for ever or do something. So no call below follows a
// symbolic link, in any part of the path, and only regular files are opened. The archive's own directory may be behind links:
// `ArchiveLayout` resolves its path once (`NamedPath.resolved(_:)`), which leaves none in the paths that begin with it.
//
// Each path is split into a directory and a name. Opening the directory is the only call that resolves a path; everything else
// is done with a name in an open directory. So nothing that changes meanwhile leads elsewhere.

/// System calls on paths without symbolic links. Each returns what the call of its name returns, −1 with `errno` on failure:
///
/// - `ELOOP`: a part of the path is a symbolic link.
/// - `EISDIR`, `ENXIO`: what should be a file is a directory, or a pipe, socket or device.
/// - `EINVAL`: the path has a part `..`, or a zero byte.
enum PlainPath {
    /// What a path is resolved with.
    enum Resolution: CaseIterable {
        /// openat2(2), one call.
        case kernel
        /// openat(2) for each part, where a kernel or a filter of system calls does not have the other one.
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
        // Filters of system calls may answer EPERM to calls that they do not know.
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

    /// Runs `body` with the directory that holds `path`, and its name there.
    /// - Returns: nil, with `errno`, where the directory cannot be opened.
    private static func withDirectory<Result>(
        of path: String, _ body: (_ directory: Int32, _ name: String) -> Result
    ) -> Result? {
        var path = path[...]
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        let slash = path.lastIndex(of: "/")
        let name = slash.map { path[path.index(after: $0)...] } ?? path
        let holder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard isResolvable(String(name)) else {
            errno = EINVAL
            return nil
        }
        let directory = openDirectory(holder, flags: CLinux_O_PATH)
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
                // Nothing else is opened even for a moment: that would wake who waits at a pipe, or start a device.
                guard isRegular(status) else { return -1 }
            } else if errno != ENOENT || flags & O_CREAT == 0 {
                return -1
            }
            let descriptor = CLinux_open_at(
                directory, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode)
            guard descriptor >= 0 else { return -1 }
            // Something else may have got the name since.
            guard fstat(descriptor, &status) == 0, isRegular(status) else {
                let code = errno
                close(descriptor)
                errno = code
                return -1
            }
            return descriptor
        } ?? -1
    }

    /// Whether a status is that of a regular file; else `errno` says what it is.
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

/// To name what is in a directory, not to read it.
private let pathDirectory = CLinux_O_PATH | O_DIRECTORY
