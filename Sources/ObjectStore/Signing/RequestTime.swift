/// An instant in the formats of signatures, listings and HTTP. Written in whole seconds; fractions are parsed.
struct RequestTime: Hashable, Sendable {
    /// Nanoseconds since 1970 (UTC).
    var nanoseconds: Int64

    init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// `20130524T000000Z` (ISO 8601, basic format).
    var basic: String {
        let (date, time) = parts
        return
            "\(Self.digits(date.year, 4))\(Self.digits(date.month, 2))\(Self.digits(date.day, 2))"
            + "T\(Self.digits(time / 3_600, 2))\(Self.digits(time / 60 % 60, 2))\(Self.digits(time % 60, 2))Z"
    }

    /// `20130524`.
    var day: String { String(basic.prefix(8)) }

    /// Parses `Fri, 24 May 2013 00:00:00 GMT` (RFC 9110 §5.6.7, IMF-fixdate).
    init?(httpDate text: String) {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT",
            let day = Self.number(words[1], 1...31),
            let month = Self.months.firstIndex(of: String(words[2])),
            let year = Self.number(words[3], 1970...9999)
        else { return nil }
        let clock = words[4].split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3 else { return nil }
        self.init(year, Int64(month) + 1, day, clock, fraction: "")
    }

    /// Parses `2013-05-24T00:00:00.000Z` (ISO 8601, extended format, UTC).
    init?(extended text: String) {
        guard text.utf8.count <= 40, text.hasSuffix("Z") else { return nil }
        let halves = text.dropLast().split(separator: "T", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        let date = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        let parts = halves[1].split(separator: ".", omittingEmptySubsequences: false)
        guard date.count == 3, let year = Self.number(date[0], 1970...9999),
            let month = Self.number(date[1], 1...12), let day = Self.number(date[2], 1...31),
            (1...2).contains(parts.count)
        else { return nil }
        let clock = parts[0].split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3 else { return nil }
        self.init(year, month, day, clock, fraction: parts.count == 2 ? parts[1] : "")
    }

    private init?(
        _ year: Int64, _ month: Int64, _ day: Int64, _ clock: [Substring], fraction: Substring
    ) {
        guard let hour = Self.number(clock[0], 0...23), let minute = Self.number(clock[1], 0...59),
            let second = Self.number(clock[2], 0...60)
        else { return nil }
        var nanos: Int64 = 0
        if !fraction.isEmpty {
            let kept = fraction.prefix(9)
            guard fraction.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let value = Int64(kept + String(repeating: "0", count: 9 - kept.count))
            else { return nil }
            nanos = value
        }
        let seconds =
            Self.days(year: year, month: month, day: day) * 86_400 + hour * 3_600 + minute * 60
            + second
        // The year 9999 exceeds 64 bits of nanoseconds.
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow, product <= Int64.max - 1_000_000_000 else { return nil }
        nanoseconds = product + nanos
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func number(_ text: Substring, _ range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.count <= 4, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let value = Int64(text), range.contains(value)
        else { return nil }
        return value
    }

    private static func digits(_ value: Int64, _ count: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }

    private var parts: (date: (year: Int64, month: Int64, day: Int64), secondOfDay: Int64) {
        let seconds = nanoseconds >= 0 ? nanoseconds / 1_000_000_000 : 0
        return (Self.date(day: seconds / 86_400), seconds % 86_400)
    }

    /// Days since 1970 of a Gregorian date. Years begin in March, so that leap days come last.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }

    /// The date of a day since 1970.
    private static func date(day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let index = (5 * dayOfYear + 2) / 153
        let month = index < 10 ? index + 3 : index - 9
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month,
            dayOfYear - (153 * index + 2) / 5 + 1
        )
    }
}
