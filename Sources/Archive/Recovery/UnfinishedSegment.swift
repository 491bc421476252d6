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

    /// Whether it is later than another one; nil is earlier than any.
    func isBehind(_ other: TrackEnd?) -> Bool {
        guard let other else { return true }
        func seconds(_ end: TrackEnd) -> Double {
            (Double(end.dtsTicks) + Double(end.durationTicks))
                / Double(end.timescale.ticksPerSecond)
        }
        return seconds(self) > seconds(other)
    }
}
