import Media

/// Seconds as a decimal-floating-point (RFC 8216 §4.2), exact to the microsecond: `4`, `2.00002`. Negative values become 0.
func secondsText(microseconds: Int64) -> String {
    let (whole, part) = max(0, microseconds).quotientAndRemainder(dividingBy: 1_000_000)
    guard part > 0 else { return String(whole) }
    let digits = String(part)
    var text = String(whole) + "." + String(repeating: "0", count: 6 - digits.count) + digits
    while text.utf8.last == UInt8(ascii: "0") { text.removeLast() }
    return text
}

/// Nanoseconds as microseconds, to the nearest.
///
/// Durations are differences of positions that were rounded by it, so the sums of written durations are exact to the microsecond.
func microseconds(_ nanoseconds: Int64) -> Int64 {
    saturatingRescale(nanoseconds, from: .nanoseconds, to: Timescale(1_000_000))
}
