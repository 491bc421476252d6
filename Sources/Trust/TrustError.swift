import Glibc

/// What is wrong with a key, a file of keys, or a wish about them; each is one line that says what to do.
package enum TrustError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Text that is no public key.
    case notAPublicKey(String)
    /// A secret key where a public one is asked for: it should be made anew.
    case isASecretKey
    /// A name that cannot be an agent's.
    case notAName(String)
    /// Text that is no pattern of sources.
    case notAPattern(String)
    /// No key has been made in this directory.
    case noOwnKey(directory: String)
    /// Nobody has said which collector a box is to trust.
    case noCollectorKey(endpoint: String, directory: String)
    /// There is a key already.
    case ownKeyExists(path: String)
    /// Others than the owner may read a secret key.
    case readableByOthers(path: String)
    /// Others than the owner may write what decides who is trusted.
    case writableByOthers(path: String)
    /// A file that is not of the form described in its first line.
    case malformed(path: String, line: Int, reason: String)
    /// A name that is taken by another key.
    case nameTaken(name: String, path: String)
    /// A key that is there under another name.
    case keyTaken(name: String)
    /// No agent of this name or key.
    case noSuchAgent(String, directory: String)
    /// More agents than are looked after.
    case tooManyAgents(directory: String, limit: Int)
    /// Text that `keys enrol` has not printed.
    case notAnEnrolmentLine
    /// Where no box could find a server.
    case notAServer(String, reason: String)
    /// A key that cannot be exchanged for a box's own.
    case notEnrollable(reason: String)
    /// Neither root nor a user with a home directory.
    case noDefaultDirectory
    /// A call of the system failed.
    case system(operation: String, path: String, errno: Int32)
    /// libzmq could not make or use a key.
    case keys(String)

    package var description: String {
        switch self {
        case .notAPublicKey(let text):
            "'\(text.prefix(80))' is no public key: it has 56 letters and digits, and one of these is "
                + "wrong or missing; copy what 'tributary keys generate' or 'tributary keys list' "
                + "prints"
        case .isASecretKey:
            "this is a secret key, which nobody else should see: make a new one, and give the "
                + "public key that 'tributary keys list' prints"
        case .notAName(let name):
            "'\(name.prefix(80))' cannot be an agent's name: use letters, digits, '.', '_' and '-', at "
                + "most 64, and begin with a letter or digit"
        case .notAPattern(let text):
            "'\(text.prefix(80))' cannot stand for sources: write a source's name, or the beginning of "
                + "names and '*'"
        case .noOwnKey(let directory):
            "there is no key in \(directory): make one with 'tributary keys generate --keys \(directory)'"
        case .noCollectorKey(let endpoint, let directory):
            "the key of the collector at \(endpoint) is not known: give --collector-key KEY (on the server "
                + "'tributary keys list' shows it), or 'tributary keys trust KEY' once for \(directory), or "
                + "--insecure if the network is yours alone"
        case .ownKeyExists(let path):
            "there is a key in \(path) already ('tributary keys list' shows its public key); remove "
                + "the file first if nobody trusts it any more"
        case .readableByOthers(let path):
            "others may read the secret key \(path): 'chmod 600 \(path)', and make a new key if others have"
        case .writableByOthers(let path):
            "others may write \(path), which says who is trusted: 'chmod go-w \(path)'"
        case .malformed(let path, let line, let reason):
            "\(path), line \(line): \(reason)"
        case .nameTaken(let name, let path):
            "the name \(name) is another key's (\(path)): to replace that box, 'tributary keys revoke \(name)' first and then "
                + "this again; for another box, choose another name"
        case .keyTaken(let name):
            "this key is authorised as \(name) already: 'tributary keys revoke \(name)' first, or "
                + "authorise it under that name"
        case .noSuchAgent(let text, let directory):
            "no agent '\(text.prefix(80))' in \(directory); 'tributary keys list' shows those there are"
        case .tooManyAgents(let directory, let limit):
            "\(directory) holds more than \(limit) files, the most that are looked at: remove those "
                + "of agents that are gone"
        case .notAnEnrolmentLine:
            "this is no line of 'tributary keys enrol': copy all of it, ADDRESS/KEY/TOKEN, as the server has printed it"
        case .notAServer(let text, let reason):
            "'\(text.prefix(80))' is no address at which boxes find the server: \(reason); write server, server:5550 or "
                + "tcp://server:5550"
        case .notEnrollable(let reason):
            "\(reason); on the server, 'tributary keys enrol' prints a new line"
        case .noDefaultDirectory:
            "nowhere to look for keys, because HOME is not set: say where with --keys"
        case .system(let operation, let path, EACCES) where operation == "read":
            "cannot read \(path): permission denied; run this as its owner, or give it to the user that "
                + "runs this ('chown USER \(path)')"
        case .system(let operation, let path, let errno):
            "cannot \(operation) \(path): \(String(cString: strerror(errno)))"
        case .keys(let text):
            text
        }
    }
}
