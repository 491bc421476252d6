import Media
import Testing

@testable import Wire

struct `Pauses before a reconnect` {
    private func pauses(of usual: Int64) -> [Int64] {
        var random = SystemRandomNumberGenerator()
        return (0..<1_000).map { _ in
            var pauses = ReconnectPauses(of: .random(using: &random))
            return pauses.next(usualMilliseconds: usual)
        }
    }

    @Test func `of a thousand agents are spread over a second`() {
        let pauses = pauses(of: 100)
        #expect(pauses.allSatisfy { (100...1_000).contains($0) })
        // 111 are expected in each tenth of a second; twice as many cannot be chance.
        let tenths = Dictionary(grouping: pauses) { $0 / 100 }.mapValues(\.count)
        #expect(tenths.values.allSatisfy { $0 < 222 }, "\(tenths)")
        #expect(tenths.count >= 9)
    }

    @Test(arguments: [200, 500, 1_000, 2_000, 3_000] as [Int64])
    func `longer pauses differ by half`(usual: Int64) {
        let pauses = pauses(of: usual)
        #expect(pauses.allSatisfy { (usual / 2...usual * 3 / 2).contains($0) })
        #expect(Set(pauses).count > 50)
    }

    @Test func `a pause of zero has no jitter`() {
        #expect(pauses(of: 0).allSatisfy { $0 == 0 })
    }

    @Test func `an agent draws another pause for each attempt`() {
        var pauses = ReconnectPauses(of: SpoolID(high: 1, low: 2))
        let drawn = (0..<40).map { _ in pauses.next(usualMilliseconds: 2_000) }
        #expect(Set(drawn).count > 30)
    }
}
