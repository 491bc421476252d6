import CLinux
import Glibc

/// Operations on users' paths, in which symbolic links are followed. Below an archive's directory, ``FileSystem``
/// follows none.
package enum NamedPath {
    package static func exists(_ path: String) -> Bool { status(path) != nil }

    package static func isDirectory(_ path: String) -> Bool {
        status(path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    }

    /// Whether the path is a Unix socket, and not a link to one.
    package static func isSocket(_ path: String) -> Bool { kind(path) == S_IFSOCK }

    /// Whether the path is a symbolic link.
    package static func isLink(_ path: String) -> Bool { kind(path) == S_IFLNK }

    /// The kind of file, without following the last component; nil if it does not exist.
    private static func kind(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    /// A file's modification time.
    package static func modified(_ path: String) throws(ArchiveError) -> UTCTime {
        guard let status = status(path) else {
            throw .system(operation: "get the status of", path: path, errno: errno)
        }
        return UTCTime(clamping: status.st_mtim)
    }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }

    /// Equal for paths of the same file or directory, however they are spelled: the device and the inode. For a path that
    /// does not exist, the absolute path of its existing part and the rest.
    package static func identity(_ path: String) -> String {
        if let status = status(path) { return "\(status.st_dev):\(status.st_ino)" }
        var existing = path
        var rest: [Substring] = []
        while true {
            let parts = existing.split(separator: "/", omittingEmptySubsequences: true)
            guard let last = parts.last else { return "/" + rest.joined(separator: "/") }
            if last != "." { rest.insert(last, at: 0) }
            let parent = parts.dropLast().joined(separator: "/")
            existing = existing.hasPrefix("/") ? "/\(parent)" : parent.isEmpty ? "." : parent
            if let whole = realpath(existing, nil) {
                defer { free(whole) }
                return "\(String(cString: whole))/\(rest.joined(separator: "/"))"
            }
            if existing == "." { return rest.joined(separator: "/") }
        }
    }

    /// Whether the path, or a directory on the way to it, may not be searched by this user.
    package static func isForbidden(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) != 0 && errno == EACCES
    }

    /// The path without symbolic links and `..`; the given path if it has none.
    ///
    /// Resolves symbolic links. If the path does not exist yet, only its existing part is resolved. A dangling link is kept,
    /// and is refused later.
    package static func resolved(_ path: String) -> String {
        var existing = path
        var rest = ""
        while !existing.isEmpty {
            if let status = PlainPath.status(existing), status.st_mode & S_IFMT != S_IFLNK {
                return path
            }
            if let whole = realpath(existing, nil) {
                defer { free(whole) }
                return String(cString: whole) + rest
            }
            while existing.hasSuffix("/") { existing.removeLast() }
            let parent = existing.lastIndex(of: "/").map { existing[...$0] } ?? ""
            rest = "/" + existing.dropFirst(parent.count) + rest
            existing = String(parent)
        }
        return path
    }
}
