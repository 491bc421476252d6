import HTTPTypes

/// The requested range of a file (RFC 9110 §14.1.2, §13.1.5). Requests for several ranges are answered with the whole file, as the
/// standard allows.
enum ByteRangeRequest: Hashable, Sendable {
    case whole
    case part(Range<Int64>)
    case notSatisfiable

    /// - Parameters:
    ///   - range: the value of `Range`.
    ///   - ifRange: the value of `If-Range`: the range is used only if the file is unchanged.
    init(_ range: String?, ifRange: String?, tag: String, sizeBytes: Int64) {
        guard let range, range.utf8.count <= 100, ifRange == nil || ifRange == tag,
            range.hasPrefix("bytes=")
        else {
            self = .whole
            return
        }
        let words = range.dropFirst("bytes=".count).split(
            separator: "-", omittingEmptySubsequences: false)
        guard words.count == 2, words.allSatisfy(Self.isNumber) else {
            self = .whole
            return
        }
        switch (Self.number(words[0]), Self.number(words[1])) {
        case (let first?, let last?):
            guard first <= last else {
                self = .whole
                return
            }
            self = first < sizeBytes ? .part(first..<min(last, sizeBytes - 1) + 1) : .notSatisfiable
        case (let first?, nil):
            guard words[1].isEmpty else {
                self = .notSatisfiable
                return
            }
            self = first < sizeBytes ? .part(first..<sizeBytes) : .notSatisfiable
        case (nil, let count?):
            guard words[0].isEmpty else {
                self = .notSatisfiable
                return
            }
            self =
                count > 0 && sizeBytes > 0
                ? .part(max(0, sizeBytes - count)..<sizeBytes) : .notSatisfiable
        case (nil, nil):
            // Empty, or larger than any file.
            self = .whole
        }
    }

    /// Nil if the text is empty. Saturates.
    private static func number(_ text: Substring) -> Int64? {
        text.isEmpty ? nil : Int64(text) ?? .max
    }

    private static func isNumber(_ text: Substring) -> Bool {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
