import Media
import Wire

/// The gap between the agent's previous run and this one.
///
/// Tracks end and begin at different times, so each has a gap of its own, which is known with the track's first sample. One gap for
/// both would contain recorded samples, or omit lost ones.
struct RestartGap {
    /// The ends of the tracks whose gap is not reported yet.
    private var ends: [TrackKind: Int64]
    /// Whether the ends of several tracks are known.
    private let isByTrack: Bool
    private let text: String
    private(set) var isReported = false

    /// - Parameter ends: the end of each track in the previous run, nanoseconds; empty: unknown.
    init(ends: [TrackKind: Int64] = [:], text: String) {
        self.ends = ends
        isByTrack = ends.count > 1
        self.text = text
    }

    /// The gaps before the first samples of tracks.
    mutating func losses(before runs: [SampleRun]) -> [Loss] {
        guard isByTrack else {
            isReported = true
            let first = Self.firstPresented(runs)
            return [loss(of: nil, from: ends.values.first ?? first, to: first)]
        }
        var losses: [Loss] = []
        for track in TrackKind.allCases {
            let own = runs.filter { $0.track == track }
            guard let end = ends[track], !own.isEmpty else { continue }
            ends[track] = nil
            losses.append(loss(of: track, from: end, to: Self.firstPresented(own)))
        }
        isReported = ends.isEmpty
        return losses
    }

    /// The earliest presentation time of samples; reordered pictures are decoded earlier.
    private static func firstPresented(_ runs: [SampleRun]) -> Int64 {
        runs.flatMap { run in (0..<run.count).map { run.ptsNanoseconds(at: $0) } }.min() ?? 0
    }

    private func loss(of track: TrackKind?, from start: Int64, to end: Int64) -> Loss {
        Loss(
            track: track, cause: .restart, startNanoseconds: start,
            durationNanoseconds: max(0, min(end - start, WireLimits.gapNanoseconds)), samples: 0,
            text: text)
    }
}
