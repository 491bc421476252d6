import Hashing

/// The account that made a link, as it was then: 16 bytes that say nothing of it to who has the link.
///
/// They are a code of the account's line, like the fingerprint in a ``LogInSession``: whatever ends the account's log-ins ends its links. A
/// password that is changed because it leaked ends the links that were made with it; an account of the same name that comes later revives none.
package struct LinkMaker: Hashable, Sendable {
    private static let byteCount = 16

    private let bytes: [UInt8]

    package init(_ account: UserAccount, key: AccessKey) {
        bytes = Array(
            key.code(of: Array(account.text.utf8), for: .linkMaker).prefix(Self.byteCount))
    }

    /// 22 characters, base64url.
    package var text: String { ByteText.base64URL(bytes) }

    /// Reads what ``text`` wrote; nil for anything else.
    package init?(text: String) {
        guard text.utf8.count <= 32, let bytes = ByteText.decode(base64URL: text),
            bytes.count == Self.byteCount
        else { return nil }
        self.bytes = bytes
    }
}
