import Testing

@testable import Wire

@Suite struct PendingExchangesTests {
    /// An exchange with a collector whose clock is an hour ahead.
    private func exchange(_ number: Int, there: Int64, back: Int64) -> ReportedExchange {
        let t1 = Int64(number) * 10_000
        let t2 = t1 + there + 3_600_000_000_000
        return ReportedExchange(
            t1: t1, t2: t2, t3: t2 + 5, t4: t1 + there + 5 + back, epoch: 1)
    }

    @Test func `the quickest exchanges of each direction are kept`() {
        var pending = PendingExchanges()
        let quickThere = exchange(3, there: 100, back: 9_000)
        let quickBack = exchange(7, there: 9_000, back: 120)
        for number in 0..<300 {
            switch number {
            case 3: pending.add(quickThere)
            case 7: pending.add(quickBack)
            default:
                let random = Int64(number * 7_919 % 1_000)
                pending.add(exchange(number, there: 2_000 + random, back: 3_000 - random))
            }
        }
        let kept = pending.take()
        #expect(kept.count == WireLimits.exchangesPerMessage)
        #expect(kept.contains(quickThere) && kept.contains(quickBack))
        #expect(kept.map(\.t1) == kept.map(\.t1).sorted())
        #expect(pending.isEmpty)
    }

    @Test func `exchanges with extreme timestamps do not trap`() {
        var pending = PendingExchanges()
        for number in 0..<200 {
            pending.add(
                ReportedExchange(
                    t1: number % 2 == 0 ? .min : .max, t2: number % 3 == 0 ? .max : .min,
                    t3: .max, t4: .min, epoch: 1))
        }
        #expect(pending.take().count == WireLimits.exchangesPerMessage)
    }
}
