package import Media

/// A segment that an earlier collector left open, and that can be resumed: its torn tail is cut off, and all of it is durable.
package struct UnfinishedSegment: Hashable, Sendable {
    package var path: String
    package var plan: SegmentPlan
    package var sessionZero: UTCTime
    /// Complete fragments.
    package var fragments: UInt32
    /// The digest of the last fragment's `moof`, to which the next fragment is chained.
    package var chain: Digest
    package var sizeBytes: UInt64
    /// The ends of its tracks.
    package var ends: [TrackKind: TrackEnd]
    /// Summaries of the source's files, of this one, too.
    package var checkpoint = SourceCheckpoint()

    package init(
        path: String, plan: SegmentPlan, sessionZero: UTCTime, fragments: UInt32, chain: Digest,
        sizeBytes: UInt64, ends: [TrackKind: TrackEnd]
    ) {
        self.path = path
        self.plan = plan
        self.sessionZero = sessionZero
        self.fragments = fragments
        self.chain = chain
        self.sizeBytes = sizeBytes
        self.ends = ends
    }
}

/// The end of a track: its last sample on the session's timeline.
package struct TrackEnd: Hashable, Sendable {
    /// Decoding time, ticks of the track on the session's timeline.
    package var dtsTicks: Int64
    package var durationTicks: Int64
    /// The unit of its ticks: when the track is resumed, it may have another format and therefore another timescale.
    package var timescale: Timescale

    package init(dtsTicks: Int64, durationTicks: Int64, timescale: Timescale = .video) {
        self.dtsTicks = dtsTicks
        self.durationTicks = durationTicks
        self.timescale = timescale
    }

    /// The end of the sample, nanoseconds of session time.
    package var nanoseconds: Int64 {
        timescale.nanoseconds(dtsTicks.clampedAdding(durationTicks))
    }

    /// Whether it is later than another one, exactly; nil is earlier than any.
    func isLater(than other: TrackEnd?) -> Bool {
        guard let other else { return true }
        // In units of one over the product of both timescales.
        func time(_ end: TrackEnd, _ scale: Timescale) -> (high: Int64, low: UInt64) {
            let (high, low) = end.dtsTicks.clampedAdding(end.durationTicks)
                .multipliedFullWidth(by: Int64(scale.ticksPerSecond))
            return (high, low)
        }
        return time(self, other.timescale) > time(other, timescale)
    }
}
