import Glibc
import Media
import Spooling
import Testing
import TestSpools
import Wire

@testable import AgentCore

struct `A backlog on a disk` {
    private typealias Trouble = BacklogSimulation.Trouble

    private func run(
        _ seed: UInt64, _ trouble: BacklogSimulation.Trouble, gathers: Bool = false
    ) throws -> BacklogSimulation {
        var simulation = try BacklogSimulation(seed: seed, trouble: trouble, gathers: gathers)
        try simulation.run()
        #expect(simulation.arrived.values.allSatisfy { $0 == 1 }, "seed \(seed): once")
        #expect(simulation.made.isSuperset(of: simulation.arrived.keys), "seed \(seed)")
        return simulation
    }

    private func lost(_ simulation: BacklogSimulation, _ cause: GapCause) -> UInt64 {
        simulation.gaps.filter { $0.cause == cause }.reduce(0) { $0 + $1.samples }
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `all records arrive once through lost connections`(seed: UInt64) throws {
        let simulation = try run(seed, [])
        #expect(simulation.arrived.count == simulation.made.count, "seed \(seed)")
        #expect(simulation.gaps.isEmpty, "seed \(seed)")
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `a killed agent's records are sent by the next, in the same spool`(seed: UInt64) throws {
        let simulation = try run(seed, [.kills])
        #expect(simulation.arrived.count == simulation.made.count, "seed \(seed)")
        #expect(simulation.lives > 1 || seed == 0 || simulation.gaps.isEmpty)
        #expect(
            simulation.gaps.allSatisfy {
                $0.cause == .restart
                    && $0.text == "the agent was not running, or its samples were in memory only"
            }, "seed \(seed)")
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `a full spool drops its oldest samples, and counts them exactly`(seed: UInt64) throws {
        let simulation = try run(seed, [.outages])
        let dropped = lost(simulation, .spoolFull)
        #expect(
            simulation.arrived.count + Int(dropped) == simulation.made.count, "seed \(seed)")
        #expect(simulation.largestBytes < BacklogSimulation.limitBytes + 100_000, "seed \(seed)")
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `after kills, at most one number per life is not counted as dropped`(seed: UInt64) throws {
        let simulation = try run(seed, [.outages, .kills])
        let dropped = Int(lost(simulation, .spoolFull))
        // What a new life dropped before it heard what the collector has is known by its numbers alone, and one number of
        // each life's is none of a sample.
        let unknown = simulation.made.count - simulation.arrived.count - dropped
        #expect((0...simulation.lives).contains(unknown), "seed \(seed): \(unknown)")
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `gathered records are as safe as records sent at once`(
        seed: UInt64
    ) throws {
        let killed = try run(seed, [.kills], gathers: true)
        #expect(killed.arrived.count == killed.made.count, "seed \(seed)")
        #expect(killed.gaps.allSatisfy { $0.cause == .restart }, "seed \(seed)")
        let away = try run(seed, [.outages], gathers: true)
        #expect(
            away.arrived.count + Int(lost(away, .spoolFull)) == away.made.count, "seed \(seed)")
        let full = try run(seed, [.fullDisk], gathers: true)
        #expect(full.arrived.count == full.made.count, "seed \(seed)")
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `a full disk loses no sample while there is memory`(seed: UInt64) throws {
        let simulation = try run(seed, [.fullDisk])
        #expect(simulation.arrived.count == simulation.made.count, "seed \(seed)")
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `a power cut loses only what was not synchronised`(
        seed: UInt64
    ) throws {
        let simulation = try run(seed, [.powerCuts, .outages, .kills])
        let dropped = lost(simulation, .spoolFull) + lost(simulation, .corruptRecord)
        #expect(
            simulation.arrived.count + Int(dropped) <= simulation.made.count + simulation.lives,
            "seed \(seed)")
        // Some seconds at each cut, not the backlog.
        let lost = simulation.made.count - simulation.arrived.count - Int(dropped)
        #expect(lost <= (simulation.lives - 1) * 1_000, "seed \(seed): \(lost)")
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func `a spool restored to an earlier state is replaced, and loses nothing new`(
        seed: UInt64
    ) throws {
        let simulation = try run(seed, [.snapshots])
        // Records that were kept at the snapshot, and not sent before it was restored, may exist again.
        let lost = simulation.made.subtracting(simulation.arrived.keys)
        #expect(lost.isSubset(of: simulation.undone), "seed \(seed): \(lost.count)")
        let renewed = simulation.logs.count { $0.contains("restored to an earlier state") }
        #expect(renewed <= simulation.timesPutBack, "seed \(seed)")
        if !lost.isEmpty {
            #expect(simulation.gaps.contains { $0.cause == .restart }, "seed \(seed)")
        }
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func `a lost collector loses no record, as its store or the agent has it`(
        seed: UInt64
    ) throws {
        let simulation = try run(seed, [.lag, .destroyed, .kills])
        #expect(simulation.arrived.count == simulation.made.count, "seed \(seed)")
        #expect(simulation.gaps.allSatisfy { $0.cause == .restart }, "seed \(seed)")
        #expect(simulation.destroyedCollectors > 0)
        // Each power cut leaves a spool. It is set aside when its records are persisted, until they are released.
        let cut = try run(seed, [.lag, .destroyed, .powerCuts])
        let lost = cut.made.count - cut.arrived.count
        #expect(lost <= (cut.lives - 1) * 1_000, "seed \(seed): \(lost)")
    }

    /// The samples that two collectors have together.
    private func together(_ simulation: BacklogSimulation) -> Set<Int64> {
        Set(simulation.arrivals.flatMap(\.keys))
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `with mirroring, each of two collectors gets every record once`(
        seed: UInt64
    ) throws {
        let simulation = try run(seed, [.mirrored, .kills], gathers: seed % 2 == 1)
        #expect(simulation.arrivals.count == 2)
        for arrived in simulation.arrivals {
            #expect(arrived.values.allSatisfy { $0 == 1 }, "seed \(seed): once")
            #expect(Set(arrived.keys) == simulation.made, "seed \(seed)")
        }
        #expect(simulation.gaps.allSatisfy { $0.cause == .restart }, "seed \(seed)")
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `a lost collector loses no record, as the second one or the agent has it`(
        seed: UInt64
    ) throws {
        let simulation = try run(seed, [.mirrored, .destroyed, .kills])
        #expect(simulation.destroyedCollectors > 0)
        let remaining = simulation.arrivals[1 - Int(seed % 2)]
        #expect(remaining.values.allSatisfy { $0 == 1 }, "seed \(seed): once")
        #expect(Set(remaining.keys) == simulation.made, "seed \(seed)")
        #expect(simulation.gaps.allSatisfy { $0.cause == .restart }, "seed \(seed)")
        // Boxes that lose their power leave spools behind, which wait for both.
        let cut = try run(seed, [.mirrored, .destroyed, .powerCuts])
        let lost = cut.made.subtracting(together(cut)).count
        #expect(lost <= (cut.lives - 1) * 1_000, "seed \(seed): \(lost)")
    }

    @Test
    func `a full spool first drops records that one collector has`() throws {
        var (isForgotten, isDropped) = (false, false)
        for seed in 0..<12 as Range<UInt64> {
            let simulation = try run(seed, [.mirrored, .outages])
            for arrived in simulation.arrivals {
                #expect(arrived.values.allSatisfy { $0 == 1 }, "seed \(seed): once")
            }
            let dropped = Int(simulation.lost(.spoolFull))
            let found = together(simulation).count
            #expect(found + dropped == simulation.made.count, "seed \(seed): \(dropped)")
            #expect(
                simulation.largestBytes < BacklogSimulation.limitBytes + 100_000, "seed \(seed)")
            isForgotten = isForgotten || simulation.arrivals.contains { $0.count < found }
            isDropped = isDropped || dropped > 0
        }
        #expect(isForgotten && isDropped)
    }

    @Test(arguments: 0..<3 as Range<UInt64>)
    func `the newest spool is sent even after many older ones`(
        seed: UInt64
    ) throws {
        var simulation = try BacklogSimulation(seed: seed, trouble: [.stalled, .powerCuts])
        let newest = try simulation.losePower(times: 48)
        try simulation.rest()
        #expect(!newest.isEmpty)
        #expect(newest.isSubset(of: simulation.arrived.keys), "seed \(seed)")
        #expect(simulation.arrived.values.allSatisfy { $0 == 1 }, "seed \(seed): once")
    }

    @Test
    func `a spool too small for the store's lag drops persisted records, rarely logged`() throws {
        var hasSaid = false
        for seed in 0..<6 as Range<UInt64> {
            let simulation = try run(seed, [.lag, .kills])
            #expect(simulation.arrived.count == simulation.made.count, "seed \(seed)")
            #expect(simulation.gaps.allSatisfy { $0.cause == .restart }, "seed \(seed)")
            #expect(
                simulation.largestBytes < BacklogSimulation.limitBytes + 100_000, "seed \(seed)")
            let said = simulation.logs.count { $0.contains("too small") }
            // Once in each life, and again after there was plenty of room.
            #expect(said < 3 * simulation.lives, "seed \(seed): \(said)")
            hasSaid = hasSaid || said > 0
        }
        #expect(hasSaid)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `a power cut is reported if anything of the previous life was kept`(
        seed: UInt64
    ) throws {
        var simulation = try BacklogSimulation(seed: seed, trouble: [])
        try simulation.run(steps: 300, cut: 200)
        #expect(
            simulation.gaps.filter { $0.cause == .restart }.count
                == (simulation.leftBehind.isEmpty ? 0 : 1), "seed \(seed): \(simulation.leftBehind)"
        )
    }
}
