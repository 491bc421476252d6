package import Media

/// Settings for dividing a source's samples; the defaults are those of a collector.
package struct SegmenterSettings: Hashable, Sendable {
    /// Length of a segment.
    package var segmentNanoseconds: Int64
    /// Maximum duration of a fragment: the maximum loss at a power cut, and the delay of a growing file.
    package var fragmentNanoseconds: Int64 = 1_000_000_000
    /// Maximum size of a fragment: a quarter of the largest credit window; see ``Segmenter/roomBytes``.
    package var fragmentBytes = 2 << 20
    /// A fragment that has not grown for this long is written as it is.
    package var idleNanoseconds: Int64 = 1_500_000_000
    /// How long a file for late samples stays open, and how much audio may precede the very first pictures.
    package var stragglerNanoseconds: Int64 = 2_000_000_000
    /// How long a file stays open after its last picture for audio from before the cut: an overloaded box may encode its audio
    /// seconds after its pictures.
    package var soundPatienceNanoseconds: Int64 = 10_000_000_000
    /// How far audio may continue past a boundary before the segment is cut without waiting for a picture.
    package var videoPatienceNanoseconds: Int64 = 10_000_000_000
    /// Audio without a next packet for this long has paused; later audio may be in another file.
    package var soundPauseNanoseconds: Int64 = 250_000_000
    /// A sample presented at most this long before a boundary counts as at the boundary: two clocks agree to within their bounds.
    package var toleranceNanoseconds: Int64 = 1_000_000
    /// Samples presented before this time are only decoded, and are hidden in the file that begins with them: the start
    /// that an imported file's edit list hides. Nil: nothing is hidden.
    package var presentedFromNanoseconds: Int64?

    /// - Precondition: `segmentNanoseconds` is positive.
    package init(segmentNanoseconds: Int64) {
        precondition(segmentNanoseconds > 0, "the segment length is positive")
        self.segmentNanoseconds = segmentNanoseconds
    }
}

/// The properties of one file before its first byte.
package struct SegmentPlan: Hashable, Sendable {
    package struct Track: Hashable, Sendable {
        package var format: TrackFormat
        /// The segment's origin in ticks of the track on the session's timeline: subtracted from every time.
        package var originTicks: Int64
        /// Added to every time so that the first DTS is not negative; an edit list compensates for it.
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
