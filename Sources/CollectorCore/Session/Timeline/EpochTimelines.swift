import Media
import Timing

/// Maps one epoch of an agent's clock to the session's timeline: a `Timeline` for every stretch between two jumps of
/// the clock.
///
/// A sample belongs to a stretch by its capture time, not its arrival: a backlog from before a jump is mapped as if it
/// had arrived in time.
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

    /// Approaches a newer model on the present stretch, at the slew limit.
    /// - Returns: the distance of the mapping from it (model − applied).
    mutating func slew(to model: ClockModel, at agentNanoseconds: Int64) -> Int64 {
        stretches[stretches.count - 1].timeline.slew(to: model, at: agentNanoseconds)
    }

    /// Begins a stretch at a moment of the agent's clock, without slewing.
    mutating func begin(_ timeline: Timeline, since agentNanoseconds: Int64) {
        let earliest = stretches[stretches.count - 1].sinceNanoseconds.clampedAdding(1)
        stretches.append(
            Stretch(sinceNanoseconds: max(agentNanoseconds, earliest), timeline: timeline))
        if stretches.count > Self.maximumStretches { stretches.removeFirst() }
    }

    private func index(at agentNanoseconds: Int64) -> Int {
        var index = stretches.count - 1
        while index > 0, stretches[index].sinceNanoseconds > agentNanoseconds { index -= 1 }
        return index
    }
}
