import Files
import Glibc

/// An error about a key, a key file or a security option; each description is one line with the remedy.
package enum TrustError: Error, Hashable, Sendable, CustomStringConvertible {
    /// An invalid public key.
    case notAPublicKey(String)
    /// A secret key in place of a public one: it is compromised, and must be replaced.
    case isASecretKey
    /// An invalid name of an agent.
    case notAName(String)
    /// An invalid source pattern.
    case notAPattern(String)
    /// The directory has no own key.
    case noOwnKey(directory: String)
    /// The box has no key of a collector to trust.
    case noCollectorKey(endpoint: String, directory: String)
    /// The key exists already.
    case ownKeyExists(path: String)
    /// The directory has another key than the group.
    case otherOwnKey(path: String)
    /// A secret key is readable by others than its owner.
    case readableByOthers(path: String)
    /// A file or directory of trusted keys is writable by others than its owner.
    case writableByOthers(path: String)
    /// A malformed file.
    case malformed(path: String, line: Int, reason: String)
    /// The name has another key.
    case nameTaken(name: String, path: String)
    /// The key is registered under another name.
    case keyTaken(name: String)
    /// No agent of this name or key.
    case noSuchAgent(String, directory: String)
    /// Too many agent files.
    case tooManyAgents(directory: String, limit: Int)
    /// Not an output of `keys enrol`.
    case notAnEnrolmentLine
    /// An invalid server address.
    case notAServer(String, reason: String)
    /// A key that cannot be exchanged for a box's own.
    case notEnrollable(reason: String)
    /// Neither root nor a user with a home directory.
    case noDefaultDirectory
    /// A system call failed.
    case system(operation: String, path: String, errno: Int32)
    /// libzmq could not create or use a key.
    case keys(String)

    package var description: String {
        switch self {
        case .notAPublicKey(let text):
            "'\(text.prefix(80))' is not a valid public key: copy all 56 letters and digits, as printed by "
                + "'tributary keys generate' or 'tributary keys list'"
        case .isASecretKey:
            "this is a secret key, which must not be shared: generate a new key, and give the "
                + "public key printed by 'tributary keys list'"
        case .notAName(let name):
            "'\(name.prefix(80))' is not a valid name for a box: use at most 64 letters, digits, '.', '_' and "
                + "'-', beginning with a letter or digit"
        case .notAPattern(let text):
            "'\(text.prefix(80))' is not a valid source pattern: use a source name, or a prefix "
                + "followed by '*'"
        case .noOwnKey(let directory):
            "there is no key in \(directory): generate one with 'tributary keys generate --keys \(directory)'"
        case .noCollectorKey(let endpoint, let directory):
            "the key of the collector at \(endpoint) is not known: give --collector-key KEY (shown by "
                + "'tributary keys list' on the server), run 'tributary keys trust KEY' once for \(directory), or "
                + "add --insecure on a trusted network"
        case .ownKeyExists(let path):
            "\(path) already holds a key ('tributary keys list' shows its public key): remove "
                + "the file first if that key is no longer used"
        case .otherOwnKey(let path):
            "\(path) holds another key than the one to import: boxes that trust it would not connect any more; add --replace if "
                + "none does"
        case .readableByOthers(let path):
            "the secret key \(path) is readable by other users: 'chmod 600 \(path)', and generate a new key if it may have leaked"
        case .writableByOthers(let path):
            "\(path), which lists trusted keys, is writable by other users: 'chmod go-w \(path)'"
        case .malformed(let path, let line, let reason):
            "\(path), line \(line): \(reason)"
        case .nameTaken(let name, let path):
            "the name \(name) belongs to another key (\(path)): to replace that box, run 'tributary keys revoke \(name)' and "
                + "then this command again; for another box, choose another name"
        case .keyTaken(let name):
            "this key is already authorised as \(name): run 'tributary keys revoke \(name)' first, or "
                + "use that name"
        case .noSuchAgent(let text, let directory):
            "no agent '\(text.prefix(80))' in \(directory): 'tributary keys list' lists the known ones"
        case .tooManyAgents(let directory, let limit):
            "\(directory) holds more than the maximum of \(limit) files: remove those of "
                + "agents that are no longer used"
        case .notAnEnrolmentLine:
            "this is not an enrolment line: copy the complete line ADDRESS/KEY/TOKEN printed by 'tributary keys enrol' on the server"
        case .notAServer(let text, let reason):
            "'\(text.prefix(80))' is not a valid server address: \(reason); use server, server:5550 or "
                + "tcp://server:5550"
        case .notEnrollable(let reason):
            "\(reason); on the server, 'tributary keys enrol' prints a new line"
        case .noDefaultDirectory:
            "there is no default key directory, because HOME is not set: use --keys"
        case .system(let operation, let path, EACCES) where operation == "read":
            "cannot read \(path): permission denied; run this as the owner of the file, or change "
                + "the owner ('chown USER \(path)')"
        case .system(let operation, let path, let errno):
            "cannot \(operation) \(path): \(systemMessage(errno))"
        case .keys(let text):
            text
        }
    }
}
