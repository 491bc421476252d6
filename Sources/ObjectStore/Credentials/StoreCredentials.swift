/// What requests are signed with. It describes itself without its secrets.
package struct StoreCredentials: Hashable, Sendable, CustomStringConvertible,
    CustomDebugStringConvertible, CustomReflectable
{
    package var accessKey: String
    package var secretKey: String
    /// Of temporary credentials.
    package var sessionToken: String?

    package init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
    }

    package var description: String { "credentials" }
    package var debugDescription: String { description }
    /// Of what `dump` and failed test expectations would show.
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// Whether they can be in a header: printable ASCII, not empty.
    var isUsable: Bool {
        [accessKey, secretKey, sessionToken ?? "-"].allSatisfy { text in
            !text.isEmpty && text.utf8.count <= 8_192
                && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
    }
}
