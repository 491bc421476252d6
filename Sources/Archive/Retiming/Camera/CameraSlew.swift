import Media

/// Chooses the times of a camera's samples between those of the agent and the envelope of their arrivals, so that distances stay
/// between those of both.
///
/// A distance of two times is at most ``ratePPM`` outside of the range between the agent's distance and the envelope's. The
/// agent's times are always a solution. Better ones are found as in ``SlewLimit``: first, backwards, the times from which all
/// later samples have a solution; then, forwards, those nearest to the envelope. Only the range of each file's first sample is
/// kept, so files are processed one by one.
struct CameraSlew: Sendable {
    /// Change of the difference to the agent's times where both distances are equal.
    static let ratePPM: Int64 = 250
    /// Larger differences are not caused by the network's delay: the agent's time is kept.
    static let greatestNanoseconds: Int64 = 500_000_000

    /// A sample in the order of its track.
    struct Position: Hashable, Sendable {
        var epoch: EpochID
        /// The recorded time, nanoseconds of the agent's clock.
        var agent: Int64
        /// The number of its stretch; nil: it has no timestamp.
        var stretch: Int?
        /// The envelope; nil: the stretch is not used.
        var envelope: Int64?
        /// Whether it may follow the envelope.
        var isUsable = false
        /// Whether it may be later than the agent's time.
        var mayBeLater = true
        /// Earliest time of a file's first sample.
        var earliest = Int64.min

        /// Admissible times.
        var window: ClosedRange<Int64> {
            guard isUsable, let envelope,
                envelope.clampedSubtracting(agent).magnitude
                    <= CameraSlew.greatestNanoseconds.magnitude
            else { return agent...agent }
            let lowest = min(agent, max(earliest, min(agent, envelope)))
            return lowest...(mayBeLater ? max(agent, envelope) : agent)
        }
    }

    /// Admissible distances from one time to the next; nil: the agent's clock does not compare them, and neither is moved.
    static func distances(_ one: Position, _ next: Position) -> ClosedRange<Int64>? {
        let agent = next.agent.clampedSubtracting(one.agent)
        guard one.epoch == next.epoch, agent > 0 else { return nil }
        var least = agent
        var greatest = agent
        if one.stretch == next.stretch, let before = one.envelope, let after = next.envelope,
            after > before
        {
            let distance = after.clampedSubtracting(before)
            least = min(least, distance)
            greatest = max(greatest, distance)
        }
        let slack = 1_000_000 / ratePPM
        return least - least / slack...greatest.clampedAdding(greatest / slack)
    }

    /// For each place, the times from which all later places have a solution.
    /// - Parameter following: the first place after these, with its times; nil: none follows.
    static func reachable(
        _ places: [Position], following: (place: Position, times: ClosedRange<Int64>)?
    ) -> [ClosedRange<Int64>] {
        var next = following
        var found: [ClosedRange<Int64>] = []
        found.reserveCapacity(places.count)
        for place in places.reversed() {
            var times = place.window
            if let next {
                if let distances = distances(place, next.place) {
                    let lowest = max(
                        times.lowerBound,
                        next.times.lowerBound.clampedSubtracting(distances.upperBound))
                    let highest = min(
                        times.upperBound,
                        next.times.upperBound.clampedSubtracting(distances.lowerBound))
                    times = lowest <= highest ? lowest...highest : place.agent...place.agent
                } else {
                    times = place.agent...place.agent
                }
            }
            found.append(times)
            next = (place, times)
        }
        return found.reversed()
    }

    /// The chosen time of the last place.
    private(set) var last: (place: Position, time: Int64)?

    /// The time of the next place, nearest to its envelope.
    /// - Parameter times: from ``reachable(_:following:)``.
    func time(of place: Position, in times: ClosedRange<Int64>) -> Int64 {
        var range = times
        if let last {
            guard let distances = Self.distances(last.place, place) else { return place.agent }
            let lowest = max(
                range.lowerBound, last.time.clampedAdding(distances.lowerBound))
            let highest = min(
                range.upperBound, last.time.clampedAdding(distances.upperBound))
            guard lowest <= highest else { return place.agent }
            range = lowest...highest
        }
        let wanted = place.isUsable ? place.envelope ?? place.agent : place.agent
        return min(max(wanted, range.lowerBound), range.upperBound)
    }

    mutating func choose(_ place: Position, in times: ClosedRange<Int64>) -> Int64 {
        let time = time(of: place, in: times)
        last = (place, time)
        return time
    }
}
