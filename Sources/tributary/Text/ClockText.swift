import Media

/// Clock quantities as text.
enum ClockText {
    /// Milliseconds with three decimals, or seconds for large values: `0.123 ms`, `123.456 s`.
    static func duration(_ nanoseconds: Int64) -> String {
        let sign = nanoseconds < 0 ? "-" : ""
        let microseconds = (nanoseconds.magnitude + 500) / 1_000
        if microseconds < 10_000_000 {
            return "\(sign)\(microseconds / 1_000).\(padded(Int(microseconds % 1_000), 3)) ms"
        }
        let milliseconds = (nanoseconds.magnitude + 500_000) / 1_000_000
        return "\(sign)\(milliseconds / 1_000).\(padded(Int(milliseconds % 1_000), 3)) s"
    }

    /// Parts per million with three decimals.
    static func skew(_ partsPerBillion: Int64) -> String {
        let sign = partsPerBillion < 0 ? "-" : ""
        let magnitude = partsPerBillion.magnitude
        return "\(sign)\(magnitude / 1_000).\(padded(Int(magnitude % 1_000), 3)) ppm"
    }
}
