import Files
import Glibc

/// Key files: ``SmallFile`` with the errors of this module.
enum PrivateFile {
    /// A whole file; nil if it does not exist.
    static func read(
        _ path: String, limit: Int, _ access: SmallFile.Access
    ) throws(TrustError) -> [UInt8]? {
        do throws(FileError) {
            return try SmallFile.read(path, limit: limit, access)?.bytes
        } catch {
            throw TrustError(error, access)
        }
    }

    /// Checks that only the owner can add files to a directory, because its files decide which keys are trusted.
    static func checkDirectory(_ path: String) throws(TrustError) {
        do throws(FileError) { try SmallFile.check(path, .trusted) } catch {
            throw TrustError(error, .trusted)
        }
    }

    /// Writes a file atomically and durably.
    static func write(
        _ path: String, _ bytes: [UInt8], mode: mode_t, _ replacement: SmallFile.Replacement
    ) throws(TrustError) {
        do throws(FileError) {
            try SmallFile.write(bytes, to: path, mode: mode, replacement)
        } catch {
            if case .system(_, _, EEXIST) = error { throw .ownKeyExists(path: path) }
            throw TrustError(error)
        }
    }

    /// Creates a directory and its parents, whose files decide which keys are trusted.
    static func makeDirectory(_ path: String) throws(TrustError) {
        do throws(FileError) { try Directory.make(path, isForOwnerAbove: true) } catch {
            throw TrustError(error)
        }
    }
}

extension TrustError {
    /// - Parameter access: the permissions that were checked.
    init(_ error: FileError, _ access: SmallFile.Access = .secret) {
        switch error {
        case .system(let operation, let path, let errno):
            self = .system(operation: operation, path: path, errno: errno)
        case .notAFile(let path):
            self = .malformed(path: path, line: 1, reason: "this is not a regular file")
        case .tooLarge(let path, let limit):
            self = .malformed(path: path, line: 1, reason: "it is larger than \(limit) bytes")
        case .accessibleByOthers(let path):
            self = access == .secret ? .readableByOthers(path: path) : .writableByOthers(path: path)
        }
    }
}
