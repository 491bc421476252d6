/// The format of all key files: lines `name = value`; `#` begins a comment; blank lines are ignored. Unknown and
/// repeated names are errors.
struct FieldFile {
    /// Far more than the longest file needs.
    static let maximumBytes = 16_384

    private var fields: [String: (value: String, line: Int)] = [:]
    private let path: String

    init(_ text: String, names: Set<String>, path: String) throws(TrustError) {
        self.path = path
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
        for (index, line) in lines.enumerated() {
            let content = trimmed(line.prefix { $0 != "#" })
            if content.isEmpty { continue }
            guard let sign = content.firstIndex(of: "=") else {
                throw .malformed(
                    path: path, line: index + 1,
                    reason: "write 'name = value', or '#' and a comment"
                )
            }
            let name = String(trimmed(content[..<sign]))
            guard names.contains(name) else {
                throw .malformed(
                    path: path, line: index + 1,
                    reason: "'\(name.prefix(40))' is not a known name; use "
                        + names.sorted().joined(separator: ", "))
            }
            guard fields[name] == nil else {
                throw .malformed(
                    path: path, line: index + 1,
                    reason: "\(name) is given twice: remove one of them")
            }
            fields[name] = (
                String(trimmed(content[content.index(after: sign)...])), index + 1
            )
        }
    }

    func optional(_ name: String) -> String? { fields[name]?.value }

    /// A required value.
    func required(_ name: String) throws(TrustError) -> String {
        guard let value = fields[name]?.value else {
            throw .malformed(path: path, line: 1, reason: "the line '\(name) = …' is missing")
        }
        return value
    }

    /// An error about a value.
    func flaw(in name: String, _ reason: String) -> TrustError {
        .malformed(path: path, line: fields[name]?.line ?? 1, reason: reason)
    }
}

private func trimmed(_ text: Substring) -> Substring {
    var text = text
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
}
