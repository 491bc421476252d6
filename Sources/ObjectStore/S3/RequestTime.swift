import Media

/// An instant in the formats of signatures, listings and HTTP. Written in whole seconds; fractions are parsed.
struct RequestTime: Hashable, Sendable {
    /// Nanoseconds since 1970 (UTC).
    var nanoseconds: Int64

    init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// `20130524T000000Z` (ISO 8601, basic format).
    var basic: String {
        let time = CivilTime(secondsSince1970: max(0, nanoseconds / 1_000_000_000))
        return "\(time.date.filter { $0 != "-" })T\(time.clock(""))Z"
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
        self.init(year, month + 1, day, clock, fraction: "")
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
        _ year: Int, _ month: Int, _ day: Int, _ clock: [Substring], fraction: Substring
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
        // A leap second is the first one of the next minute.
        guard
            let time = CivilTime(
                year: year, month: month, day: day, hour: hour, minute: minute,
                second: min(second, 59))
        else { return nil }
        let seconds = time.secondsSince1970 + (second == 60 ? 1 : 0)
        // The year 9999 exceeds 64 bits of nanoseconds.
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow, product <= Int64.max - 1_000_000_000 else { return nil }
        nanoseconds = product + nanos
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func number(_ text: Substring, _ range: ClosedRange<Int>) -> Int? {
        guard text.utf8.count <= 4, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let value = Int(text), range.contains(value)
        else { return nil }
        return value
    }
}
