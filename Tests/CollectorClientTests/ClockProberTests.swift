import Testing
import Wire

@testable import CollectorClient

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
    func `probes are frequent until the clocks' rates are known, then every two seconds`() {
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

    /// When the burst is over on a link with these delays there and back, in turns; the collector's clock is a minute ahead.
    private func burst(_ delays: [(there: Int64, back: Int64)]) -> Int64? {
        var prober = ClockProber(epoch: 1, now: 0)
        var answers: [(reply: ClockReply, at: Int64)] = []
        var probes = 0
        for now in stride(from: Int64(0), to: 5_000 * millisecond, by: Int(millisecond)) {
            while let first = answers.first, first.at <= now {
                answers.removeFirst()
                #expect(prober.finish(first.reply, receivedAt: first.at) != nil)
            }
            if prober.isBurstOver(now: now) { return now / millisecond }
            guard let probe = prober.probe(now: now) else { continue }
            let delay = delays[probes % delays.count]
            probes += 1
            let arrival = probe.t1 + delay.there
            let reply = ClockReply(
                t1: probe.t1, t2: arrival + 60_000 * millisecond,
                t3: arrival + 60_000 * millisecond)
            answers.append((reply, arrival + delay.back))
            answers.sort { $0.at < $1.at }
        }
        return nil
    }

    @Test func `the burst ends early on a quick link`() {
        #expect(burst([(millisecond / 4, millisecond / 4)]) == 36)
    }

    @Test func `the burst ends on a slow link whose bound does not improve`() {
        #expect(burst([(10 * millisecond, 10 * millisecond)]) == 1_020)
    }

    @Test
    func `the burst continues while a slow link's bound improves, for up to three seconds`() {
        // Every hundred milliseconds a way is a tenth quicker than ever.
        var there = 20.0 * Double(millisecond)
        let improving = (0..<300).map { number -> (there: Int64, back: Int64) in
            if number % 10 == 0 { there *= 0.9 }
            return (Int64(there), 20 * millisecond)
        }
        let length = burst(improving)
        #expect((3_000..<3_060).contains(length ?? 0), "\(length ?? 0)")
    }

    @Test func `the burst ends after one quick message each way`() {
        var delays = [(there: Int64, back: Int64)](
            repeating: (15 * millisecond, 15 * millisecond), count: 400)
        delays[30] = (millisecond / 10, 15 * millisecond)
        delays[50] = (15 * millisecond, millisecond / 10)
        let length = burst(delays) ?? 0
        // The fiftieth probe leaves after 8 at 5 ms and 42 at 12 ms; a skew of 550 ppm may hide 0.1 ms between the two.
        #expect((555...575).contains(length), "\(length)")
    }

    @Test func `the burst waits a limited time for the first answer`() {
        var prober = ClockProber(epoch: 1, now: 0)
        #expect(!prober.isBurstOver(now: 5_999 * millisecond))
        #expect(prober.isBurstOver(now: 6_000 * millisecond))
        let probe = prober.probe(now: 0)
        #expect(probe != nil)
        _ = prober.finish(ClockReply(t1: 0, t2: 1, t3: 2), receivedAt: 5 * millisecond)
        #expect(!prober.isBurstOver(now: 1_004 * millisecond))
        #expect(prober.isBurstOver(now: 1_005 * millisecond))
    }

    @Test func `a reply without a probe, or a repeated reply, is ignored`() {
        var prober = ClockProber(epoch: 1, now: 0)
        let probe = prober.probe(now: 0)
        #expect(probe != nil)
        #expect(prober.finish(ClockReply(t1: 7, t2: 1, t3: 2), receivedAt: 9) == nil)
        #expect(prober.finish(ClockReply(t1: 0, t2: 1, t3: 2), receivedAt: 9)?.t4 == 9)
        #expect(prober.finish(ClockReply(t1: 0, t2: 1, t3: 2), receivedAt: 9) == nil)
    }

    /// When connections for probes are replaced, milliseconds.
    private func replacements(answeredUntil end: Int64, duration: Int64) -> [Int64] {
        var prober = ClockProber(epoch: 1, now: 0)
        var replaced: [Int64] = []
        for now in stride(from: Int64(0), to: duration * millisecond, by: Int(millisecond)) {
            if prober.takeReplacement(now: now) { replaced.append(now / millisecond) }
            if let probe = prober.probe(now: now), now < end * millisecond {
                let reply = ClockReply(t1: probe.t1, t2: 5, t3: 6)
                _ = prober.finish(reply, receivedAt: now)
            }
        }
        return replaced
    }

    @Test func `a connection whose probes stay unanswered is replaced, more and more rarely`() {
        #expect(replacements(answeredUntil: 60_000, duration: 60_000) == [])
        #expect(
            replacements(answeredUntil: 0, duration: 60_000) == [2_500, 7_500, 17_500, 37_500])
        let later = replacements(answeredUntil: 20_000, duration: 60_000)
        #expect(later.first.map { (22_500...27_000).contains($0) } == true)
        #expect(later.count < 5)
    }
}
