import JSON
import Testing

@Suite struct JSONOutputTests {
    private struct Inner: Encodable {
        var least = -1
        var greatest = 2_500_000
    }

    private struct Value: Encodable {
        var startNanoseconds: Int64 = 83_500_000_000
        var offsetNanoseconds = Inner()
        var clockBoundMilliseconds = [0.5, 2]
        var skewPartsPerBillion = 1_500
        var nanoseconds = 250_000_000
        var sizeBytes = UInt64.max
        var lagSeconds = 1.25
        var name = "5 Nanoseconds"
        var missing: Int? = nil
        var isThere = true
    }

    @Test func `every time is printed in seconds, whatever its unit in code`() throws {
        let text = try JSONOutput.text(Value())
        for line in [
            "\"startSeconds\" : 83.5", "\"least\" : -1e-09", "\"greatest\" : 0.0025",
            "\"skewPPM\" : 1.5", "\"seconds\" : 0.25", "\"lagSeconds\" : 1.25", "0.0005,",
            "\"sizeBytes\" : 18446744073709551615", "\"name\" : \"5 Nanoseconds\"",
            "\"isThere\" : true", "\"offsetSeconds\"", "\"clockBoundSeconds\"",
        ] {
            #expect(text.contains(line), "\(line) is not in \(text)")
        }
        #expect(!text.contains("missing"))
    }

    @Test func `a member without a rule is printed with its name in code`() throws {
        struct Other: Encodable { var pauseNanoseconds = 5 }
        #expect(try JSONOutput.text(Other()) == "{\n  \"pauseNanoseconds\" : 5\n}")
    }
}
