/// The credentials file of AWS's tools: `[profile]`, followed by `aws_access_key_id = …` (AWS SDKs and Tools Reference
/// Guide, "Format of the shared config and credentials files").
enum CredentialsFile {
    static let maximumBytes = 1 << 20
    private static let maximumLines = 100_000

    /// The credentials of a profile.
    /// - Returns: nil without such a profile, or without keys in it.
    static func credentials(of profile: String, in bytes: [UInt8]) -> StoreCredentials? {
        var isWanted = false
        var values: [String: String] = [:]
        let lines = bytes.split(
            maxSplits: maximumLines, omittingEmptySubsequences: true,
            whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") })
        for line in lines.prefix(maximumLines) {
            let text = trimmed(String(decoding: line, as: UTF8.self)[...])
            if text.isEmpty || text.hasPrefix("#") || text.hasPrefix(";") { continue }
            if text.hasPrefix("[") {
                let name = trimmed(text.dropFirst().prefix { $0 != "]" })
                isWanted = name == profile || name == "profile \(profile)"
                continue
            }
            guard isWanted, let equals = text.firstIndex(of: "=") else { continue }
            let name = trimmed(text[..<equals]).lowercased()
            values[name] = String(trimmed(text[text.index(after: equals)...]))
        }
        guard let accessKey = values["aws_access_key_id"],
            let secretKey = values["aws_secret_access_key"]
        else { return nil }
        return StoreCredentials(
            accessKey: accessKey, secretKey: secretKey,
            sessionToken: values["aws_session_token"].flatMap { $0.isEmpty ? nil : $0 })
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }
}
