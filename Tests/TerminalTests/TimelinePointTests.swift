import Terminal
import Testing

@Suite struct TimelinePointTests {
    @Test(
        arguments: [
            ("1:23.5", 83_500_000_000), ("1:02:03", 3_723_000_000_000), ("0:00", 0),
            ("90s", 90_000_000_000), ("90", 90_000_000_000), ("13.3", 13_300_000_000),
            ("500ms", 500_000_000), ("0", 0), ("-2s", -2_000_000_000), ("-0:01.25", -1_250_000_000),
            ("100:00:00.000000001", 360_000_000_000_001),
        ] as [(String, Int64)])
    func `session time is parsed in its usual forms`(text: String, nanoseconds: Int64) {
        #expect(TimelinePoint(argument: text) == .session(nanoseconds: nanoseconds))
    }

    @Test(
        arguments: [
            ("2026-11-20T22:40:00Z", 1_795_214_400_000_000_000),
            ("2026-11-20T22-40-00.000Z", 1_795_214_400_000_000_000),
            ("2024-02-29T23:59:59.5Z", 1_709_251_199_500_000_000),
        ] as [(String, Int64)])
    func `UTC is parsed in its usual forms, and as in file names`(text: String, nanoseconds: Int64)
    {
        #expect(TimelinePoint(argument: text) == .utc(nanoseconds: nanoseconds))
        #expect(
            TimelinePoint(argument: text)?.sessionNanoseconds(
                zeroUTCNanoseconds: nanoseconds - 5) == 5)
    }

    @Test(arguments: [
        "", "1:", ":1", "1:60", "1:2:3:4", "1:00:60", "1:61:00", "1:2.", "1:-2", "--1s",
        "nan",
        "2026-11-20", "2026-11-20T22:40:00", "2026-02-30T00:00:00Z", "2026-11-20T24:00:00Z",
        "1:1e3",
        "2026-11-20T22:40:60Z", "99999999999:00",
        "999999999:00:00",
    ])
    func `an invalid time is refused`(text: String) {
        #expect(TimelinePoint(argument: text) == nil)
    }

    @Test func `times are printed in the form in which they are parsed`() {
        #expect(TimelinePoint.text(83_500_000_000) == "1:23.500")
        #expect(TimelinePoint.text(-3_723_000_000_000) == "-1:02:03.000")
        #expect(TimelinePoint.text(0) == "0:00.000")
        #expect(TimelinePoint.text(-400_000) == "0:00.000")
    }
}
