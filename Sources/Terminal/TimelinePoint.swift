import ArgumentParser
import Media

/// A moment of a session in options: session time (`1:23.5`, `1:02:03`, `90s`, `13.3`, `500ms`) or UTC
/// (`2026-11-20T22:40:00.5Z`).
package enum TimelinePoint: HintedArgument, Hashable, CustomStringConvertible {
    /// Nanoseconds from the session's zero.
    case session(nanoseconds: Int64)
    /// Nanoseconds since 1970-01-01T00:00:00Z.
    case utc(nanoseconds: Int64)

    package static var valueHint: String {
        "a time such as 1:23.5, 90s or 2026-11-20T22:40:00Z"
    }

    package init?(argument: String) {
        let isNegative = argument.hasPrefix("-")
        let text = isNegative ? argument.dropFirst() : argument[...]
        if let nanoseconds = Self.clockTime(text) ?? TimeSpan(argument: String(text))?.nanoseconds {
            self = .session(nanoseconds: isNegative ? -nanoseconds : nanoseconds)
        } else if let nanoseconds = Self.utc(argument) {
            self = .utc(nanoseconds: nanoseconds)
        } else {
            return nil
        }
    }

    /// The moment on the timeline of a session.
    /// - Parameter zero: the session's zero, nanoseconds since 1970.
    package func sessionNanoseconds(zeroUTCNanoseconds zero: Int64) -> Int64 {
        switch self {
        case .session(let nanoseconds): nanoseconds
        case .utc(let nanoseconds): nanoseconds.subtractingReportingOverflow(zero).partialValue
        }
    }

    package var description: String {
        switch self {
        case .session(let nanoseconds): Self.text(nanoseconds)
        case .utc(let nanoseconds): "\(nanoseconds) ns UTC"
        }
    }

    /// Session time as text: `1:23.500`, with hours if necessary.
    package static func text(_ nanoseconds: Int64) -> String {
        let milliseconds = Int(nanoseconds.magnitude / 1_000_000)
        let (seconds, rest) = (milliseconds / 1_000, milliseconds % 1_000)
        let (minutes, second) = (seconds / 60, seconds % 60)
        let (hours, minute) = (minutes / 60, minutes % 60)
        let sign = nanoseconds < 0 && milliseconds > 0 ? "-" : ""
        let fraction = padded(rest, 3)
        return hours > 0
            ? "\(sign)\(hours):\(padded(minute, 2)):\(padded(second, 2)).\(fraction)"
            : "\(sign)\(minute):\(padded(second, 2)).\(fraction)"
    }

    /// `[[h:]m:]s[.fraction]` with at least one colon.
    static func clockTime(_ text: Substring) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), let last = parts.last else { return nil }
        var total: Int64 = 0
        for (index, part) in parts.dropLast().enumerated() {
            guard let value = digits(part, 1...9), index == 0 || value < 60 else { return nil }
            total = total * 60 + value
        }
        guard let seconds = fixed(last), seconds < 60 * 1_000_000_000 else { return nil }
        // A billion hours exceed 64 bits of nanoseconds.
        let (minutes, overflow) = total.multipliedReportingOverflow(by: 60 * 1_000_000_000)
        let sum = minutes.addingReportingOverflow(seconds)
        return overflow || sum.overflow ? nil : sum.partialValue
    }

    /// Seconds with at most nine decimal digits, in nanoseconds.
    private static func fixed(_ text: Substring) -> Int64? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let whole = digits(parts[0], 1...2) else { return nil }
        guard parts.count == 2 else { return whole * 1_000_000_000 }
        guard var fraction = digits(parts[1], 1...9) else { return nil }
        for _ in parts[1].utf8.count..<9 { fraction *= 10 }
        return whole * 1_000_000_000 + fraction
    }

    private static func digits(_ text: Substring, _ count: ClosedRange<Int>) -> Int64? {
        guard count.contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int64(text)
    }

    /// `2026-11-20T22:40:00[.fraction]Z` (RFC 3339); hyphens instead of colons, as in file names, are accepted too.
    private static func utc(_ text: String) -> Int64? {
        guard text.utf8.count >= 20, text.hasSuffix("Z"), text.utf8.allSatisfy({ $0 < 0x80 }) else {
            return nil
        }
        let date = text.utf8.prefix(19)
        let fraction = text.dropFirst(19).dropLast()
        guard fraction.isEmpty || fraction.hasPrefix("."), let rest = fixed("0" + fraction),
            let time = CivilTime(date) ?? CivilTime(date, timeSeparator: UInt8(ascii: "-")),
            (1970...2200).contains(time.year)
        else { return nil }
        return time.secondsSince1970 * 1_000_000_000 + rest
    }
}
