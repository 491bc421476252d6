import Foundation
import Media
import Timing

@testable import Archive

/// Two collectors of a site and an agent that was with both, each with a clock of its own; and what their exchanges say.
///
/// Times are nanoseconds since the session's zero as a perfect clock counts them. Session time is what the first collector's first
/// clock says; after a restart of its server, what that clock would have gone on to say.
struct SimulatedSite {
    static let second: Int64 = 1_000_000_000
    static let source = "camera"
    static let epoch = EpochID(high: 7, low: 7)

    struct Clock {
        var base: Int64
        var skewPPB: Double
        var wanderPPB: Double
        var periodSeconds: Double

        func reading(_ time: Int64) -> Int64 {
            let seconds = Double(time) * 1e-9
            let turn = 2 * Double.pi / periodSeconds
            let drift = skewPPB * seconds + wanderPPB / turn * (1 - cos(turn * seconds))
            return base + time + Int64(drift.rounded())
        }
    }

    /// Delays of one way, nanoseconds.
    struct Link {
        var there: ClosedRange<Int64>
        var back: ClosedRange<Int64>
    }

    private var random: SplitMix
    let agent: Clock
    /// The first collector's, one for each boot of its server.
    let east: [Clock]
    let west: Clock
    let seconds: Int64
    /// When the first collector's second clock begins.
    let rebootSeconds: Int64?
    /// Delay of recorded times after the restart.
    let rebootError: Int64

    var names: (east: [String], west: String) {
        (
            east.indices.map { EpochID(high: 1, low: UInt64($0)).description },
            EpochID(high: 2, low: 0).description
        )
    }

    /// Between the agent and the first collector, the agent and the second one, and both.
    var links: (near: Link, far: Link, between: Link)
    /// Moments of exchanges, seconds.
    var near: [Double] = []
    var far: [Double] = []
    var between: [Double] = []
    /// Whether the first collector asks, and the second one.
    var isAsked = (east: true, west: true)

    init(seed: UInt64, reboots: Bool) {
        var random = SplitMix(state: seed)
        func clock(_ base: Int64) -> Clock {
            Clock(
                base: base, skewPPB: Double.random(in: -200_000...200_000, using: &random),
                wanderPPB: Double.random(in: 0...2_000, using: &random),
                periodSeconds: Double.random(in: 1_800...10_000, using: &random))
        }
        func base() -> Int64 {
            Int64.random(in: -1_000_000...1_000_000, using: &random) * Self.second
        }
        agent = clock(base())
        let first = clock(base())
        var later = first
        later.base = base()
        east = reboots ? [first, later] : [first]
        west = clock(base())
        seconds = Int64.random(in: 240...600, using: &random)
        rebootSeconds = reboots ? seconds / 2 : nil
        rebootError = Int64.random(in: -40_000_000...40_000_000, using: &random)
        func link(_ least: ClosedRange<Int64>, _ queue: Int64) -> Link {
            func way() -> ClosedRange<Int64> {
                let low = Int64.random(in: least, using: &random)
                return low...low + queue
            }
            return Link(there: way(), back: way())
        }
        links = (
            link(50_000...20_000_000, 10_000_000), link(20_000...100_000, 50_000),
            // One way between the collectors is much slower: their offsets are off by half of that, and only the bound says so.
            link(20_000...5_000_000, 100_000)
        )
        for index in 0..<Int(seconds / 5) { far.append(Double(index) * 5 + 0.3) }
        let spacing = Double.random(in: 2...8, using: &random)
        between = Array(stride(from: -60, to: Double(seconds), by: spacing))
        switch UInt64.random(in: 0..<3, using: &random) {
        case 0: isAsked.west = false
        case 1: isAsked.east = false
        default: break
        }
        self.random = random
    }

    /// The first collector's clock that runs at a moment.
    func boot(_ time: Int64) -> Int {
        rebootSeconds.map { time >= $0 * Self.second ? 1 : 0 } ?? 0
    }

    /// Session's zero on a boot's clock, as it was assumed.
    func zero(_ boot: Int) -> Int64 {
        east[boot].reading(0) - (boot == 0 ? 0 : rebootError)
    }

    /// True session time.
    func truth(_ time: Int64) -> Int64 { east[0].reading(time) - east[0].reading(0) }

    private mutating func exchange(
        _ asking: Clock, _ asked: Clock, at time: Int64, _ link: Link
    ) -> ClockExchange {
        let there = time + Int64.random(in: link.there, using: &random)
        let sent = there + Int64.random(in: 5_000...50_000, using: &random)
        let back = sent + Int64.random(in: link.back, using: &random)
        return ClockExchange(
            t1Nanoseconds: asking.reading(time), t2Nanoseconds: asked.reading(there),
            t3Nanoseconds: asked.reading(sent), t4Nanoseconds: asking.reading(back))
    }

    /// The first archive's source: recorded from the beginning to the end, with few exchanges.
    mutating func ownSource(bound: UInt64) -> CollectorClocks.Source {
        var source = CollectorClocks.Source(
            name: Self.source, exchanges: [], places: [], zeros: east.indices.map(zero))
        for moment in near {
            let time = Int64(moment * 1e9)
            let boot = boot(time)
            source.exchanges.append(
                (
                    ClockKey(epoch: Self.epoch, collectorZeroNanoseconds: zero(boot)),
                    exchange(agent, east[boot], at: time, links.near)
                ))
        }
        for second in stride(from: 0, to: seconds, by: 20) {
            let time = second * Self.second
            let boot = boot(time)
            let stamp = agent.reading(time)
            let error = boot == 0 ? 0 : rebootError
            source.places.append(
                RecordedMapping(
                    clock: ClockKey(epoch: Self.epoch, collectorZeroNanoseconds: zero(boot)),
                    stampNanoseconds: stamp, offsetNanoseconds: truth(time) + error - stamp,
                    boundNanoseconds: bound))
        }
        return source
    }

    /// The second archive's exchanges with the source.
    mutating func otherSource() -> CollectorClocks.Source {
        var source = CollectorClocks.Source(
            name: Self.source, exchanges: [], places: [], zeros: [])
        for moment in far {
            source.exchanges.append(
                (
                    ClockKey(
                        epoch: Self.epoch, collectorZeroNanoseconds: west.reading(0) + 12_345),
                    exchange(agent, west, at: Int64(moment * 1e9), links.far)
                ))
        }
        return source
    }

    /// Lines of `clocks.jsonl` in both archives.
    mutating func lines() -> (east: [LedgerEntry], west: [LedgerEntry]) {
        func line(_ own: String, _ zero: Int64, _ peer: String?, _ name: String) -> LedgerEntry {
            var line = LedgerEntry(
                kind: peer == nil ? .epoch : .exchanges, at: UTCTime(nanoseconds: 0))
            line.epoch = own
            line.peerEpoch = peer
            line.collectorZeroNanoseconds = zero
            if peer != nil { line.collector = name }
            return line
        }
        let westZero = west.reading(0) + 12_345
        var eastLines = east.indices.map { line(names.east[$0], zero($0), nil, "west") }
        var westLines = [line(names.west, westZero, nil, "east")]
        for moment in between {
            let time = Int64(moment * 1e9)
            let boot = boot(time)
            if isAsked.east {
                var asks = line(names.east[boot], zero(boot), names.west, "west")
                let one = exchange(east[boot], west, at: time, links.between)
                asks.exchanges = [one.stamps]
                eastLines.append(asks)
            }
            if isAsked.west {
                var asks = line(names.west, westZero, names.east[boot], "east")
                let one = exchange(west, east[boot], at: time, links.between)
                asks.exchanges = [one.stamps]
                westLines.append(asks)
            }
        }
        return (eastLines, westLines)
    }
}

extension ClockExchange {
    var stamps: [Int64] { [t1Nanoseconds, t2Nanoseconds, t3Nanoseconds, t4Nanoseconds] }
}
