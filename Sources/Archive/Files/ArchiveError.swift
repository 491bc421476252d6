import Files
import Glibc
import Media

/// An error with recordings on disk; every case has the location.
package enum ArchiveError: Error, Hashable, CustomStringConvertible {
    /// A system call failed.
    case system(operation: String, path: String, errno: Int32)
    /// A name that is not a valid directory name.
    case badName(String)
    /// A file of the archive with unexpected content.
    case malformed(path: String, reason: String)
    /// The disk has less free space than its reserve.
    case noRoom(path: String, freeBytes: UInt64, reserveBytes: UInt64)
    /// A file exceeds a limit.
    case exceeded(path: String, reason: String)
    /// A catalog's server cannot be used at present.
    case unavailable(place: String, reason: String)
    /// An object store has refused or failed a request. The reason names the store and the object.
    case store(reason: String)

    init(_ error: FileError) {
        guard case .system(let operation, let path, let code) = error else {
            preconditionFailure("an archive's files are not checked for permissions")
        }
        self = .system(operation: operation, path: path, errno: code)
    }

    package var description: String {
        switch self {
        case .system(let operation, let path, let code):
            "cannot \(operation) \(path): \(Self.message(code))"
        case .badName(let name):
            "'\(name.prefix(80))' is not a valid name: use letters, digits, '.', '_' and '-', at most 64, and begin "
                + "with a letter or digit"
        case .malformed(let path, let reason), .exceeded(let path, let reason):
            "\(path): \(reason)"
        case .noRoom(let path, _, _):
            "cannot write \(path): \(reason)"
        case .unavailable(let place, let reason):
            "\(place): \(reason)"
        case .store(let reason):
            reason
        }
    }

    /// The error without the path.
    package var reason: String {
        switch self {
        case .system(_, _, let code): Self.message(code)
        case .badName: "invalid name"
        case .malformed(_, let reason), .exceeded(_, let reason), .unavailable(_, let reason),
            .store(let reason):
            reason
        case .noRoom(_, let free, let reserve):
            "the disk is full: \(byteText(free)) free, \(byteText(reserve)) reserved"
        }
    }

    /// Whether more disk space would help.
    package var isForRoom: Bool {
        switch self {
        case .noRoom: true
        case .system(_, _, let code): code == ENOSPC || code == EDQUOT
        case .badName, .malformed, .exceeded, .unavailable, .store: false
        }
    }

    /// Whether it is temporary: another program is using the file, or its server is unavailable.
    package var isForLock: Bool { code == EBUSY || isForServer }

    /// Whether the file itself is wrong or exceeds a limit, until it is rewritten.
    package var isForContent: Bool {
        switch self {
        case .malformed, .exceeded: true
        case .system, .badName, .noRoom, .unavailable, .store: false
        }
    }

    /// Whether a server is unavailable.
    package var isForServer: Bool {
        if case .unavailable = self { true } else { false }
    }

    /// Whether an object store has refused or failed a request, possibly temporarily.
    package var isForStore: Bool {
        if case .store = self { true } else { false }
    }

    /// Whether the caller may read but not write.
    package var isForPermission: Bool { code == EACCES || code == EPERM || code == EROFS }

    /// Whether the file or directory does not exist.
    package var isForAbsence: Bool { code == ENOENT }

    /// Whether an archive's entry is of the wrong kind: a link, a pipe, a directory instead of a file, or a file that
    /// may not be read. It is permanent, and does not concern the rest of the archive.
    package var isForEntry: Bool {
        switch code {
        case ELOOP, EISDIR, ENOTDIR, ENXIO, ENAMETOOLONG, E2BIG, EACCES, EPERM: true
        default: false
        }
    }

    /// Whether one file is missing, unreadable or wrong. Other files of the archive may be readable.
    package var isForOneFile: Bool {
        isForContent || isForAbsence || isForEntry || code == EIO
    }

    /// Whether the files of one session do not respond: those of others may.
    package var isForSilence: Bool { code == ETIMEDOUT }

    /// The system's message for an errno; for those of ``PlainPath``, their meaning in an archive.
    private static func message(_ code: Int32) -> String {
        switch code {
        case ELOOP:
            "it is a symbolic link, or behind one; an archive may contain none: put there what it points to"
        case ENXIO: "it is a pipe, socket or device instead of a file: remove it"
        case E2BIG: "it has more entries than a directory of an archive can have"
        case EISDIR: "it is a directory instead of a file: remove it"
        case ETIMEDOUT: "it does not answer: check the file system that it is on"
        case ECANCELED: "the program ends"
        default: systemMessage(code)
        }
    }

    /// The errno of a failed system call.
    package var code: Int32? {
        if case .system(_, _, let code) = self { code } else { nil }
    }
}
