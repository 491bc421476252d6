package import Files
import Hashing

/// The secret that the viewers and readers of a site share.
///
/// It is never sent. A reader sends a code of it for one host and one archive, so that a host which a false report names
/// gets nothing that another host accepts.
package struct SiteSecret: Sendable {
    /// Shorter ones could be guessed from a code.
    private static let minimumBytes = 32
    private static let maximumBytes = 512
    private static let maximumFileBytes = 4_096

    /// Purpose of a code: one for reading is not valid for changes.
    package enum Purpose: String, Sendable {
        case reading = "tributary site reader 1"
        /// Setting and removing marks.
        case marking = "tributary site marker 1"
        /// Changing labels and protection of sessions.
        case editing = "tributary site editor 1"
    }

    private let bytes: [UInt8]

    /// The error of a file. Each text names it, and what to do.
    package enum Flaw: Error, Hashable, CustomStringConvertible {
        case noFile(path: String)
        case file(FileError)
        /// No line, more than two, or one with blanks or other characters than printable ASCII.
        case malformed(path: String)
        case short(path: String)

        package var description: String {
            switch self {
            case .noFile(let path):
                "there is no \(path): copy it from another machine of the site, or create it with 'openssl rand -base64 32'"
            case .file(.accessibleByOthers(let path)):
                "\(path) is accessible by other users: chmod 600 \(path)"
            case .file(let error): "\(error)"
            case .malformed(let path):
                "\(path) is no site's token: one line of printable characters without blanks, or two while it is replaced, besides lines that begin with #"
            case .short(let path):
                "the token in \(path) has fewer than \(SiteSecret.minimumBytes) characters: create one with 'openssl rand -base64 32'"
            }
        }
    }

    /// - Parameter text: 32 to 512 characters of printable ASCII; nil otherwise.
    package init?(text: String) {
        let bytes = Array(text.utf8)
        guard (Self.minimumBytes...Self.maximumBytes).contains(bytes.count),
            bytes.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        self.bytes = bytes
    }

    /// While a token is replaced, there are the present one and the next or the last one.
    private static let maximumLines = 2

    /// Reads the file of a secret: one line or two, besides empty ones and those that begin with `#`.
    /// - Returns: in the order of the lines; at least one.
    /// - Throws: also if other users may read or write it.
    static func read(
        _ path: String
    ) throws(Flaw) -> (secrets: [SiteSecret], mark: SmallFile.Mark) {
        let content: SmallFile.Content?
        do throws(FileError) {
            content = try SmallFile.read(path, limit: Self.maximumFileBytes, .secret)
        } catch {
            throw .file(error)
        }
        guard let content else { throw .noFile(path: path) }
        let lines = String(decoding: content.bytes, as: UTF8.self).split(
            whereSeparator: \.isNewline
        ).filter { !$0.hasPrefix("#") }
        guard (1...Self.maximumLines).contains(lines.count) else { throw .malformed(path: path) }
        var secrets: [SiteSecret] = []
        for line in lines {
            if line.utf8.count < Self.minimumBytes { throw .short(path: path) }
            guard let secret = SiteSecret(text: String(line)) else { throw .malformed(path: path) }
            secrets.append(secret)
        }
        return (secrets, content.mark)
    }

    /// The bearer token of a reader: HMAC-SHA256 for one host and archive, base64url.
    /// - Parameter authority: `HOST[:PORT]`, as in the request's `Host`. The port is not part of the token, because a proxy may
    ///   change it.
    package func code(
        for authority: String, archive: String, _ purpose: Purpose = .reading
    ) -> String {
        ByteText.base64URL(
            AuthenticationCode.code(of: Self.message(purpose, authority, archive), key: bytes))
    }

    /// Whether a code is that of ``code(for:archive:_:)``, in constant time.
    package func admits(
        _ code: String, for authority: String, archive: String, _ purpose: Purpose = .reading
    ) -> Bool {
        guard code.utf8.count <= 64, let code = ByteText.decode(base64URL: code) else {
            return false
        }
        return AuthenticationCode.isValid(
            code, of: Self.message(purpose, authority, archive), key: bytes)
    }

    private static func message(
        _ purpose: Purpose, _ authority: String, _ archive: String
    ) -> [UInt8] {
        Array("\(purpose.rawValue)\0\(host(of: authority))\0\(archive)".utf8)
    }

    /// The host without its port, in lower case; an IPv6 address keeps its brackets.
    private static func host(of authority: String) -> String {
        let bracket = authority.lastIndex(of: "]") ?? authority.startIndex
        let end = authority[bracket...].lastIndex(of: ":") ?? authority.endIndex
        return authority[..<end].lowercased()
    }
}
