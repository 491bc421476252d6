import Foundation
import Media
import Testing
import Timing

@testable import Archive

/// A session's clocks by all exchanges of a site, in a simulation with known truth.
@Suite("Clocks of a session by all exchanges of its site")
struct SiteClockRetimingTests {
    private static let second = SimulatedSite.second

    /// More with `RETIMING_SEEDS=1000`; a failure names its seed.
    static let seeds: ClosedRange<UInt64> =
        1...(ProcessInfo.processInfo.environment["RETIMING_SEEDS"].flatMap(UInt64.init) ?? 8)

    /// A site and what its archives have.
    private struct Scene {
        var site: SimulatedSite
        var own: CollectorClocks.Source
        var other: CollectorClocks.Source
        var lines: (east: [LedgerEntry], west: [LedgerEntry])

        /// - Parameter near: moments of the source's exchanges with the first collector.
        init(
            seed: UInt64, reboots: Bool = false, bound: UInt64 = 80_000_000,
            near: (SimulatedSite) -> [Double] = { [Double($0.seconds), Double($0.seconds) + 0.1] }
        ) {
            site = SimulatedSite(seed: seed, reboots: reboots)
            site.near = near(site)
            own = site.ownSource(bound: bound)
            other = site.otherSource()
            lines = site.lines()
        }

        var alone: CollectorClocks { CollectorClocks([own]) }

        /// - Parameter withArchive: whether the second archive is read.
        func together(withArchive: Bool = true) -> CollectorClocks {
            CollectorClocks(
                [own], site: SiteClocks(lines.east),
                peers: withArchive
                    ? [PeerEvidence(name: "west", clocks: SiteClocks(lines.west), sources: [other])]
                    : [])
        }

        /// Errors and bounds at moments of the recording.
        func check(
            _ clocks: CollectorClocks, every seconds: Int64 = 31
        ) throws -> [(time: Int64, error: Int64, bound: Int64)] {
            var timeline = try #require(
                clocks.timelines(of: SimulatedSite.source)[SimulatedSite.epoch])
            return stride(from: 1, to: site.seconds, by: Int(seconds)).map { second in
                let time = second * SimulatedSite.second + 137_000_000
                let stamp = site.agent.reading(time)
                let found = timeline.estimate(at: stamp)
                return (
                    time, stamp + found.offsetNanoseconds - site.truth(time),
                    found.boundNanoseconds
                )
            }
        }
    }

    @Test(arguments: seeds)
    func `the path by another collector narrows the bound, and the truth stays within`(
        seed: UInt64
    ) throws {
        let scene = Scene(seed: seed)
        let clocks = scene.together()
        #expect(clocks.problems == [])
        #expect(clocks.peers.map(\.name) == ["west"])
        #expect(clocks.peers.first?.sources == [SimulatedSite.source])
        let (alone, together) = (try scene.check(scene.alone), try scene.check(clocks))
        for (before, after) in zip(alone, together) {
            #expect(after.error.magnitude <= after.bound.magnitude, "\(seed): \(after)")
            #expect(after.bound <= before.bound, "\(seed): \(before) \(after)")
        }
        // Two exchanges at the end against one of every five seconds.
        let early = zip(alone, together).prefix(alone.count / 2)
        #expect(early.allSatisfy { $1.bound < $0.bound / 3 && $1.bound < 7_000_000 })
    }

    @Test(arguments: seeds)
    func `two good paths give a bound no wider than either of them`(seed: UInt64) throws {
        let scene = Scene(seed: seed) { site in
            Array(stride(from: 0, to: Double(site.seconds), by: 4))
        }
        let (alone, together) = (
            try scene.check(scene.alone), try scene.check(scene.together())
        )
        for (before, after) in zip(alone, together) {
            #expect(after.error.magnitude <= after.bound.magnitude, "\(seed): \(after)")
            #expect(after.bound <= before.bound, "\(seed): \(before) \(after)")
        }
    }

    @Test(arguments: seeds, [true, false])
    func `boots are related by a collector whose clock kept running`(
        seed: UInt64, withArchive: Bool
    ) throws {
        // The agent has exchanges with the first boot long before the second one only: its own tie is poor.
        var scene = Scene(seed: seed, reboots: true) { site in
            let half = Double(site.seconds / 2)
            return [1, 2] + stride(from: half + 60, to: Double(site.seconds), by: 4)
        }
        if !withArchive, !scene.site.isAsked.east {
            scene.site.isAsked.east = true
            scene.lines = scene.site.lines()
        }
        scene.other.exchanges = []
        let clocks = scene.together(withArchive: withArchive)
        #expect(clocks.problems == [])
        #expect(clocks.peers.map(\.tiedClocks) == [1], "\(seed)")
        let (alone, together) = (try scene.check(scene.alone), try scene.check(clocks))
        for (before, after) in zip(alone, together) {
            #expect(after.error.magnitude <= after.bound.magnitude, "\(seed): \(after)")
            // The estimate is not in the middle of what is possible: where that shrinks at one end, the distance to the other one
            // may grow a little. Files keep the recorded bound then.
            #expect(
                after.bound <= before.bound + before.bound / 10, "\(seed): \(before) \(after)")
        }
        #expect(together.map(\.bound).reduce(0, +) < alone.map(\.bound).reduce(0, +))
    }

    @Test(arguments: seeds)
    func `a boot that no agent ran through is tied by a collector alone`(seed: UInt64) throws {
        // The agent was restarted, too: it has exchanges with the second boot alone.
        var scene = Scene(seed: seed, reboots: true) { site in
            Array(stride(from: Double(site.seconds / 2) + 1, to: Double(site.seconds), by: 4))
        }
        let first = SimulatedSite.epoch
        let before = EpochID(high: 8, low: 8)
        scene.own.places = scene.own.places.map { place in
            var place = place
            if place.clock.collectorZeroNanoseconds == scene.site.zero(0) {
                place.clock.epoch = before
            }
            return place
        }
        // One exchange of the old epoch, so that the first clock is known.
        var site = scene.site
        site.near = [3]
        let old = site.ownSource(bound: 1).exchanges
        scene.own.exchanges += old.map {
            (
                ClockKey(
                    epoch: before,
                    collectorZeroNanoseconds: $0.clock.collectorZeroNanoseconds), $0.exchange
            )
        }
        scene.other.exchanges = []
        let clocks = scene.together()
        #expect(clocks.problems == [])
        #expect(clocks.peers.map(\.tiedClocks) == [1], "\(seed)")
        var (alone, together) = (
            try #require(scene.alone.timelines(of: SimulatedSite.source)[first]),
            try #require(clocks.timelines(of: SimulatedSite.source)[first])
        )
        for second in stride(from: scene.site.seconds / 2 + 5, to: scene.site.seconds, by: 31) {
            let time = second * Self.second
            let stamp = scene.site.agent.reading(time)
            let (one, two) = (alone.estimate(at: stamp), together.estimate(at: stamp))
            let error = stamp + two.offsetNanoseconds - scene.site.truth(time)
            #expect(error.magnitude <= two.boundNanoseconds.magnitude, "\(seed) \(second)")
            // The wall clock's error is gone.
            #expect(one.boundNanoseconds > 80_000_000)
            #expect(two.boundNanoseconds < 45_000_000, "\(seed)")
        }
    }

    // MARK: What cannot be believed

    private func expectUnchanged(
        _ scene: Scene, _ clocks: CollectorClocks, problem: String?
    ) throws {
        let (alone, together) = (try scene.check(scene.alone), try scene.check(clocks))
        for (before, after) in zip(alone, together) {
            #expect(before == after)
        }
        if let problem {
            #expect(clocks.problems.count == 1)
            #expect(clocks.problems.first?.contains(problem) == true, "\(clocks.problems)")
            #expect(clocks.problems.first?.contains("\n") == false)
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `exchanges that contradict those of this archive change nothing`(
        seed: UInt64
    ) throws {
        var scene = Scene(seed: seed)
        scene.other.exchanges = scene.other.exchanges.map { clock, exchange in
            var wrong = exchange
            wrong.t2Nanoseconds += 3 * Self.second
            wrong.t3Nanoseconds += 3 * Self.second
            return (clock, wrong)
        }
        try expectUnchanged(scene, scene.together(), problem: "contradict this archive's")
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `exchanges that contradict the recorded bounds change nothing`(seed: UInt64) throws {
        var scene = Scene(seed: seed, bound: 2_000_000) { site in
            // An own exchange long after the recording leaves room for the lie.
            [Double(site.seconds) + 600]
        }
        scene.other.exchanges = scene.other.exchanges.map { clock, exchange in
            var wrong = exchange
            wrong.t2Nanoseconds += 20_000_000
            wrong.t3Nanoseconds += 20_000_000
            return (clock, wrong)
        }
        try expectUnchanged(scene, scene.together(), problem: "contradict this archive's")
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `collectors that contradict each other are not compared`(seed: UInt64) throws {
        var scene = Scene(seed: seed)
        scene.site.isAsked = (true, true)
        scene.lines = scene.site.lines()
        scene.lines.west = scene.lines.west.map { line in
            var line = line
            line.exchanges = line.exchanges?.map {
                [$0[0] + 5 * Self.second, $0[1], $0[2], $0[3] + 5 * Self.second]
            }
            return line
        }
        try expectUnchanged(scene, scene.together(), problem: "distance")
    }

    @Test func `impossible numbers and lines of other sessions change nothing`() throws {
        var scene = Scene(seed: 3)
        var line = try #require(scene.lines.west.last)
        line.exchanges = [
            [.max, .min, .max, .min], [1, 2], [], [.min, .max, .max, .max], [0, 1 << 62, 0, 0],
            [5, 4, 3, 2],
        ]
        scene.lines.west = [scene.lines.west[0], line]
        line.epoch = scene.site.names.east[0]
        line.peerEpoch = scene.site.names.west
        scene.lines.east = [scene.lines.east[0], line]
        try expectUnchanged(scene, scene.together(), problem: "distance")

        scene = Scene(seed: 3)
        // Another session's zeros: no media has them.
        for index in scene.lines.east.indices {
            scene.lines.east[index].collectorZeroNanoseconds? += 600 * Self.second
        }
        try expectUnchanged(scene, scene.together(), problem: "distance")

        scene = Scene(seed: 3)
        // Two clocks at one zero.
        var other = scene.lines.west[0]
        other.epoch = EpochID(high: 9, low: 9).description
        scene.lines.west.insert(other, at: 1)
        try expectUnchanged(scene, scene.together(), problem: nil)
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `a peer whose clock jumped between two boots does not relate them`(seed: UInt64) throws {
        var scene = Scene(seed: seed, reboots: true) { site in
            [1, 2] + stride(from: Double(site.seconds / 2) + 60, to: Double(site.seconds), by: 4)
        }
        scene.site.isAsked = (true, true)
        scene.lines = scene.site.lines()
        scene.other.exchanges = []
        let later = scene.site.names.east[1]
        func jump(_ line: LedgerEntry) -> LedgerEntry {
            var line = line
            let jump: Int64 = 700_000_000
            if line.epoch == later {
                line.exchanges = line.exchanges?.map { [$0[0], $0[1] + jump, $0[2] + jump, $0[3]] }
            } else if line.peerEpoch == later {
                line.exchanges = line.exchanges?.map { [$0[0] + jump, $0[1], $0[2], $0[3] + jump] }
            }
            return line
        }
        scene.lines = (scene.lines.east.map(jump), scene.lines.west.map(jump))
        try expectUnchanged(scene, scene.together(), problem: "restart")
    }
}
