package import Media

/// Converts session times to a track's ticks, whatever its stamps are.
///
/// DTS strictly increase, PTS are never before DTS, durations are never zero. A sample with implausible stamps is kept,
/// placed by the rule of its ``StampFault``, and counted.
package struct TrackClock: Sendable {
    /// A stamp further than this in the future is not used: a sample cannot arrive before it was captured, and a clock's bound is
    /// far smaller than this.
    package static let aheadLimitNanoseconds: Int64 = 10_000_000_000
    /// A stamp further than this in the past is not used (400 days): no spool lasts that long.
    package static let behindLimitNanoseconds: Int64 = 400 * 86_400 * 1_000_000_000
    /// A DTS that goes back by at most this is moved forward; above it, the clock was set back.
    package static let squeezeLimitNanoseconds: Int64 = 1_000_000_000
    /// A PTS later than this after the DTS is not used: H.264 reorders 16 pictures at most.
    package static let reorderLimitNanoseconds: Int64 = 60_000_000_000
    /// A longer duration is not used.
    package static let durationLimitNanoseconds: Int64 = 3_600_000_000_000

    /// Rules for the times of a track's successive samples.
    package enum Continuity: Hashable, Sendable {
        /// Each at its stamp: pictures.
        case stamped
        /// End to end, as long as the stamps deviate by at most this many ticks: audio packets, whose stamps jitter while their
        /// lengths are exact. Above the tolerance the stamp is used.
        case endToEnd(toleranceTicks: Int64)
    }

    package let timescale: Timescale
    package let continuity: Continuity
    /// Duration of a first sample without one.
    package let nominalDurationTicks: Int64
    /// Number of times that each rule was applied.
    package private(set) var faultCounts: [StampFault: Int] = [:]
    private var last: (dtsTicks: Int64, durationTicks: Int64)?

    /// A track before its first sample; `nominalDurationTicks` is a sample's usual duration, 1024 for AAC.
    package init(timescale: Timescale, continuity: Continuity, nominalDurationTicks: Int64) {
        precondition(nominalDurationTicks > 0, "a sample that lasts no ticks has no successor")
        precondition(
            timescale.ticksPerSecond <= Timescale.nanoseconds.ticksPerSecond,
            "ticks shorter than a nanosecond cannot be told apart")
        self.timescale = timescale
        self.continuity = continuity
        self.nominalDurationTicks = nominalDurationTicks
    }

    /// Continues after a sample that was placed by another clock of the same track.
    package mutating func goOn(afterDTSTicks dts: Int64, durationTicks: Int64) {
        last = (dts, max(1, durationTicks))
    }

    /// Continues after a sample that was placed in ticks of another timescale, rounded so that no sample is placed before it.
    package mutating func goOn(afterDTSTicks dts: Int64, durationTicks: Int64, of other: Timescale)
    {
        guard other != timescale else {
            return goOn(afterDTSTicks: dts, durationTicks: durationTicks)
        }
        do throws(RescaleOverflow) {
            goOn(
                afterDTSTicks: try rescale(dts, from: other, to: timescale, rounding: .up),
                durationTicks: try rescale(durationTicks, from: other, to: timescale))
        } catch {
            // The position overflows the timescale. Such stamps are not used: the track starts again.
        }
    }

    /// Continues after the same track in another format.
    package mutating func goOn(after other: TrackClock) {
        guard let last = other.last else { return }
        goOn(
            afterDTSTicks: last.dtsTicks, durationTicks: last.durationTicks, of: other.timescale)
    }

    /// The decoding time of the last sample, nanoseconds of session time; nil before the first.
    package var startNanoseconds: Int64? {
        guard let last else { return nil }
        do {
            return try rescale(last.dtsTicks, from: timescale, to: .nanoseconds)
        } catch {
            return last.dtsTicks < 0 ? .min : .max
        }
    }

    /// The end of the last sample, nanoseconds of session time; nil before the first.
    ///
    /// Samples with implausible stamps are placed end to end, and run ahead of the present when there are too many of
    /// them.
    package var endNanoseconds: Int64? {
        guard let last else { return nil }
        do {
            return try rescale(
                last.dtsTicks.clampedAdding(last.durationTicks), from: timescale, to: .nanoseconds)
        } catch {
            return last.dtsTicks < 0 ? .min : .max
        }
    }

    /// The position of the next sample in decoding order.
    /// - Parameters:
    ///   - nowNanoseconds: the present on the session's timeline.
    ///   - latestNanoseconds: the limit for samples with unusable stamps that are placed end to end: samples that were
    ///     captured together are not farther apart.
    package mutating func place(
        _ stamps: SampleStamps, nowNanoseconds: Int64, latestNanoseconds: Int64 = .max
    ) -> Placement {
        var faults: [StampFault] = []
        let duration = believedDuration(stamps.durationNanoseconds, &faults)
        var dts = stamps.dtsNanoseconds
        if dts > stamps.ptsNanoseconds {
            faults.append(.decodingAfterPresentation)
            dts = stamps.ptsNanoseconds
        }
        var delay = stamps.ptsNanoseconds.clampedSubtracting(dts)
        if delay > Self.reorderLimitNanoseconds {
            faults.append(.presentationFarAhead)
            delay = 0
        }
        let now = ticks(clampedToTrack(min(nowNanoseconds, latestNanoseconds)))
        let placed: Int64
        if let stamped = believed(dts, nowNanoseconds, &faults) {
            placed = follow(stamped, nowTicks: now, &faults)
        } else {
            placed = runOn(nowTicks: now)
        }
        let gap = last.map { placed - ($0.dtsTicks + $0.durationTicks) } ?? 0
        last = (placed, duration)
        for fault in faults { faultCounts[fault, default: 0] += 1 }
        return Placement(
            ptsTicks: placed + presentationDelay(delay, dts: dts, placed: placed, faults: faults),
            dtsTicks: placed, durationTicks: duration, gapTicks: gap, faults: faults)
    }

    private mutating func believedDuration(_ nanoseconds: Int64, _ faults: inout [StampFault])
        -> Int64
    {
        if nanoseconds > 0, nanoseconds <= Self.durationLimitNanoseconds {
            return max(1, ticks(nanoseconds))
        }
        faults.append(.badDuration)
        return last?.durationTicks ?? nominalDurationTicks
    }

    /// The stamp in ticks, nil when it is implausibly far from the present.
    private func believed(
        _ dtsNanoseconds: Int64, _ nowNanoseconds: Int64, _ faults: inout [StampFault]
    ) -> Int64? {
        let now = clampedToTrack(nowNanoseconds)
        if dtsNanoseconds > now + Self.aheadLimitNanoseconds {
            faults.append(.ahead)
            return nil
        }
        if dtsNanoseconds < now - Self.behindLimitNanoseconds {
            faults.append(.behind)
            return nil
        }
        return ticks(dtsNanoseconds)
    }

    /// The position of a plausible stamp after the previous sample.
    private func follow(_ stamped: Int64, nowTicks: Int64, _ faults: inout [StampFault]) -> Int64 {
        guard let last else { return stamped }
        let end = last.dtsTicks + last.durationTicks
        if case .endToEnd(let tolerance) = continuity, abs(stamped - end) <= tolerance {
            return end
        }
        if stamped > last.dtsTicks { return stamped }
        if last.dtsTicks - stamped <= ticks(Self.squeezeLimitNanoseconds) {
            faults.append(.notAfterPrevious)
            return last.dtsTicks + 1
        }
        faults.append(.backwards)
        return runOn(nowTicks: nowTicks)
    }

    /// The position of a sample without a usable stamp: after the previous one, but not in the future.
    private func runOn(nowTicks: Int64) -> Int64 {
        guard let last else { return nowTicks }
        return max(last.dtsTicks + 1, min(last.dtsTicks + last.durationTicks, nowTicks))
    }

    /// From DTS to PTS in ticks: the stamped PTS if it is still possible, else the stamped distance.
    private func presentationDelay(
        _ delayNanoseconds: Int64, dts: Int64, placed: Int64, faults: [StampFault]
    ) -> Int64 {
        if case .stamped = continuity, !faults.contains(where: \.replacesStamp) {
            return max(0, ticks(dts + delayNanoseconds) - placed)
        }
        return ticks(delayNanoseconds)
    }

    /// The present, limited so that limits and ticks around it fit in 64 bits: 73 years of a clock of up to 1 GHz.
    private func clampedToTrack(_ nanoseconds: Int64) -> Int64 {
        max(-ClockLimits.timestampNanoseconds, min(ClockLimits.timestampNanoseconds, nanoseconds))
    }

    private func ticks(_ nanoseconds: Int64) -> Int64 {
        do {
            return try rescale(nanoseconds, from: .nanoseconds, to: timescale)
        } catch {
            preconditionFailure("\(nanoseconds) ns were not limited before they became ticks")
        }
    }
}
