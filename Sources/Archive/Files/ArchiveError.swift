import Glibc
import Media

/// What can go wrong with recordings on disk; every case says where.
package enum ArchiveError: Error, Hashable, CustomStringConvertible {
    /// A system call failed.
    case system(operation: String, path: String, errno: Int32)
    /// A name that must not become a directory.
    case badName(String)
    /// A file of the archive that is not what its name promises.
    case malformed(path: String, reason: String)
    /// The disk has less left than has to stay free.
    case noRoom(path: String, freeBytes: UInt64, reserveBytes: UInt64)

    package var description: String {
        switch self {
        case .system(let operation, let path, let code):
            "cannot \(operation) \(path): \(systemMessage(code))"
        case .badName(let name):
            "'\(name.prefix(80))' cannot be a name: use letters, digits, '.', '_' and '-', at most 64, and begin "
                + "with a letter or digit"
        case .malformed(let path, let reason):
            "\(path): \(reason)"
        case .noRoom(let path, _, _):
            "cannot write \(path): \(reason)"
        }
    }

    /// What was wrong, without the path.
    package var reason: String {
        switch self {
        case .system(_, _, let code): systemMessage(code)
        case .badName: "not a name"
        case .malformed(_, let reason): reason
        case .noRoom(_, let free, let reserve):
            "the disk is full: \(byteText(free)) are free, and \(byteText(reserve)) have to stay so"
        }
    }

    /// Whether more room on the disk would help.
    package var isForRoom: Bool {
        switch self {
        case .noRoom: true
        case .system(_, _, let code): code == ENOSPC || code == EDQUOT
        case .badName, .malformed: false
        }
    }

    /// Whether another program is in the way, for now.
    package var isForLock: Bool { code == EBUSY }

    /// Whether the caller may read, and not write.
    package var isForPermission: Bool { code == EACCES || code == EPERM || code == EROFS }

    /// Whether what was to be worked on is not there.
    package var isForAbsence: Bool { code == ENOENT }

    /// The errno of a failed system call.
    package var code: Int32? {
        if case .system(_, _, let code) = self { code } else { nil }
    }
}
