import Archive
import Recordings
import Media

/// Removes gaps from a source's timeline: ranges in which none of its tracks has samples.
///
/// If only one track is missing, the other keeps its times, and so does the gap. Tracks stay aligned to half a tick.
struct GapCloser {
    /// Minimum duration of a gap. A shorter one is a late picture or a rounded duration.
    static let thresholdNanoseconds: Int64 = 200_000_000

    /// Total duration removed so far, nanoseconds.
    private(set) var closedNanoseconds: Int64 = 0
    /// Start of the selected range: of a gap around it, only the part after it is removed.
    private let startNanoseconds: Int64?
    private var endNanoseconds: Int64?
    /// Decoding time of each track's last sample, and its distance from the previous one.
    private var last: [TrackKind: (start: Int64, distance: Int64?)] = [:]

    /// - Parameter start: session time of the range's start; samples before it are only decoded, and keep their times.
    init(from start: Int64? = nil) {
        startNanoseconds = start
    }

    /// The sample with all earlier gaps closed. Samples must be in the order of decoding times.
    mutating func closed(_ sample: RecordedSample) throws -> RecordedSample {
        let timescale = sample.timescale
        let start = sample.dtsNanoseconds
        if let latest = endNanoseconds, start - latest > Self.thresholdNanoseconds {
            closedNanoseconds += max(0, start - max(latest, startNanoseconds ?? latest))
        }
        let duration = usualDuration(of: sample, at: start)
        let end = start + duration
        endNanoseconds = max(endNanoseconds ?? end, end)
        var moved = sample
        if sample.durationNanoseconds - duration > Self.thresholdNanoseconds {
            // The last sample may have no successor that determines its duration.
            moved.durationTicks = try rescale(duration, from: .nanoseconds, to: timescale)
        }
        guard closedNanoseconds > 0 else { return moved }
        let shift = try rescale(closedNanoseconds, from: .nanoseconds, to: timescale)
        moved.dtsTicks -= shift
        moved.ptsTicks -= shift
        return moved
    }

    /// Duration of a sample without a gap after it: its own duration may extend over a gap.
    private mutating func usualDuration(of sample: RecordedSample, at start: Int64) -> Int64 {
        let before = last[sample.track]
        let distance = before.map { start - $0.start }
        // Across a gap, and when a camera changes its rate, the previous distance is used.
        let usual = [before?.distance, distance].compactMap { $0 }.min()
        last[sample.track] = (start, distance.map { min($0, 2 * (usual ?? $0)) })
        let own = sample.durationNanoseconds
        guard let usual, own > 2 * usual else { return own }
        return usual
    }
}
