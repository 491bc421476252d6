import CLinux
import Glibc
package import Media

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
        guard bytes.count == 24, bytes[19] == UInt8(ascii: "."), bytes[23] == UInt8(ascii: "Z"),
            bytes[20..<23].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let time = CivilTime(bytes[..<19], timeSeparator: UInt8(ascii: "-")),
            let second = UTCTime(time)
        else { return nil }
        let milliseconds = bytes[20..<23].reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        nanoseconds = second.nanoseconds + milliseconds * 1_000_000
    }

    /// Nil for times beyond ``farthestNanoseconds``: four digits of a year can exceed 64 bits of nanoseconds.
    package init?(_ time: CivilTime) {
        let seconds = time.secondsSince1970
        guard seconds.magnitude < Self.farthestNanoseconds / 1_000_000_000 else { return nil }
        nanoseconds = seconds * 1_000_000_000
    }

    /// Parses a session's name: its zero, optionally followed by the name of its collector and a number, which distinguish
    /// sessions with the same zero.
    package init?(sessionName: String) {
        let rest = sessionName.dropFirst(24)
        guard rest.isEmpty || rest.first == "-" && rest.count > 1 else { return nil }
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
        let time = CivilTime(nanosecondsSince1970: nanoseconds)
        let milliseconds = Int(nanoseconds - time.secondsSince1970 * 1_000_000_000) / 1_000_000
        return "\(time.date)T\(time.clock(timeSeparator)).\(padded(milliseconds, 3))Z"
    }
}
