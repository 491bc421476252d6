import Foundation
import Timing

/// A small seeded generator (SplitMix64), so that a failure can be run again.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// Uniform in 0 ..< 1.
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}

/// The true clock: an agent's clock relative to the collector's, with every fault that the limits allow.
struct SimulatedClock {
    var baseOffsetNanoseconds: Int64 = 0
    var skewPPB = 0.0
    /// Room temperature: the skew varies by this much …
    var wanderPPB = 5_000.0
    /// … in this time.
    var wanderPeriodSeconds = 5_400.0
    /// From these seconds on, the skew changes by this many ppb (a time daemon).
    var skewSteps: [(seconds: Double, ppb: Double)] = []
    /// From these seconds on, the offset changes by this many nanoseconds.
    var jumps: [(seconds: Double, nanoseconds: Int64)] = []

    /// Collector − agent when the agent's clock shows `agentNanoseconds`.
    func offset(at agentNanoseconds: Int64) -> Int64 {
        let seconds = Double(agentNanoseconds) * 1e-9
        let turn = 2 * Double.pi / wanderPeriodSeconds
        var drift = skewPPB * seconds + wanderPPB / turn * (1 - cos(turn * seconds))
        var step = 0.0
        var since = 0.0
        for next in skewSteps where next.seconds < seconds {
            drift += step * (next.seconds - since)
            (since, step) = next
        }
        drift += step * (seconds - since)
        let jumped = jumps.reduce(0) { $0 + ($1.seconds <= seconds ? $1.nanoseconds : 0) }
        return baseOffsetNanoseconds + jumped + Int64(drift.rounded())
    }

    /// An exchange that begins at `t1Nanoseconds`, with these delays each way.
    func exchange(
        at t1Nanoseconds: Int64, thereNanoseconds: Int64, backNanoseconds: Int64,
        processingNanoseconds: Int64 = 20_000
    ) -> ClockExchange {
        let t2 = t1Nanoseconds + offset(at: t1Nanoseconds) + thereNanoseconds
        let t3 = t2 + processingNanoseconds
        let arrival = t3 + backNanoseconds
        var t4 = arrival - offset(at: t1Nanoseconds)
        for _ in 0..<4 { t4 = arrival - offset(at: t4) }
        return ClockExchange(
            t1Nanoseconds: t1Nanoseconds, t2Nanoseconds: t2, t3Nanoseconds: t3, t4Nanoseconds: t4)
    }
}

/// Delays of messages.
enum SimulatedLink {
    /// A quiet local network.
    case quiet
    /// A minimum delay each way, and queues that are mostly short and sometimes 20 ms.
    case rough(thereNanoseconds: Double, backNanoseconds: Double)
    /// Uniform over 0 … 20 ms each way.
    case proxy

    func delays(_ random: inout SeededGenerator) -> (there: Int64, back: Int64) {
        func heavy() -> Double { min(20e6, 50e3 * pow(1 - random.unit(), -1 / 0.8)) }
        switch self {
        case .quiet:
            func way() -> Int64 { Int64(50e3 - 4e3 * log(1 - random.unit())) }
            return (way(), way())
        case .rough(let there, let back):
            return (Int64(there + heavy()), Int64(back + heavy() * 3))
        case .proxy:
            return (Int64(random.unit() * 20e6), Int64(random.unit() * 20e6))
        }
    }
}
