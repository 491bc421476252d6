import Archive
import Media
import Synchronization
import Timing

/// The clocks that one archive's collector had during a session, and its exchanges with other collectors
/// (``ArchiveLayout/clocksName``).
struct SiteClocks: Sendable {
    private struct Pair: Hashable {
        /// The clock that asked.
        var own: String
        var peer: String
    }

    /// Exchanges with one clock: those of years.
    private static let maximumExchanges = 1 << 18
    /// Clocks of a collector and of its peers: boots of its servers.
    private static let maximumClocks = 1_024

    /// The session's zero on each of its clocks.
    private var zeros: [String: Int64] = [:]
    private var exchanges: [Pair: [ClockExchange]] = [:]

    /// - Parameter lines: of one archive, in their order.
    init(_ lines: [LedgerEntry]) {
        for line in lines {
            guard let own = line.epoch, let zero = line.collectorZeroNanoseconds else { continue }
            switch line.kind {
            case .epoch:
                break
            case .exchanges:
                guard let peer = line.peerEpoch else { continue }
                let pair = Pair(own: own, peer: peer)
                guard exchanges[pair] != nil || exchanges.count < Self.maximumClocks else {
                    continue
                }
                let room = Self.maximumExchanges - exchanges[pair, default: []].count
                exchanges[pair, default: []] += (line.exchanges ?? []).lazy.filter {
                    $0.count == 4
                }.prefix(max(0, room)).map {
                    ClockExchange(
                        t1Nanoseconds: $0[0], t2Nanoseconds: $0[1], t3Nanoseconds: $0[2],
                        t4Nanoseconds: $0[3])
                }
            case .opened, .gap, .goodbye, .format, .later, .earlier, .time, .stated, .held,
                .related, .clock, .discontinuity, .removed, .resumed, .failed, .damaged:
                continue
            }
            if zeros[own] != nil || zeros.count < Self.maximumClocks { zeros[own] = zero }
        }
    }

    /// The course of another archive's session times on this one's timeline; nil: the collectors have not measured each other.
    func course(of other: SiteClocks) -> ShiftCourse? {
        var links: [ShiftCourse.Link] = []
        for (own, zero) in zeros.sorted(by: { $0.key < $1.key }) {
            for (theirs, theirZero) in other.zeros.sorted(by: { $0.key < $1.key }) {
                let asked = other.exchanges[Pair(own: theirs, peer: own)] ?? []
                let answered = exchanges[Pair(own: own, peer: theirs)] ?? []
                guard !asked.isEmpty || !answered.isEmpty,
                    let difference = ClockDifference(forth: asked, back: answered)
                else { continue }
                links.append(
                    ShiftCourse.Link(
                        zeroNanoseconds: theirZero, targetZeroNanoseconds: zero,
                        difference: difference))
            }
        }
        return links.isEmpty ? nil : ShiftCourse(links)
    }
}

/// How session times of one collector lie on the timeline of another one, over the whole session: by the exchanges between the
/// collectors' clocks. Any thread may ask.
final class ShiftCourse: Sendable {
    /// One clock of each of the two.
    struct Link: Sendable {
        /// The session's zero on the clock whose times are moved.
        var zeroNanoseconds: Int64
        /// The same on the other collector's clock.
        var targetZeroNanoseconds: Int64
        var difference: ClockDifference

        /// The shift of a session time, and its maximum error.
        mutating func estimate(at session: Int64) -> (nanoseconds: Int64, boundNanoseconds: Int64) {
            let found = difference.estimate(at: session.clampedAdding(zeroNanoseconds))
            let zeros = zeroNanoseconds.clampedSubtracting(targetZeroNanoseconds)
            return (found.offsetNanoseconds.clampedAdding(zeros), found.boundNanoseconds)
        }

        /// A session time amid its exchanges.
        var middleNanoseconds: Int64 {
            let (from, to) = (difference.extent.lowerBound, difference.extent.upperBound)
            return from.clampedAdding(to.clampedSubtracting(from) / 2)
                .clampedSubtracting(zeroNanoseconds)
        }
    }

    private let links: Mutex<[Link]>
    /// A session time at which it is well known.
    let middleNanoseconds: Int64

    /// - Parameter links: at least one.
    init(_ links: [Link]) {
        precondition(!links.isEmpty)
        var measured = links
        let middles = links.map(\.middleNanoseconds)
        var best = (at: middles[0], bound: Int64.max)
        for (index, middle) in middles.enumerated() {
            let bound = measured[index].estimate(at: middle).boundNanoseconds
            if bound < best.bound { best = (middle, bound) }
        }
        middleNanoseconds = best.at
        self.links = Mutex(measured)
    }

    /// The shift of a session time, and its maximum error: by the clocks that were in use then.
    func shift(at session: Int64) -> (nanoseconds: Int64, boundNanoseconds: UInt64) {
        links.withLock { links in
            var best: (nanoseconds: Int64, boundNanoseconds: Int64) = (0, .max)
            for index in links.indices {
                let found = links[index].estimate(at: session)
                if index == 0 || found.boundNanoseconds < best.boundNanoseconds { best = found }
            }
            return (best.nanoseconds, UInt64(clamping: best.boundNanoseconds))
        }
    }
}
