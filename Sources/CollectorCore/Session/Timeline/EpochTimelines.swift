import Timing

/// Maps one epoch of an agent's clock to the session's timeline: a `Timeline` for every stretch between two jumps of the clock.
///
/// The capture time of a sample decides to which stretch it belongs, not its arrival: a backlog from before a jump is mapped as
/// if it had arrived at once.
struct EpochTimelines: Sendable {
    /// Maximum stretches of a clock that jumps often; the oldest one is dropped first.
    static let maximumStretches = 16

    private struct Stretch: Sendable {
        /// Agent's clock at its start; the first stretch also extends back without limit.
        var sinceNanoseconds: Int64
        var timeline: Timeline
    }

    private var stretches: [Stretch]

    init(_ timeline: Timeline) {
        stretches = [Stretch(sinceNanoseconds: .min, timeline: timeline)]
    }

    var sessionZeroNanoseconds: Int64 { stretches[0].timeline.sessionZeroNanoseconds }

    /// Maps a moment of the agent's clock to the session's timeline; later updates do not change the result.
    mutating func map(_ agentNanoseconds: Int64) -> Int64 {
        stretches[index(at: agentNanoseconds)].timeline.map(agentNanoseconds)
    }

    /// The timeline in force at a moment of the agent's clock.
    func timeline(at agentNanoseconds: Int64) -> Timeline {
        stretches[index(at: agentNanoseconds)].timeline
    }

    /// Applies a newer model to the present stretch.
    mutating func update(_ model: ClockModel, at agentNanoseconds: Int64) -> Timeline.Update {
        stretches[stretches.count - 1].timeline.update(model, at: agentNanoseconds)
    }

    /// Begins a stretch: the clock has jumped, at a moment of the agent's clock.
    ///
    /// Samples that are already mapped keep their places: the stretch begins after them.
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
