/// Credentials for signing requests. Descriptions of it omit the secrets.
package struct StoreCredentials: Hashable, Sendable, CustomStringConvertible,
    CustomDebugStringConvertible, CustomReflectable
{
    package var accessKey: String
    package var secretKey: String
    /// Session token of temporary credentials; nil for permanent ones.
    package var sessionToken: String?

    package init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
    }

    package var description: String { "credentials" }
    package var debugDescription: String { description }
    /// For `dump` and failed test expectations.
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// Whether they are valid in a header: printable ASCII, not empty.
    var isUsable: Bool {
        [accessKey, secretKey, sessionToken ?? "-"].allSatisfy { text in
            !text.isEmpty && text.utf8.count <= 8_192
                && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
    }
}
