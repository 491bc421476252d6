package import Media

/// How a source's samples are divided; the defaults are what a collector uses.
package struct SegmenterSettings: Hashable, Sendable {
    /// Length of a segment.
    package var segmentNanoseconds: Int64
    /// Longest fragment: what a power cut may cost, and how far a growing file lags behind.
    package var fragmentNanoseconds: Int64 = 1_000_000_000
    /// Largest fragment: a quarter of the credit window, so that a fragment can always be completed within it.
    package var fragmentBytes = 2 << 20
    /// A fragment that nothing has been added to for so long is written as it is.
    package var idleNanoseconds: Int64 = 1_500_000_000
    /// How long a file for what came too late stays open, and how far sound may be before the first pictures of all.
    package var stragglerNanoseconds: Int64 = 2_000_000_000
    /// How long a file stays open after its last picture for sound that belongs before the cut: a box that has too much to do may
    /// encode its sound seconds behind its pictures.
    package var soundPatienceNanoseconds: Int64 = 10_000_000_000
    /// How far sound goes past a boundary before it is cut without waiting for a picture any longer.
    package var videoPatienceNanoseconds: Int64 = 10_000_000_000
    /// What is presented so little before a boundary is at it: two clocks agree to within their bounds.
    package var toleranceNanoseconds: Int64 = 1_000_000
    /// What is presented before this is only there to be decoded, and hidden in the file that begins with it: the start that an
    /// imported file's edit list hides. Nil: everything is to be seen.
    package var presentedFromNanoseconds: Int64?

    /// - Precondition: `segmentNanoseconds` is positive.
    package init(segmentNanoseconds: Int64) {
        precondition(segmentNanoseconds > 0, "a segment lasts")
        self.segmentNanoseconds = segmentNanoseconds
    }
}

/// The description of one file before its first byte.
package struct SegmentPlan: Hashable, Sendable {
    package struct Track: Hashable, Sendable {
        package var format: TrackFormat
        /// The segment's origin in ticks of the track on the session's timeline: what is taken off every time.
        package var originTicks: Int64
        /// What is added to every time so that the first DTS is not negative; an edit list takes it back.
        package var shiftTicks: Int64

        package init(format: TrackFormat, originTicks: Int64, shiftTicks: Int64) {
            self.format = format
            self.originTicks = originTicks
            self.shiftTicks = shiftTicks
        }
    }

    /// Nanoseconds of session time.
    package var originNanoseconds: Int64
    package var tracks: [Track]

    package init(originNanoseconds: Int64, tracks: [Track]) {
        self.originNanoseconds = originNanoseconds
        self.tracks = tracks
    }
}
