import Files
import Hashing

/// The key that signs cookies and links: HMAC-SHA256 (RFC 2104). It allows impersonating every account.
package struct AccessKey: Sendable {
    /// Purpose of a code, which is valid for no other purpose.
    package enum Purpose: String, Sendable {
        case session = "tributary-viewer session 1"
        case link = "tributary-viewer link 2"
        /// Identifies the state of the account that made a link.
        case linkMaker = "tributary-viewer link maker 1"
        /// Identifies the state of an account in a session.
        case account = "tributary-viewer account 1"
        /// Cost of verifying a name without an account.
        case decoy = "tributary-viewer decoy 1"
    }

    /// Size of a key.
    package static let byteCount = 32
    /// Size of an authentication code.
    package static let codeBytes = AuthenticationCode.byteCount

    private let key: [UInt8]

    package init(bytes: [UInt8]) {
        precondition(bytes.count == Self.byteCount, "a key has 32 bytes")
        key = bytes
    }

    /// The code of a message, 32 bytes.
    package func code(of message: [UInt8], for purpose: Purpose) -> [UInt8] {
        AuthenticationCode.code(of: Self.labelled(message, purpose), key: key)
    }

    /// Whether a code is valid for a message, in constant time.
    package func isValid(_ code: [UInt8], of message: [UInt8], for purpose: Purpose) -> Bool {
        AuthenticationCode.isValid(code, of: Self.labelled(message, purpose), key: key)
    }

    /// Labels contain no zero byte, so the first one separates label and message.
    private static func labelled(_ message: [UInt8], _ purpose: Purpose) -> [UInt8] {
        Array(purpose.rawValue.utf8) + [0] + message
    }
}

// Its file: comments, and one line of base64url.
extension AccessKey {
    private static let maximumFileBytes = 4_096

    /// The key of a file of accounts, which is created if it is missing. Two programs that start at once get the same key.
    package static func load(for users: UserFile) throws(AccessError) -> AccessKey {
        let path = users.keyPath
        if let key = try read(path) { return key }
        return try SecretFile.withLock(besides: path) { () throws(AccessError) -> AccessKey in
            if let key = try read(path) { return key }
            try SecretFile.create(path, Array(fileText(randomBytes(byteCount)).utf8))
            // Another program may have created the file in the meantime: its content is used.
            guard let key = try read(path) else { throw .notAKey(path: path) }
            return key
        }
    }

    private static func fileText(_ bytes: [UInt8]) -> String {
        """
        # The key that tributary-viewer signs cookies and links with. Who has it can pose as every
        # user: only its owner may read it (0600). Without it a new key is made, which ends all
        # log-ins and links.
        \(ByteText.base64URL(bytes))

        """
    }

    private static func read(_ path: String) throws(AccessError) -> AccessKey? {
        guard let content = try SecretFile.read(path, limit: maximumFileBytes) else { return nil }
        let text = String(decoding: content.bytes, as: UTF8.self)
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        guard lines.count == 1, let bytes = ByteText.decode(base64URL: String(lines[0])),
            bytes.count == byteCount
        else { throw .notAKey(path: path) }
        return AccessKey(bytes: bytes)
    }
}
