/// The durations of a live playlist. They are constant: players stop when one changes.
package struct LiveTiming: Hashable, Sendable {
    /// `EXT-X-TARGETDURATION`.
    package let targetSeconds: Int64
    /// `PART-TARGET`: the longest duration of a part.
    package let partTargetNanoseconds: Int64

    /// - Parameters:
    ///   - targetSeconds: segments are joined up to it. A group of pictures that is longer is divided between keyframes.
    ///   - partTargetNanoseconds: longer than a picture of the source lasts.
    package init(targetSeconds: Int64 = 4, partTargetNanoseconds: Int64 = 200_000_000) {
        precondition((1...60).contains(targetSeconds), "players wait for three target durations")
        precondition(partTargetNanoseconds >= 20_000_000, "a part is a request")
        precondition(
            partTargetNanoseconds <= targetSeconds * 1_000_000_000,
            "a segment has at least one part")
        self.targetSeconds = targetSeconds
        self.partTargetNanoseconds = partTargetNanoseconds
    }

    /// The target duration, nanoseconds.
    package var targetNanoseconds: Int64 { targetSeconds * 1_000_000_000 }

    /// The least duration of a part that is neither independent nor the last of its segment: 85 % of the part target
    /// (draft-pantos-hls-rfc8216bis §4.4.4.9).
    package var leastPartNanoseconds: Int64 { (partTargetNanoseconds * 85 + 99) / 100 }

    /// A segment ends before it gets longer than this. The next unit may come a little later than expected.
    package var segmentLimitNanoseconds: Int64 { targetNanoseconds + 400_000_000 }

    /// The longest duration of a segment that is rounded to the target duration (RFC 8216 §4.3.3.1).
    package var longestSegmentNanoseconds: Int64 { targetNanoseconds + 499_000_000 }

    /// A longer pause of the main track is a gap: a discontinuity follows it.
    package var gapNanoseconds: Int64 { 500_000_000 }

    /// Minimum duration of the list. Players without support of parts begin three target durations before the end.
    package var windowNanoseconds: Int64 { 8 * targetNanoseconds }

    /// No segment is removed from a shorter list (draft-pantos-hls-rfc8216bis §6.2.2).
    package var leastWindowNanoseconds: Int64 { 3 * targetNanoseconds }

    /// Parts further from the end are removed from the list: three target durations (draft-pantos-hls-rfc8216bis §6.2.2).
    package var partWindowNanoseconds: Int64 { 3 * targetNanoseconds - roundingNanoseconds }

    /// Rounding error of sums of durations, which are written in microseconds.
    package var roundingNanoseconds: Int64 { 1_000_000 }

    /// Time for which a segment can be fetched after its removal from the list: longer than any segment
    /// (draft-pantos-hls-rfc8216bis §6.2.2).
    package var availabilityNanoseconds: Int64 { 3 * targetNanoseconds }

    /// `CAN-SKIP-UNTIL`: the least that is allowed (draft-pantos-hls-rfc8216bis §4.4.3.8).
    package var skipBoundaryNanoseconds: Int64 { 6 * targetNanoseconds }

    /// `HOLD-BACK`: the least that is allowed.
    package var holdBackNanoseconds: Int64 { 3 * targetNanoseconds }

    /// `PART-HOLD-BACK`: the recommended value; twice the part target is the minimum.
    package var partHoldBackNanoseconds: Int64 { 3 * partTargetNanoseconds }

    /// Time limit of a blocking request, which is then answered with 503 (draft-pantos-hls-rfc8216bis §6.2.5.2).
    package var patienceNanoseconds: Int64 { 3 * targetNanoseconds }

    /// The Advance Part Limit: a request for a part this far beyond the last one is refused
    /// (draft-pantos-hls-rfc8216bis §6.2.5.2).
    package var advancePartLimit: Int {
        guard partTargetNanoseconds < 1_000_000_000 else { return 3 }
        return Int((3_000_000_000 + partTargetNanoseconds - 1) / partTargetNanoseconds)
    }
}
