import Foundation
import Testing

@testable import Media

struct `A civil time` {
    /// Against the C library's calendar.
    @Test func `is that of the C library`() {
        for day in stride(from: -140_000, through: 2_900_000, by: 97) {
            let seconds = Int64(day) * 86_400 + Int64(day.magnitude % 86_400)
            var (time, parts) = (time_t(seconds), tm())
            gmtime_r(&time, &parts)
            let civil = CivilTime(secondsSince1970: seconds)
            let date = [parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday].map { Int($0) }
            #expect([civil.year, civil.month, civil.day] == date)
            let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { Int($0) }
            #expect([civil.hour, civil.minute, civil.second] == clock)
            #expect(civil.secondsSince1970 == seconds)
        }
    }

    @Test func `is floored before 1970`() {
        let time = CivilTime(nanosecondsSince1970: -1)
        #expect("\(time.date) \(time.clock)" == "1969-12-31 23:59:59")
    }

    @Test(arguments: [
        ("1970-01-01T00:00:00", 0), ("2000-02-29T12:34:56", 951_827_696),
        ("2026-11-20T22:40:00", 1_795_214_400),
    ])
    func `is read and written`(text: String, seconds: Int64) throws {
        let time = try #require(CivilTime(text.utf8))
        #expect(time.secondsSince1970 == seconds)
        #expect("\(time.date)T\(time.clock)" == text)
        let name = text.replacing(":", with: "-")
        #expect(CivilTime(name.utf8, timeSeparator: UInt8(ascii: "-")) == time)
        #expect("\(time.date)T\(time.clock("-"))" == name)
    }

    @Test(arguments: [
        "", "2026-11-20", "2026-02-29T00:00:00", "2026-00-01T00:00:00", "2026-13-01T00:00:00",
        "2026-04-31T00:00:00", "2026-01-00T00:00:00", "2026-01-01T24:00:00",
        "2026-01-01T00:60:00", "2026-01-01T00:00:60", "2026-01-01 00:00:00", "2026-01-01T00-00-00",
        "+026-01-01T00:00:00", "2026-01-01T00:00:00Z", "1900-02-29T00:00:00",
    ])
    func `that does not exist is refused`(text: String) {
        #expect(CivilTime(text.utf8) == nil)
    }
}
