/// Ticks per second of a clock or a track ("timescale", ISO/IEC 14496-12 §8.4.2.3).
package struct Timescale: Hashable, Sendable {
    /// Ticks per second, 1 … 2³²−1.
    package let ticksPerSecond: UInt32

    /// - Precondition: `ticksPerSecond` is not zero; readers check what they read first.
    package init(_ ticksPerSecond: UInt32) {
        precondition(ticksPerSecond > 0, "a timescale of zero has no ticks")
        self.ticksPerSecond = ticksPerSecond
    }

    /// The clocks' own unit.
    package static let nanoseconds = Timescale(1_000_000_000)
    /// Timescale of video tracks: MPEG's 90 kHz.
    package static let video = Timescale(90_000)

    /// `ticks` in nanoseconds, to the nearest one; clamped as by ``saturatingRescale(_:from:to:)``.
    package func nanoseconds(_ ticks: Int64) -> Int64 {
        saturatingRescale(ticks, from: self, to: .nanoseconds)
    }
}

/// The rounding of a value between two ticks.
package enum Rounding: Sendable {
    /// To the nearest tick; half is rounded away from zero.
    case nearest
    /// Towards negative infinity.
    case down
    /// Towards positive infinity.
    case up
}

/// A rescaled value that no `Int64` can hold.
package struct RescaleOverflow: Error, Hashable {
    package let value: Int64
    package let from: Timescale
    package let to: Timescale
}

/// Converts `value` from one timescale to another, and rounds once.
///
/// Whole seconds and the remainder are scaled separately, so nothing is lost before the division.
/// - Throws: ``RescaleOverflow`` when the result does not fit in 64 bits.
package func rescale(
    _ value: Int64, from: Timescale, to: Timescale, rounding: Rounding = .nearest
) throws(RescaleOverflow) -> Int64 {
    if from == to { return value }
    // value = whole × from + rest, so value × to ÷ from = whole × to + rest × to ÷ from, and only the last part is rounded.
    let (whole, rest) = value.quotientAndRemainder(dividingBy: Int64(from.ticksPerSecond))
    // Both factors have at most 32 bits.
    let product = rest.magnitude * UInt64(to.ticksPerSecond)
    let divisor = UInt64(from.ticksPerSecond)
    var (part, left) = product.quotientAndRemainder(dividingBy: divisor)
    switch rounding {
    case .nearest:
        if 2 * left >= divisor { part += 1 }
    case .down:
        if left > 0 && rest < 0 { part += 1 }
    case .up:
        if left > 0 && rest > 0 { part += 1 }
    }
    // A part is at most one second of the new timescale: it fits.
    let signedPart = rest < 0 ? -Int64(part) : Int64(part)
    let (scaled, scaledOverflow) = whole.multipliedReportingOverflow(by: Int64(to.ticksPerSecond))
    let (result, overflow) = scaled.addingReportingOverflow(signedPart)
    guard !scaledOverflow, !overflow else {
        throw RescaleOverflow(value: value, from: from, to: to)
    }
    return result
}

/// Rescales and clamps to ±2⁶¹, so that sums and differences of two results fit: 73 years in nanoseconds.
package func saturatingRescale(_ value: Int64, from: Timescale, to: Timescale) -> Int64 {
    let limit: Int64 = 1 << 61
    do {
        return max(-limit, min(limit, try rescale(value, from: from, to: to)))
    } catch {
        return value < 0 ? -limit : limit
    }
}
