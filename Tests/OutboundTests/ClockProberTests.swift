import Testing
import Wire

@testable import Outbound

@Suite struct ClockProberTests {
    private let millisecond: Int64 = 1_000_000

    /// Times at which probes leave within `duration`, each answered after `roundTrip`.
    private func probes(roundTrip: Int64, duration: Int64) -> [Int64] {
        var prober = ClockProber(epoch: 1, now: 0)
        var sent: [Int64] = []
        var answers: [Int64] = []
        for now in stride(from: Int64(0), to: duration, by: Int(millisecond)) {
            while let first = answers.first, first + roundTrip <= now {
                answers.removeFirst()
                let reply = ClockReply(t1: first, t2: 5, t3: 6)
                #expect(prober.finish(reply, receivedAt: now) != nil)
            }
            if let probe = prober.probe(now: now) {
                sent.append(now)
                answers.append(probe.t1)
            }
        }
        return sent
    }

    @Test
    func `a quick link is asked often until the clocks' rates are known, then every two seconds`() {
        let sent = probes(roundTrip: millisecond / 2, duration: 30_000 * millisecond)
        #expect(sent.prefix(8).last == 35 * millisecond)
        #expect((95...112).contains(sent.count { $0 < 2_000 * millisecond }))
        #expect((75...85).contains(sent.count { (2_000..<10_000).contains($0 / millisecond) }))
        #expect((9...11).contains(sent.count { $0 > 10_000 * millisecond }))
    }

    @Test func `a slow link is asked many times a second for a minute`() {
        let sent = probes(roundTrip: 20 * millisecond, duration: 90_000 * millisecond)
        #expect(sent.count { $0 < 10_000 * millisecond } > 500)
        #expect(sent.count { (10_000..<60_000).contains($0 / millisecond) } > 900)
        #expect(sent.count { $0 > 62_000 * millisecond } < 20)
    }

    @Test func `the burst searches a slow link as long as it may`() {
        var prober = ClockProber(epoch: 1, now: 0)
        for now in stride(from: Int64(0), to: 100 * millisecond, by: 5 * Int(millisecond)) {
            guard let probe = prober.probe(now: now) else { continue }
            let reply = ClockReply(t1: probe.t1, t2: 1, t3: 2)
            #expect(prober.finish(reply, receivedAt: now + 20 * millisecond) != nil)
        }
        #expect(!prober.isBurstOver(now: 100 * millisecond))
        #expect(prober.isLearning(now: 9_000 * millisecond))
    }

    @Test func `the burst waits for a first answer, but not for ever`() {
        var prober = ClockProber(epoch: 1, now: 0)
        #expect(!prober.isBurstOver(now: 5_999 * millisecond))
        #expect(prober.isBurstOver(now: 6_000 * millisecond))
        let probe = prober.probe(now: 0)
        #expect(probe != nil)
        _ = prober.finish(ClockReply(t1: 0, t2: 1, t3: 2), receivedAt: millisecond)
        #expect(!prober.isBurstOver(now: 299 * millisecond))
        #expect(prober.isBurstOver(now: 300 * millisecond))
    }

    @Test func `an answer that nobody asked for is none`() {
        var prober = ClockProber(epoch: 1, now: 0)
        let probe = prober.probe(now: 0)
        #expect(probe != nil)
        #expect(prober.finish(ClockReply(t1: 7, t2: 1, t3: 2), receivedAt: 9) == nil)
        #expect(prober.finish(ClockReply(t1: 0, t2: 1, t3: 2), receivedAt: 9)?.t4 == 9)
        #expect(prober.finish(ClockReply(t1: 0, t2: 1, t3: 2), receivedAt: 9) == nil)
    }
}
