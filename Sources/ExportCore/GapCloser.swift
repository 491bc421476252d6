import Archive
import Library
import Media

/// Takes gaps out of a source's timeline: stretches in which none of its tracks has anything.
///
/// Where only one track is missing, the other one keeps its time, and so does the gap. Tracks stay together to half a tick.
struct GapCloser {
    /// What is shorter is no gap, but a camera that is late, or a rounded duration.
    static let thresholdNanoseconds: Int64 = 200_000_000

    /// What has been taken out so far, nanoseconds.
    private(set) var closedNanoseconds: Int64 = 0
    /// Where what is wanted begins: of a gap around it only what lies behind it is taken out.
    private let startNanoseconds: Int64?
    private var endNanoseconds: Int64?
    /// Decoding times of each track's last sample, and how far it was from the one before.
    private var last: [TrackKind: (start: Int64, distance: Int64?)] = [:]

    /// - Parameter start: session time of the wanted beginning; samples before it serve to decode those behind it, and keep their
    ///   times.
    init(from start: Int64? = nil) {
        startNanoseconds = start
    }

    /// The sample where it belongs when all gaps before it are closed. Samples come in the order of their decoding times.
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
            // Nothing may follow that would say how long it lasts.
            moved.durationTicks = try rescale(duration, from: .nanoseconds, to: timescale)
        }
        guard closedNanoseconds > 0 else { return moved }
        let shift = try rescale(closedNanoseconds, from: .nanoseconds, to: timescale)
        moved.dtsTicks -= shift
        moved.ptsTicks -= shift
        return moved
    }

    /// How long a sample lasts if nothing is missing behind it: what it says itself may reach to the far end of a gap.
    private mutating func usualDuration(of sample: RecordedSample, at start: Int64) -> Int64 {
        let before = last[sample.track]
        let distance = before.map { start - $0.start }
        // Across a gap, and where a camera changes its pace, the distance before that still holds.
        let usual = [before?.distance, distance].compactMap { $0 }.min()
        last[sample.track] = (start, distance.map { min($0, 2 * (usual ?? $0)) })
        let own = sample.durationNanoseconds
        guard let usual, own > 2 * usual else { return own }
        return usual
    }
}
