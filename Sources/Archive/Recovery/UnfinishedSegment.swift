package import Media

/// A segment that an earlier collector left open, and that can be gone on with: its torn tail is cut, and everything in it
/// is durable.
package struct UnfinishedSegment: Hashable, Sendable {
    package var path: String
    package var plan: SegmentPlan
    package var sessionZero: UTCTime
    /// Whole fragments.
    package var fragments: UInt32
    /// The digest of the last fragment's `moof`: the next fragment's link to it.
    package var chain: Digest
    package var sizeBytes: UInt64
    /// Where its tracks stand.
    package var ends: [TrackKind: TrackEnd]

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

/// Where a track stands: its last sample on the session's timeline.
package struct TrackEnd: Hashable, Sendable {
    /// Decoding time, ticks of the track on the session's timeline.
    package var dtsTicks: Int64
    package var durationTicks: Int64
    /// What its ticks are: the track may have another format, and so other ticks, when it goes on.
    package var timescale: Timescale

    package init(dtsTicks: Int64, durationTicks: Int64, timescale: Timescale = .video) {
        self.dtsTicks = dtsTicks
        self.durationTicks = durationTicks
        self.timescale = timescale
    }
}
