import Files
import Glibc

/// An invalid account, file of accounts, key or link; each description is one line with the remedy.
package enum AccessError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A name that cannot be an account's.
    case notAUserName(String)
    /// An invalid list of sources.
    case notSources(String)
    /// An invalid name or address of a host.
    case notAHostName(String)
    case passwordTooShort(minimumCharacters: Int)
    case passwordTooLong(maximumBytes: Int)
    /// An account of this name exists.
    case userExists(String, path: String)
    /// No account has this name.
    case noSuchUser(String, path: String)
    /// The file of accounts does not exist.
    case noUserFile(path: String)
    /// Other users may read or write a secret file.
    case accessibleByOthers(path: String)
    /// A line of the accounts file is invalid.
    case malformed(path: String, line: Int, reason: String)
    /// Not a regular file.
    case notAFile(path: String)
    /// A file without the key for cookies and links.
    case notAKey(path: String)
    case tooLarge(path: String, limitBytes: Int)
    case tooManyUsers(path: String, limit: Int)
    /// A link that would be valid for too long.
    case linkTooLong(maximumDays: Int64)
    /// An address that cannot be linked.
    case notLinkable(reason: String)
    /// scrypt failed.
    case hashing(reason: String)
    /// A system call failed.
    case system(operation: String, path: String, errno: Int32)

    package var description: String {
        switch self {
        case .notAUserName(let name):
            "'\(Self.excerpt(name))' is not a valid user name: use at most "
                + "\(UserName.maximumBytes) letters, digits, '.', '_', '@' and '-', beginning "
                + "with a letter or digit"
        case .notSources(let text):
            "'\(Self.excerpt(text))' is not a list of sources: use '*' for all, or names "
                + "separated by commas, each once"
        case .notAHostName(let text):
            "'\(Self.excerpt(text))' is not a host name: use a name or an address without a "
                + "port, such as viewer.example.org"
        case .passwordTooShort(let minimum):
            "the password is too short: use at least \(minimum) characters"
        case .passwordTooLong(let maximum):
            "the password is too long: use at most \(maximum) bytes"
        case .userExists(let name, let path):
            "\(path) already has an account '\(Self.excerpt(name))': use --replace to give it a "
                + "new secret, or choose another name"
        case .noSuchUser(let name, let path):
            "no account '\(Self.excerpt(name))' in \(path): 'tributary-viewer users list' lists "
                + "the known ones"
        case .noUserFile(let path):
            "there is no file \(path): add the first account with 'tributary-viewer users add'"
        case .accessibleByOthers(let path):
            "\(path), which holds secrets, is accessible by other users: 'chmod 600 \(path)', "
                + "and replace its secrets if they may have leaked"
        case .malformed(let path, let line, let reason):
            "\(path), line \(line): \(reason)"
        case .notAFile(let path):
            "\(path) is not a regular file: give the path of a file"
        case .notAKey(let path):
            "\(path) does not hold a key for cookies and links: restore the file, or remove it; "
                + "a new key ends all log-ins and links"
        case .tooLarge(let path, let limit):
            "\(path) is larger than \(limit) bytes: remove accounts and comments that are no "
                + "longer used"
        case .tooManyUsers(let path, let limit):
            "\(path) holds the maximum of \(limit) accounts: remove those that are no longer used"
        case .linkTooLong(let days):
            "a link must be valid for at least one second, and for at most \(days) days"
        case .notLinkable(let reason):
            "no link can be made for this: \(reason)"
        case .hashing(let reason):
            "the password could not be hashed: \(reason); check the free memory"
        case .system(let operation, let path, EACCES) where operation == "read":
            "cannot read \(path): permission denied; run this as the owner of the file, or change "
                + "the owner ('chown USER \(path)')"
        case .system(let operation, let path, let errno):
            "cannot \(operation) \(path): \(systemMessage(errno))"
        }
    }

    /// The beginning of untrusted text, without characters that control a terminal.
    package static func excerpt(_ text: String) -> String {
        let characters = text.unicodeScalars.prefix(80).map { scalar -> Character in
            scalar.properties.generalCategory == .control ? "?" : Character(scalar)
        }
        return String(characters)
    }
}
