/// A date and time of day, in UTC and the Gregorian calendar: the only conversion between them and seconds since 1970.
package struct CivilTime: Hashable, Sendable {
    package let year: Int
    /// From 1.
    package let month: Int
    /// From 1.
    package let day: Int
    package let hour: Int
    package let minute: Int
    package let second: Int

    package init(secondsSince1970 seconds: Int64) {
        let days = Int(seconds.flooredQuotient(86_400))
        let rest = Int(seconds) - days * 86_400
        (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60)
        // Years begin in March, so that leap days come last; an era has 400 years.
        let shifted = days + 719_468
        let era = shifted.flooredQuotient(146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let index = (5 * dayOfYear + 2) / 153
        month = index < 10 ? index + 3 : index - 9
        day = dayOfYear - (153 * index + 2) / 5 + 1
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    package init(nanosecondsSince1970 nanoseconds: Int64) {
        self.init(secondsSince1970: nanoseconds.flooredQuotient(1_000_000_000))
    }

    /// - Returns: nil if the calendar has no such date, or the day no such time. Leap seconds are none.
    package init?(
        year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0
    ) {
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
        guard (0...9999).contains(year), (1...12).contains(month), (1...31).contains(day),
            CivilTime(secondsSince1970: secondsSince1970) == self
        else { return nil }
    }

    /// A digit, or the character itself.
    private static let pattern = Array("0000-00-00T00:00:00".utf8)

    /// Parses `2026-11-20T22:40:00`, the beginning of an instant of RFC 3339; file names have hyphens for colons.
    package init?(
        _ text: some Collection<UInt8>, timeSeparator: UInt8 = UInt8(ascii: ":")
    ) {
        guard text.count == Self.pattern.count else { return nil }
        var numbers = [0]
        for (byte, wanted) in zip(text, Self.pattern) {
            if wanted == UInt8(ascii: "0") {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                numbers[numbers.count - 1] =
                    numbers[numbers.count - 1] * 10 + Int(byte - UInt8(ascii: "0"))
            } else {
                guard byte == (wanted == UInt8(ascii: ":") ? timeSeparator : wanted) else {
                    return nil
                }
                numbers.append(0)
            }
        }
        self.init(
            year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3],
            minute: numbers[4], second: numbers[5])
    }

    package var secondsSince1970: Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.flooredQuotient(400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let days =
            era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        return Int64(days * 86_400 + hour * 3_600 + minute * 60 + second)
    }

    /// `2026-11-20`.
    package var date: String { "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))" }

    /// `22:40:00`.
    package var clock: String { clock(":") }

    package func clock(_ separator: String) -> String {
        [hour, minute, second].map { padded($0, 2) }.joined(separator: separator)
    }
}

/// `number` with leading zeros.
package func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}

extension SignedInteger {
    /// The quotient, rounded towards negative infinity.
    package func flooredQuotient(_ divisor: Self) -> Self {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
