// Saturating arithmetic for numbers from peers and files, where ordinary arithmetic would trap. A hostile number only
// falsifies its sender's own total.
extension FixedWidthInteger {
    /// The sum, or the nearest value that the type can hold.
    @inlinable package func clampedAdding(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, or the nearest value that the type can hold.
    @inlinable package func clampedSubtracting(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    /// The product, or the nearest value that the type can hold.
    @inlinable package func clampedMultiplied(by other: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self < 0) != (other < 0) ? .min : .max) : product
    }

    /// Adds in place, up to the type's limits.
    @inlinable package mutating func addClamped(_ other: Self) { self = clampedAdding(other) }
}

extension Sequence where Element: FixedWidthInteger {
    /// The sum of all, up to the type's limits.
    @inlinable package var clampedSum: Element { reduce(0) { $0.clampedAdding($1) } }
}
