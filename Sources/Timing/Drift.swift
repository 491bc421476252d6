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
