import Archive
import Foundation
import Testing

@testable import CollectorCore

@Suite("A simulated day of a site, through the real session recorder")
struct SiteSimulationTests {
    /// More with `SITE_SEEDS=1000 swift test -c release`; a failure names its seed, which `SITE_FIRST_SEED` and `SITE_SEEDS` run again.
    static let seeds: ClosedRange<UInt64> = {
        func number(_ name: String) -> UInt64? {
            ProcessInfo.processInfo.environment[name].flatMap(UInt64.init)
        }
        let first = number("SITE_FIRST_SEED") ?? 1
        return first...max(first, number("SITE_SEEDS") ?? 2)
    }()

    /// A box at the limits of clock drift beside one with a steady clock.
    private func site(seed: UInt64) -> SimulatedSite {
        var random = SeededGenerator(seed: seed ^ 0x517E)
        var rough = SimulatedBox("rough")
        rough.skewPPM = (random.unit() * 2 - 1) * 500
        rough.wanderPPM = random.unit() * 8
        rough.wanderPeriod = 1_800 + random.unit() * 20_000
        rough.there = random.unit() * 5e-3
        rough.back = random.unit() * 5e-3
        rough.soundPPM = 300
        let outage = 3_600 * (1 + random.unit() * 4)
        rough.outages = [outage...(outage + 3_600)]
        rough.reboot = 3_600 * (11 + random.unit())
        let distance = 0.5 + random.unit() * 4.5
        rough.jump = (3_600 * (16 + random.unit()), random.unit() < 0.5 ? distance : -distance)
        var calm = SimulatedBox("calm")
        calm.skewPPM = (random.unit() * 2 - 1) * 20
        var site = SimulatedSite(boxes: [rough, calm])
        // The collector's time daemon steps its wall clock, forth and back.
        site.wallSteps = [
            (3_600, 1.5), (7_200, -3_600), (30_000, 86_400), (30_001, -0.25), (50_000, -86_400),
        ]
        return site
    }

    @Test(arguments: seeds)
    func `every sample is in one segment, in order, within its bound`(seed: UInt64) {
        let outcome = site(seed: seed).run(seed: seed)
        #expect(outcome.samples > 15_000)
        #expect(outcome.missing == 0 && outcome.twice == 0)
        #expect(outcome.outsideBound.prefix(3) == [])
        #expect(outcome.backwards.prefix(3) == [])
        #expect(outcome.outsideSegment.prefix(3) == [])
        #expect(outcome.greatestAudioSkew < 0.005)
        #expect(outcome.comparedPackets > outcome.samples / 4)
        // Two clocks of the rough box, one of the calm one.
        let opened = outcome.ledgers.mapValues { $0.count { $0.cause == "opened" } }
        #expect(opened == ["rough": 2, "calm": 1])
        #expect(outcome.ledgers["rough"]?.contains { $0.kind == .discontinuity } == true)
        #expect(outcome.ledgers["calm"]?.contains { $0.kind == .discontinuity } == false)
    }

    @Test func `steps of the collector's wall clock do not change any sample`() {
        var quiet = site(seed: 7)
        quiet.hours = 4
        var stepped = quiet
        quiet.wallSteps = []
        stepped.wallSteps = [(100, 3_600), (5_000, -7_200), (9_000, 0.5)]
        let (one, two) = (quiet.run(seed: 7), stepped.run(seed: 7))
        #expect(one.zeroUTC == two.zeroUTC)
        #expect(one.samples == two.samples)
        #expect(two.outsideBound == [] && two.outsideSegment == [] && two.backwards == [])
    }

    @Test(arguments: [3_600_000_000_000, -3_600_000_000_000] as [Int64])
    func `wrong timestamps are recorded and noted, without effect on the other box`(lie: Int64) {
        var honest = site(seed: 3)
        honest.hours = 1
        honest.boxes[0].jump = nil
        var lying = honest
        lying.lie = (every: 40, nanoseconds: lie)
        let (calm, lied) = (honest.run(seed: 3), lying.run(seed: 3))
        #expect(lied.missing == 0 && lied.twice == 0 && lied.backwards == [])
        #expect(lied.samples == calm.samples)
        #expect(lied.ledgers["rough"]?.contains { $0.kind == .time } == true)
        #expect(lied.ledgers["calm"] == calm.ledgers["calm"])
        #expect(lied.outsideBound.allSatisfy { $0.hasPrefix("rough video") })
    }
}
