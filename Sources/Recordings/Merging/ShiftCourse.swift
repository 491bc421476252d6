import Archive
import Media
import Synchronization
import Timing

/// Maps one collector's session times to another's timeline, over the whole session, by the exchanges between the two
/// collectors' clocks. Any thread may call.
final class ShiftCourse: Sendable {
    /// One clock of each of the two collectors.
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
    /// A session time at which the error of the shift is small.
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

extension SiteClocks {
    /// The course of another archive's session times on this one's timeline; nil: the collectors have not measured each other.
    func course(of other: SiteClocks) -> ShiftCourse? {
        var links: [ShiftCourse.Link] = []
        for (own, zero) in zeros.sorted(by: { $0.key < $1.key }) {
            for (theirs, theirZero) in other.zeros.sorted(by: { $0.key < $1.key }) {
                let asked = other.exchanges(of: theirs, asking: own)
                let answered = exchanges(of: own, asking: theirs)
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
