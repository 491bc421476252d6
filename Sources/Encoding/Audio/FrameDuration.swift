/// Duration of `frames` at `rate` in nanoseconds, rounded to nearest.
func nanoseconds(frames: Int64, rate: Int) -> Int64 {
    scaled(frames, by: 1_000_000_000, over: Int128(rate))
}

/// Number of frames at `rate` nearest to that duration.
func frames(nanoseconds: Int64, rate: Int) -> Int64 {
    scaled(nanoseconds, by: Int128(rate), over: 1_000_000_000)
}

private func scaled(_ value: Int64, by factor: Int128, over divisor: Int128) -> Int64 {
    let product = Int128(value) * factor
    let half = product < 0 ? -divisor / 2 : divisor / 2
    return Int64(clamping: (product + half) / divisor)
}
