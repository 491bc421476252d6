import Testing
import Timing

@Suite("A clock model")
struct ClockModelTests {
    private static let second: Int64 = 1_000_000_000

    private let model = ClockModel(
        referenceAgentNanoseconds: 100 * second, offsetNanoseconds: 1_000, skewPPB: -3,
        boundNanoseconds: 50_000, boundGrowthPPB: 25_000, validFromAgentNanoseconds: 0)

    @Test func `the offset is a line, rounded down`() {
        #expect(model.offset(at: 100 * Self.second) == 1_000)
        #expect(model.offset(at: 110 * Self.second) == 970)
        #expect(model.offset(at: 100 * Self.second + 1) == 999)
        #expect(model.offset(at: 100 * Self.second - 1) == 1_000)
        #expect(model.collectorNanoseconds(at: 110 * Self.second) == 110 * Self.second + 970)
    }

    @Test(arguments: [-1, 1] as [Int64])
    func `the bound grows in both directions, with the wander's square`(sign: Int64) {
        let after = model.bound(at: (100 + sign * 10) * Self.second)
        #expect((0...20).contains(after - (50_000 + 250_000 + 2_500)))
        let long = model.bound(at: (100 + sign * 1_000) * Self.second)
        #expect((0...2_000).contains(long - (50_000 + 25_000_000 + 25_000_000)))
    }

    @Test func `no bound grows faster than two clocks can run apart`() {
        let day = model.bound(at: 86_500 * Self.second)
        #expect(abs(day - (50_000 + 86_400 * 550_003)) < 10)
    }
}
