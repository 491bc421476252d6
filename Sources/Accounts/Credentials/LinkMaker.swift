import Hashing

/// Identifies the account that made a link by 16 bytes that do not reveal it.
///
/// They are a keyed hash of the account's line, like the fingerprint in a ``LogInSession``: whatever ends the account's
/// log-ins ends its links. Changing a leaked password revokes links made with it, and a later account of the same name does
/// not restore any.
package struct LinkMaker: Hashable, Sendable {
    private static let byteCount = 16

    private let bytes: [UInt8]

    package init(_ account: UserAccount, key: AccessKey) {
        bytes = Array(
            key.code(of: Array(account.text.utf8), for: .linkMaker).prefix(Self.byteCount))
    }

    /// 22 characters, base64url.
    package var text: String { ByteText.base64URL(bytes) }

    /// Parses ``text``; nil if it is invalid.
    package init?(text: String) {
        guard text.utf8.count <= 32, let bytes = ByteText.decode(base64URL: text),
            bytes.count == Self.byteCount
        else { return nil }
        self.bytes = bytes
    }
}
