import Glibc

/// Paths as text, like dirname(3) and basename(3).
package enum Path {
    /// The directory of a path's file: `.` for a bare name, `/` for one in the root.
    package static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The last component, without slashes; the path itself if it has none.
    package static func name(of path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }

    /// The path, or its nearest parent directory that exists: missing directories are created later.
    /// - Returns: nil, with `errno`, if a parent cannot be examined.
    package static func existingPart(of path: String) -> String? {
        var path = path
        while access(path, F_OK) != 0 {
            guard errno == ENOENT, path != "." else { return nil }
            path = directory(of: path)
        }
        return path
    }
}
