/// `nanoseconds × ppb ÷ 10⁹`, rounded towards negative infinity, clamped to 64 bits.
func drift(over nanoseconds: Int64, ppb: Int64) -> Int64 {
    let billion: Int64 = 1_000_000_000
    let (product, overflow) = nanoseconds.multipliedReportingOverflow(by: ppb)
    guard overflow else {
        return product / billion - (product % billion < 0 ? 1 : 0)
    }
    let wide = Int128(nanoseconds) * Int128(ppb)
    return Int64(
        clamping: wide / Int128(billion) - (wide % Int128(billion) < 0 ? 1 : 0))
}

extension Int64 {
    /// The sum, or the nearest value that 64 bits can hold.
    func clampedAdding(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, or the nearest value that 64 bits can hold.
    func clampedSubtracting(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}
