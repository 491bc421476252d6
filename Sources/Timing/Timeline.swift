import Media

/// Maps the samples of one source, pictures and audio, from one epoch of its agent's clock to the session's timeline.
///
/// The mapping is piecewise linear. A new ``ClockModel`` never changes what has been mapped: it begins a new line at
/// the end of the last one, which converges to the model with a slope difference of at most ``slewLimitPPB``. So the
/// order of samples is preserved (moments 2 ns or more apart never coincide), and a moment maps to the same session
/// time however late its sample arrives.
package struct Timeline: Sendable {
    /// Maximum correction, in parts per 10⁹ of the agent's time: 500 ppm is no audible change of pitch, and is what `adjtime`
    /// uses.
    package static let slewLimitPPB: Int64 = 500_000
    /// Duration over which small corrections are spread, so that the estimate's noise is smoothed. A longer duration applies
    /// corrections too late: while a clock's rate is being learned, most of the error is what has not been slewed yet.
    package static let slewHorizonNanoseconds: Int64 = 1_000_000_000
    /// A correction that would take longer than 1000 s to slew is a discontinuity.
    package static let discontinuityNanoseconds: Int64 = 500_000_000
    /// Time before the newest sample for which lines are kept: one track may lag behind the other by this much.
    package static let historyNanoseconds: Int64 = 240_000_000_000
    /// Maximum number of lines (about 50 KB): an update every half second within the history.
    package static let maximumPieces = 512
    /// A sample stamped further than this after an update is implausible and does not delay it.
    package static let plausibleLeadNanoseconds: Int64 = 60_000_000_000

    /// The result of a model update.
    package enum Update: Hashable, Sendable {
        /// Accepted; this much (model − applied) is slewed from here on.
        case slewing(restNanoseconds: Int64)
        /// Rejected: the difference exceeds ``Timeline/discontinuityNanoseconds``. The caller records a discontinuity and
        /// continues with a new timeline.
        case discontinuity(restNanoseconds: Int64)
    }

    /// The session's zero, nanoseconds of the collector's clock.
    package let sessionZeroNanoseconds: Int64
    /// In the order of their starts; the first one also extends back, and the last one forward, without limit.
    private var pieces: [Piece]
    /// Agent's clock at the newest moment mapped.
    private var reachedNanoseconds: Int64?

    /// Starts with a model: its offset applies from the first moment, without slewing.
    package init(sessionZeroNanoseconds: Int64, model: ClockModel) {
        self.sessionZeroNanoseconds = sessionZeroNanoseconds
        pieces = [
            Piece(
                startNanoseconds: model.referenceAgentNanoseconds,
                offsetNanoseconds: model.offsetNanoseconds, slewPPB: 0, model: model)
        ]
    }

    /// Maps a moment of the agent's clock to the session's timeline; later updates do not change the result.
    package mutating func map(_ agentNanoseconds: Int64) -> Int64 {
        reachedNanoseconds = max(reachedNanoseconds ?? agentNanoseconds, agentNanoseconds)
        return sessionNanoseconds(at: agentNanoseconds)
    }

    /// The present mapping of a moment of the agent's clock.
    package func sessionNanoseconds(at agentNanoseconds: Int64) -> Int64 {
        agentNanoseconds.clampedAdding(appliedOffsetNanoseconds(at: agentNanoseconds))
            .clampedSubtracting(sessionZeroNanoseconds)
    }

    /// The offset (collector − agent) that the mapping uses at a moment: it is stored in fragments.
    package func appliedOffsetNanoseconds(at agentNanoseconds: Int64) -> Int64 {
        piece(at: agentNanoseconds).offset(at: agentNanoseconds)
    }

    /// Maximum error of the applied offset: the model's bound, plus the part of the correction that has not been slewed
    /// yet.
    package func boundNanoseconds(at agentNanoseconds: Int64) -> Int64 {
        let piece = piece(at: agentNanoseconds)
        let rest = distance(
            from: piece.offset(at: agentNanoseconds), to: piece.model.offset(at: agentNanoseconds))
        return piece.model.bound(at: agentNanoseconds).clampedAdding(rest)
    }

    /// The correction in progress at a moment, on top of the model's skew.
    package func slewPPB(at agentNanoseconds: Int64) -> Int64 {
        piece(at: agentNanoseconds).slewPPB
    }

    /// The model at a moment.
    package func model(at agentNanoseconds: Int64) -> ClockModel {
        piece(at: agentNanoseconds).model
    }

    /// Applies a newer model, from `agentNanoseconds` or the newest mapped sample on, whichever is later.
    package mutating func update(_ model: ClockModel, at agentNanoseconds: Int64) -> Update {
        let rest = rest(to: model, at: agentNanoseconds)
        guard rest.magnitude <= Self.discontinuityNanoseconds.magnitude else {
            return .discontinuity(restNanoseconds: rest)
        }
        return .slewing(restNanoseconds: slew(to: model, at: agentNanoseconds))
    }

    /// Offset of a model minus the applied offset, nanoseconds, at the instant from which an update would apply.
    package mutating func rest(to model: ClockModel, at agentNanoseconds: Int64) -> Int64 {
        let start = startOfUpdate(at: agentNanoseconds)
        return model.offset(at: start).clampedSubtracting(appliedOffsetNanoseconds(at: start))
    }

    /// Approaches a newer model at the slew limit, however far away it is. The bound includes the rest.
    /// - Returns: the rest (model − applied).
    package mutating func slew(to model: ClockModel, at agentNanoseconds: Int64) -> Int64 {
        makeRoom()
        let start = startOfUpdate(at: agentNanoseconds)
        let applied = appliedOffsetNanoseconds(at: start)
        let rest = model.offset(at: start).clampedSubtracting(applied)
        while pieces.count > 1, pieces[pieces.count - 1].startNanoseconds >= start {
            pieces.removeLast()
        }
        let magnitude = Int64(clamping: rest.magnitude)
        let billion: Int64 = 1_000_000_000
        let rate =
            magnitude >= Self.slewHorizonNanoseconds
            ? Self.slewLimitPPB
            : min(Self.slewLimitPPB, magnitude * billion / Self.slewHorizonNanoseconds)
        let slewing = Piece(
            startNanoseconds: start, offsetNanoseconds: applied,
            slewPPB: rest < 0 ? -rate : rate, model: model)
        pieces.append(slewing)
        if rate > 0 {
            let (product, isTooFar) = magnitude.multipliedReportingOverflow(by: billion)
            let end = start.clampedAdding(isTooFar ? .max : product / rate)
            pieces.append(
                Piece(
                    startNanoseconds: end, offsetNanoseconds: slewing.offset(at: end), slewPPB: 0,
                    model: model))
        }
        return rest
    }

    /// The start of an update at a moment of the agent's clock: not before mapped samples, unless those were stamped implausibly
    /// far ahead.
    package mutating func startOfUpdate(at agentNanoseconds: Int64) -> Int64 {
        let latest = agentNanoseconds.clampedAdding(Self.plausibleLeadNanoseconds)
        if let reached = reachedNanoseconds, reached > latest {
            reachedNanoseconds = agentNanoseconds
        }
        return max(agentNanoseconds, reachedNanoseconds ?? agentNanoseconds)
    }

    /// Drops lines that no sample in order needs. While a long backlog arrives, no line can be dropped, and the newest update is
    /// replaced instead: no sample is near it yet.
    private mutating func makeRoom() {
        let needed = reachedNanoseconds?.clampedSubtracting(Self.historyNanoseconds) ?? .min
        while pieces.count > 1, pieces[1].startNanoseconds <= needed { pieces.removeFirst() }
        while pieces.count > Self.maximumPieces - 2 {
            if let reached = reachedNanoseconds, pieces[1].startNanoseconds <= reached {
                pieces.removeFirst()
            } else {
                pieces.removeLast()
            }
        }
    }

    private func piece(at agentNanoseconds: Int64) -> Piece {
        var low = 0
        var high = pieces.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if pieces[middle].startNanoseconds <= agentNanoseconds {
                low = middle
            } else {
                high = middle
            }
        }
        return pieces[low]
    }

    /// One line of the mapping.
    private struct Piece: Sendable {
        let startNanoseconds: Int64
        /// Applied offset at the start.
        let offsetNanoseconds: Int64
        let slewPPB: Int64
        let model: ClockModel

        func offset(at agentNanoseconds: Int64) -> Int64 {
            let elapsed = agentNanoseconds.clampedSubtracting(startNanoseconds)
            return offsetNanoseconds.clampedAdding(
                drift(over: elapsed, ppb: model.skewPPB.clampedAdding(slewPPB)))
        }
    }
}
