import ArgumentParser
import Glibc
import Media

/// An instant as a command-line argument: a date, optionally with a time of day, in the machine's time zone or with an
/// explicit one.
package struct CalendarInstant: HintedArgument, Hashable, CustomStringConvertible {
    /// Since 1970-01-01T00:00:00Z.
    package let nanoseconds: Int64

    package static var valueHint: String {
        "a date, or a date and a time, such as 2026-11-20, '2026-11-20 22:40' (local time), 2026-11-20T22:40:00Z or "
            + "2026-11-20T22:40:00+01:00"
    }

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// A date alone means its first instant. Without a zone, the time is local; an hour that daylight saving skips or
    /// repeats needs one.
    package init?(argument: String) {
        guard let written = Written(argument), written.instants.count == 1 else { return nil }
        nanoseconds = written.instants[0] * 1_000_000_000 + written.fraction
    }

    package static func fault(in argument: String) -> String? {
        guard let written = Written(argument) else { return nil }
        let times = written.instants.isEmpty ? "does not exist" : "occurs twice"
        return
            "\(argument) \(times) in local time, where the clocks are changed: write the zone behind it, such as "
            + "2026-11-20T22:40:00+01:00"
    }

    /// A syntactically valid instant, and its possible meanings.
    private struct Written {
        /// Seconds since 1970: exactly one, except for local times at a change of the clocks.
        let instants: [Int64]
        /// Nanoseconds.
        let fraction: Int64

        init?(_ argument: String) {
            let date = /([0-9]{4})-([0-9]{2})-([0-9]{2})/
            let clock = /[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?/
            // The notation of file and session names.
            let fileClock = /T([0-9]{2})-([0-9]{2})-([0-9]{2})(?:\.([0-9]{1,9}))?(?=Z)/
            guard let day = argument.prefixMatch(of: date) else { return nil }
            var rest = argument[day.range.upperBound...]
            var time = (hour: Substring("0"), minute: Substring("0"), second: Substring("0"))
            var fraction: Substring = "0"
            let isDate = rest.isEmpty
            if let match = rest.prefixMatch(of: clock) {
                time = (match.output.1, match.output.2, match.output.3 ?? "0")
                fraction = match.output.4 ?? "0"
                rest = rest[match.range.upperBound...]
            } else if let match = rest.prefixMatch(of: fileClock) {
                time = (match.output.1, match.output.2, match.output.3)
                fraction = match.output.4 ?? "0"
                rest = rest[match.range.upperBound...]
            } else if !isDate {
                return nil
            }
            guard let zone = Zone(rest),
                let seconds = CalendarInstant.seconds(
                    (day.output.1, day.output.2, day.output.3), time),
                let part = Int64(fraction + String(repeating: "0", count: 9 - fraction.count))
            else { return nil }
            self.fraction = part
            switch zone {
            case .offset(let offset): instants = [seconds - offset]
            case .local: instants = Self.local(seconds, isDate: isDate)
            }
        }

        /// The instants at which local clocks show that time; `shown` is the time as if it were UTC.
        private static func local(_ shown: Int64, isDate: Bool) -> [Int64] {
            tzset()
            func offset(at instant: Int64) -> Int64 {
                var seconds = time_t(instant)
                var parts = tm()
                localtime_r(&seconds, &parts)
                return Int64(parts.tm_gmtoff)
            }
            // No zone is more than a day from UTC, and none changes twice in two days.
            let before = offset(at: shown - 86_400)
            let candidates = Set([shown - before, shown - offset(at: shown + 86_400)])
            let instants = candidates.filter { $0 + offset(at: $0) == shown }.sorted()
            guard isDate else { return instants }
            // A day whose midnight is skipped begins at the change of the clocks.
            return [instants.first ?? shown - before]
        }
    }

    /// RFC 3339, UTC, to the second.
    package var description: String {
        let time = CivilTime(nanosecondsSince1970: nanoseconds)
        return "\(time.date)T\(time.clock)Z"
    }

    private enum Zone {
        case local
        /// Seconds east of Greenwich.
        case offset(Int64)

        init?(_ text: Substring) {
            if text.isEmpty {
                self = .local
            } else if text == "Z" {
                self = .offset(0)
            } else if let match = text.wholeMatch(of: /([+-])([0-9]{2}):?([0-9]{2})/),
                let hours = Int64(match.output.2), let minutes = Int64(match.output.3),
                hours < 24, minutes < 60
            {
                let seconds = hours * 3_600 + minutes * 60
                self = .offset(match.output.1 == "-" ? -seconds : seconds)
            } else {
                return nil
            }
        }
    }

    /// As if the zone were UTC.
    private static func seconds(
        _ date: (year: Substring, month: Substring, day: Substring),
        _ time: (hour: Substring, minute: Substring, second: Substring)
    ) -> Int64? {
        guard let year = Int(date.year), let month = Int(date.month), let day = Int(date.day),
            let hour = Int(time.hour), let minute = Int(time.minute),
            let second = Int(time.second), (1970...2200).contains(year)
        else { return nil }
        return CivilTime(
            year: year, month: month, day: day, hour: hour, minute: minute, second: second)?
            .secondsSince1970
    }
}
