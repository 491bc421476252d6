import Archive

/// Instants of a session as text in tables.
enum InstantText {
    /// `2026-11-20 22:40:00.000`, UTC.
    static func dateAndTime(_ sessionNanoseconds: Int64, zero: UTCTime) -> String {
        String(utc(sessionNanoseconds, zero: zero).replacing("T", with: " ").dropLast())
    }

    /// `22:40:00.000`, UTC.
    static func timeOfDay(_ sessionNanoseconds: Int64, zero: UTCTime) -> String {
        String(dateAndTime(sessionNanoseconds, zero: zero).suffix(12))
    }

    /// RFC 3339.
    static func utc(_ sessionNanoseconds: Int64, zero: UTCTime) -> String {
        let (sum, overflow) = zero.nanoseconds.addingReportingOverflow(sessionNanoseconds)
        return UTCTime(nanoseconds: overflow ? zero.nanoseconds : sum).description
    }

    /// Three decimals, rounded: `12.345 s`.
    static func seconds(_ nanoseconds: Int64) -> String {
        let (half, overflow) = nanoseconds.magnitude.addingReportingOverflow(500_000)
        let milliseconds = (overflow ? nanoseconds.magnitude : half) / 1_000_000
        let rest = String(milliseconds % 1_000 + 1_000).dropFirst()
        return "\(nanoseconds < 0 && milliseconds > 0 ? "-" : "")\(milliseconds / 1_000).\(rest) s"
    }
}
