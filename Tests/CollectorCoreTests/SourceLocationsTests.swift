import Testing

@testable import CollectorCore

private let second: Int64 = 1_000_000_000

/// Where sources are that are not connected to a collector.
@Suite struct SourceLocationsTests {
    private func answer(_ seconds: Int64, _ found: [String: String]) -> SourceLocations.Answer {
        .init(nanoseconds: seconds * second, asked: ["door", "hall"], found: found)
    }

    @Test func `a source that was sent elsewhere is there until it returns`() {
        var places = SourceLocations()
        #expect(places["door"] == nil)
        places.sentAway("door", at: second)
        #expect(places["door"] == SourceLocations.unnamed)
        places.opened("door", at: 2 * second)
        #expect(places["door"] == nil)
        places.sentAway("door", at: 3 * second)
        places.turnedAway(["door", "other"])
        #expect(places["door"] == nil)
    }

    @Test func `a source that left by itself is at the collector that the site names`() {
        var places = SourceLocations()
        places.hear(answer(1, ["door": "west"]), at: second)
        #expect(places["door"] == "west" && places["hall"] == nil)
        places.hear(answer(6, ["door": "north"]), at: 6 * second)
        #expect(places["door"] == "north")
        // Its agent has left that one, too, or that one is not heard.
        places.hear(answer(11, [:]), at: 11 * second)
        #expect(places["door"] == nil)
    }

    @Test func `a source that was sent elsewhere may be missing at the site for some seconds`() {
        var places = SourceLocations()
        places.sentAway("door", at: 100 * second)
        places.hear(answer(119, [:]), at: 119 * second)
        #expect(places["door"] == SourceLocations.unnamed)
        places.hear(answer(120, [:]), at: 120 * second)
        #expect(places["door"] == nil)
        places.sentAway("door", at: 130 * second)
        places.hear(answer(131, ["door": "west"]), at: 131 * second)
        #expect(places["door"] == "west")
    }

    @Test func `an answer from before the source connected is ignored`() {
        var places = SourceLocations()
        places.opened("door", at: 10 * second)
        places.hear(answer(10, ["door": "west", "hall": "west"]), at: 11 * second)
        #expect(places["door"] == nil && places["hall"] == "west")
        places.hear(answer(12, ["door": "west"]), at: 12 * second)
        #expect(places["door"] == "west")
        // Nor does an old one.
        var late = SourceLocations()
        late.hear(answer(1, ["door": "west"]), at: 61 * second)
        #expect(late["door"] == nil)
    }

    @Test func `a known location stays while the site does not answer`() {
        var places = SourceLocations()
        places.hear(answer(1, ["door": "west"]), at: second)
        places.opened("hall", at: 5_000 * second)
        #expect(places["door"] == "west")
    }
}
