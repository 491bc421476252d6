import Glibc
import Terminal
import Testing

@Suite struct CalendarInstantTests {
    @Test(
        arguments: [
            ("2026-11-20T22:40:00Z", 1_795_214_400_000_000_000),
            ("2026-11-20 22:40Z", 1_795_214_400_000_000_000),
            ("2026-11-20T23:40:00.5+01:00", 1_795_214_400_500_000_000),
            ("2026-11-20 17:40:00-0500", 1_795_214_400_000_000_000),
            ("2026-11-20T22-40-00.000Z", 1_795_214_400_000_000_000),
            ("2024-02-29T23:59:59.000000001Z", 1_709_251_199_000_000_001),
        ] as [(String, Int64)])
    func `an instant with a zone does not depend on the local zone`(
        text: String, nanoseconds: Int64
    ) {
        #expect(CalendarInstant(argument: text)?.nanoseconds == nanoseconds)
    }

    @Test(arguments: [
        ("2026-11-20", 0, 0, 0), ("2026-11-20 22:40", 22, 40, 0),
        ("2026-11-20T22:40:05", 22, 40, 5),
    ])
    func `without a zone it is the machine's own time`(
        text: String, hour: Int, minute: Int, second: Int
    ) {
        var parts = tm()
        parts.tm_year = 126
        parts.tm_mon = 10
        parts.tm_mday = 20
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (Int32(hour), Int32(minute), Int32(second))
        parts.tm_isdst = -1
        let wanted = Int64(mktime(&parts)) * 1_000_000_000
        #expect(CalendarInstant(argument: text)?.nanoseconds == wanted)
    }

    @Test(arguments: [
        "", "13s", "1:23.5", "soon", "2026-11", "2026-11-20T", "2026-11-20T22", "2026-02-30",
        "2026-11-20T24:00Z", "2026-11-20T22:60Z", "2026-11-20T22:40:60Z", "2026-11-20T22-40-00",
        "2026-11-20T22:40+25:00", "2026-11-20Zulu", "1969-12-31", "2201-01-01", "٢٠٢٦-11-20",
    ])
    func `an invalid instant is refused`(text: String) {
        #expect(CalendarInstant(argument: text) == nil)
    }
}
