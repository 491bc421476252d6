import Media
import CLinux
import Glibc

/// An instant of Coordinated Universal Time, in nanoseconds since 1970-01-01T00:00:00Z.
package struct UTCTime: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let nanoseconds: Int64

    /// Maximum distance of a read time from 1970, in either direction (the years 1827 to 2112): the difference of two such
    /// instants fits in 64 bits, with a margin.
    static let farthestNanoseconds: UInt64 = 4_500_000_000_000_000_000

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// A file's time, which is not trustworthy: clamped to ``farthestNanoseconds``.
    init(clamping time: timespec) {
        let farthest = Int(Self.farthestNanoseconds / 1_000_000_000)
        let seconds = min(max(time.tv_sec, -farthest), farthest)
        self.init(nanoseconds: Int64(seconds) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// `2026-11-20T22:40:00.000Z` (RFC 3339), truncated to milliseconds.
    package var description: String { text(timeSeparator: ":") }

    /// `2026-11-20T22-40-00.000Z`: the same for file names, in which some systems do not allow colons.
    package var fileName: String { text(timeSeparator: "-") }

    /// Parses ``fileName``; nil for times beyond ``farthestNanoseconds``.
    package init?(fileName: some StringProtocol) {
        let bytes = Array(fileName.utf8)
        guard bytes.count == 24, bytes[23] == UInt8(ascii: "Z") else { return nil }
        let pattern = Array("dddd-dd-ddTdd-dd-dd.dddZ".utf8)
        for (byte, wanted) in zip(bytes, pattern) {
            if wanted == UInt8(ascii: "d") {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            } else if byte != wanted {
                return nil
            }
        }
        func number(_ range: Range<Int>) -> Int32 {
            bytes[range].reduce(0) { $0 * 10 + Int32($1 - UInt8(ascii: "0")) }
        }
        var parts = tm()
        parts.tm_year = number(0..<4) - 1900
        parts.tm_mon = number(5..<7) - 1
        parts.tm_mday = number(8..<10)
        parts.tm_hour = number(11..<13)
        parts.tm_min = number(14..<16)
        parts.tm_sec = number(17..<19)
        let wanted = parts
        let seconds = timegm(&parts)
        // timegm normalises an invalid date such as the 40th: this program writes no such names.
        guard parts.tm_mon == wanted.tm_mon, parts.tm_mday == wanted.tm_mday,
            parts.tm_hour == wanted.tm_hour, parts.tm_min == wanted.tm_min
        else { return nil }
        // Four digits of a year can exceed 64 bits of nanoseconds.
        guard seconds.magnitude < Self.farthestNanoseconds / 1_000_000_000 else { return nil }
        nanoseconds = Int64(seconds) * 1_000_000_000 + Int64(number(20..<23)) * 1_000_000
    }

    /// Parses a session's name: its zero, possibly with a number that distinguishes it from others with the same zero.
    init?(sessionName: String) {
        let number = sessionName.dropFirst(24)
        guard number.isEmpty || number.first == "-" && Int(number.dropFirst()) ?? 0 > 1 else {
            return nil
        }
        self.init(fileName: sessionName.prefix(24))
    }

    /// The instant this many nanoseconds later.
    package func advanced(by nanoseconds: Int64) -> UTCTime {
        UTCTime(nanoseconds: self.nanoseconds.clampedAdding(nanoseconds))
    }

    package static func < (left: UTCTime, right: UTCTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    private func text(timeSeparator: String) -> String {
        var seconds = time_t(nanoseconds / 1_000_000_000)
        var rest = nanoseconds % 1_000_000_000
        if rest < 0 {
            seconds -= 1
            rest += 1_000_000_000
        }
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let date = [
            digits(Int(parts.tm_year) + 1900, 4), digits(Int(parts.tm_mon) + 1, 2),
            digits(Int(parts.tm_mday), 2),
        ].joined(separator: "-")
        let clock = [Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec)]
            .map { digits($0, 2) }.joined(separator: timeSeparator)
        return "\(date)T\(clock).\(digits(Int(rest / 1_000_000), 3))Z"
    }
}

/// A number with leading zeros.
private func digits(_ number: Int, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, width - text.count)) + text
}
