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
    /// What video tracks are written in: MPEG's 90 kHz.
    package static let video = Timescale(90_000)
}

/// Where a value between two ticks goes.
package enum Rounding: Sendable {
    /// To the nearest tick; exactly half goes away from zero.
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

/// `value` ticks of one timescale in ticks of another: the only place where a time changes its unit.
///
/// The product is computed in 128 bits, so nothing is lost before the division.
/// - Throws: ``RescaleOverflow`` when the result does not fit in 64 bits.
package func rescale(
    _ value: Int64, from: Timescale, to: Timescale, rounding: Rounding = .nearest
) throws(RescaleOverflow) -> Int64 {
    if from == to { return value }
    let divisor = Int128(from.ticksPerSecond)
    let product = Int128(value) * Int128(to.ticksPerSecond)
    var (quotient, remainder) = product.quotientAndRemainder(dividingBy: divisor)
    switch rounding {
    case .nearest:
        if 2 * remainder.magnitude >= divisor.magnitude { quotient += product < 0 ? -1 : 1 }
    case .down:
        if remainder < 0 { quotient -= 1 }
    case .up:
        if remainder > 0 { quotient += 1 }
    }
    guard let result = Int64(exactly: quotient) else {
        throw RescaleOverflow(value: value, from: from, to: to)
    }
    return result
}
