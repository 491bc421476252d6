import Timing

/// How one epoch of an agent's clock lies on the session's timeline: a `Timeline` for every stretch between two jumps of the
/// clock.
///
/// Which stretch a sample belongs to is decided by when it was captured, not by when it came: a backlog from before a jump is
/// mapped as it would have been had it come at once.
struct EpochTimelines: Sendable {
    /// A clock that jumps more often is not worth more memory; the oldest stretch goes first.
    static let maximumStretches = 16

    private struct Stretch: Sendable {
        /// Agent's clock at its start; the first one also reaches back for ever.
        var sinceNanoseconds: Int64
        var timeline: Timeline
    }

    private var stretches: [Stretch]

    init(_ timeline: Timeline) {
        stretches = [Stretch(sinceNanoseconds: .min, timeline: timeline)]
    }

    var sessionZeroNanoseconds: Int64 { stretches[0].timeline.sessionZeroNanoseconds }

    /// A moment of the agent's clock on the session's timeline; later updates leave it where it is.
    mutating func map(_ agentNanoseconds: Int64) -> Int64 {
        stretches[index(at: agentNanoseconds)].timeline.map(agentNanoseconds)
    }

    /// The timeline in force at a moment of the agent's clock.
    func timeline(at agentNanoseconds: Int64) -> Timeline {
        stretches[index(at: agentNanoseconds)].timeline
    }

    /// Follows a newer model of the present stretch.
    mutating func update(_ model: ClockModel, at agentNanoseconds: Int64) -> Timeline.Update {
        stretches[stretches.count - 1].timeline.update(model, at: agentNanoseconds)
    }

    /// Begins a stretch: the clock has jumped, at a moment of the agent's clock.
    ///
    /// What has been mapped stays where it is: the stretch begins behind it.
    mutating func begin(_ timeline: Timeline, since agentNanoseconds: Int64) {
        let last = stretches.count - 1
        let start = stretches[last].timeline.startOfUpdate(at: agentNanoseconds)
        let since = max(start, stretches[last].sinceNanoseconds) + 1
        stretches.append(Stretch(sinceNanoseconds: since, timeline: timeline))
        if stretches.count > Self.maximumStretches { stretches.removeFirst() }
    }

    private func index(at agentNanoseconds: Int64) -> Int {
        var index = stretches.count - 1
        while index > 0, stretches[index].sinceNanoseconds > agentNanoseconds { index -= 1 }
        return index
    }
}
