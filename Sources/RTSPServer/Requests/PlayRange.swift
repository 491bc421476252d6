/// `Range` of a PLAY request (RFC 2326 §12.29), in normal play time.
package enum PlayRange: Hashable, Sendable {
    /// No range: the current position, or the beginning.
    case unspecified
    /// `npt=now-`
    case now
    /// Nanoseconds of normal play time.
    /// - Parameter until: exclusive; nil: to the end.
    case from(Int64, until: Int64?)

    /// 100 years, more than any recording.
    private static let maximumSeconds: Int64 = 3_155_760_000

    /// Nil for a malformed or empty range, and for other units.
    package init?(_ header: String?) {
        guard let header, !header.isEmpty else {
            self = .unspecified
            return
        }
        // The part after the semicolon is the time at which to begin playing.
        let text = header.split(separator: ";", omittingEmptySubsequences: false)[0]
        guard text.hasPrefix("npt=") else { return nil }
        let parts = text.dropFirst(4).split(
            separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if parts[0] == "now" {
            guard parts[1].isEmpty else { return nil }
            self = .now
            return
        }
        guard let start = Self.nanoseconds(parts[0]) else { return nil }
        guard !parts[1].isEmpty else {
            self = .from(start, until: nil)
            return
        }
        guard let end = Self.nanoseconds(parts[1]), end > start else { return nil }
        self = .from(start, until: end)
    }

    /// `83.5` or `0:01:23.5` (RFC 2326 §3.6).
    private static func nanoseconds(_ text: Substring) -> Int64? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let fields = parts[0].split(separator: ":", omittingEmptySubsequences: false)
        guard fields.count == 1 || fields.count == 3, !fields.contains(where: \.isEmpty) else {
            return nil
        }
        var seconds: Int64 = 0
        for field in fields {
            guard field.utf8.count <= 10, isDigits(field), let number = Int64(field) else {
                return nil
            }
            seconds = seconds * 60 + number
            guard seconds <= maximumSeconds else { return nil }
        }
        var fraction: Int64 = 0
        if parts.count > 1 {
            guard isDigits(parts[1]) else { return nil }
            let digits = parts[1].utf8.prefix(9)
            for digit in digits { fraction = fraction * 10 + Int64(digit - 0x30) }
            for _ in digits.count..<9 { fraction *= 10 }
        }
        return seconds * 1_000_000_000 + fraction
    }

    private static func isDigits(_ text: Substring) -> Bool {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Normal play time in seconds with three decimals, for responses and descriptions.
    package static func text(_ nanoseconds: Int64) -> String {
        let milliseconds = max(0, nanoseconds) / 1_000_000
        let rest = String(milliseconds % 1_000)
        return "\(milliseconds / 1_000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
    }
}
