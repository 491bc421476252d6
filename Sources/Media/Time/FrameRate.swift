/// Pictures per second as a fraction: 30/1, 30000/1001.
package struct FrameRate: Hashable, Sendable, CustomStringConvertible {
    package let numerator: Int32
    package let denominator: Int32

    /// - Precondition: both parts are positive; parsers and readers check what they read first.
    package init(_ numerator: Int32, per denominator: Int32 = 1) {
        precondition(numerator > 0 && denominator > 0, "a picture rate must be positive")
        self.numerator = numerator
        self.denominator = denominator
    }

    /// Time of picture `number` after picture 0, nanoseconds, rounded down. Rounding does not accumulate.
    package func nanoseconds(ofPicture number: Int64) -> Int64 {
        let scaled = Int128(number) * 1_000_000_000 * Int128(denominator)
        return Int64(scaled / Int128(numerator))
    }

    /// The number of pictures due before `nanoseconds`: those at 0 … nanoseconds − 1.
    package func pictures(inNanoseconds nanoseconds: Int64) -> Int64 {
        guard nanoseconds > 0 else { return 0 }
        let divisor = Int128(denominator) * 1_000_000_000
        let last = (Int128(nanoseconds) * Int128(numerator) - 1) / divisor
        var count = Int64(last) + 1
        while self.nanoseconds(ofPicture: count) < nanoseconds { count += 1 }
        return count
    }

    /// "30", "12.5", "29.97": at most two decimals.
    package var description: String {
        let hundredths = (Int64(numerator) * 100 + Int64(denominator) / 2) / Int64(denominator)
        let (whole, rest) = hundredths.quotientAndRemainder(dividingBy: 100)
        if rest == 0 { return "\(whole)" }
        return rest % 10 == 0 ? "\(whole).\(rest / 10)" : "\(whole).\(rest / 10)\(rest % 10)"
    }
}

extension FrameRate: Comparable {
    package static func < (left: FrameRate, right: FrameRate) -> Bool {
        Int64(left.numerator) * Int64(right.denominator)
            < Int64(right.numerator) * Int64(left.denominator)
    }

    /// 30/1 and 60/2 are the same rate.
    package static func == (left: FrameRate, right: FrameRate) -> Bool {
        !(left < right) && !(right < left)
    }

    package func hash(into hasher: inout Hasher) {
        let rounded = Int64(numerator) * 1_000_000 / Int64(denominator)
        hasher.combine(rounded)
    }
}
