import Media
import Testing

@testable import Wire

struct `Pauses before a reconnect` {
    private func pauses(after failures: Int) -> [Int64] {
        var random = SystemRandomNumberGenerator()
        return (0..<1_000).map { _ in
            ReconnectPauses(of: .random(using: &random)).milliseconds(after: failures)
        }
    }

    @Test func `a thousand agents that lose a collector come back over a second`() {
        let pauses = pauses(after: 0)
        #expect(pauses.allSatisfy { (100...1_000).contains($0) })
        // 111 are expected in each tenth of a second: twice as many are no chance.
        let tenths = Dictionary(grouping: pauses) { $0 / 100 }.mapValues(\.count)
        #expect(tenths.values.allSatisfy { $0 < 222 }, "\(tenths)")
        #expect(tenths.count >= 9)
    }

    @Test func `later pauses are longer, and differ by half`() {
        for (failures, usual) in [(1, 200), (2, 500), (3, 1_000), (4, 2_000), (50, 2_000)] {
            let range = Int64(usual / 2)...Int64(usual * 3 / 2)
            let pauses = pauses(after: failures)
            #expect(pauses.allSatisfy { range.contains($0) })
            #expect(Set(pauses).count > 50)
        }
    }

    @Test func `an agent draws another pause for each attempt, and the same again`() {
        let pauses = ReconnectPauses(of: SpoolID(high: 1, low: 2))
        #expect(Set((4..<40).map { pauses.milliseconds(after: $0) }).count > 30)
        #expect(pauses.milliseconds(after: 7) == pauses.milliseconds(after: 7))
    }
}
