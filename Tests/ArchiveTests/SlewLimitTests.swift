import Testing

@testable import Archive

@Suite struct SlewLimitTests {
    private let pictures = (0..<100).map { Int64($0) * 33_333_333 }

    @Test func `times beside one that must move are moved at a limited rate`() throws {
        var windows = [ClosedRange<Int64>](repeating: -300_000...300_000, count: 100)
        windows[50] = 100_000...400_000
        let found = try #require(SlewLimit.deviations(windows, at: pictures))
        #expect(found[50] == 100_000)
        #expect(found[49] == 91_750 && found[51] == 91_750)
        #expect(found[37] == 0 && found[63] == 0)
        #expect(zip(found, found.dropFirst()).allSatisfy { abs($0 - $1) <= 8_250 })
        #expect(zip(found, windows).allSatisfy { $1.contains($0) })
    }

    @Test func `a deviation that needs a greater rate uses the smallest sufficient one`() throws {
        var windows = [ClosedRange<Int64>](repeating: 0...0, count: 100)
        windows[50] = -16_000 ... -15_000
        let found = try #require(SlewLimit.deviations(windows, at: pictures))
        #expect(found[50] == -15_000)
        #expect(found[49] == 0 && found[51] == 0)
        windows[50] = -90_000 ... -80_000
        #expect(SlewLimit.deviations(windows, at: pictures) == nil)
    }

    @Test func `no time is moved unnecessarily`() {
        #expect(
            SlewLimit.deviations([-5...5, -3...9, 0...0], at: [0, 1, 2]) == [0, 0, 0])
        #expect(SlewLimit.deviations([], at: []) == [])
    }

    @Test func `a chosen time's bound covers the true time and is not above the recorded one`() {
        // The true time is between 1000 and 1200.
        let choice = TimeChoice(
            recorded: 1_000, recordedBound: 200, computed: 1_500, computedBound: 500)
        #expect(choice.nearest == 1_200)
        #expect(choice.boundNanoseconds(at: 1_200) == 200)
        #expect(choice.boundNanoseconds(at: 1_100) == 100)
        #expect(choice.deviations == -500 ... -300)
        let better = TimeChoice(
            recorded: 1_000, recordedBound: 200, computed: 1_150, computedBound: 20)
        #expect(better.nearest == 1_150)
        #expect(better.boundNanoseconds(at: 1_150) == 20)
        // The computed time is one of them, though its own bound is too wide.
        let wide = TimeChoice(
            recorded: 1_000, recordedBound: 200, computed: 1_000, computedBound: 500)
        #expect(wide.nearest == 1_000)
        #expect(wide.boundNanoseconds(at: 1_000) == 200)
        let contradiction = TimeChoice(
            recorded: 1_000, recordedBound: 200, computed: 9_000, computedBound: 500)
        #expect(contradiction.nearest == 1_000)
        #expect(contradiction.boundNanoseconds(at: 1_000) == 200)
    }
}
