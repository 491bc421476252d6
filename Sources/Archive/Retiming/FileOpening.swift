import Media

/// The beginning of a file. Nothing is presented before it, which limits the times of its first samples, and of those before
/// them in the previous file.
struct FileOpening {
    struct Track {
        var originNanoseconds: Int64
        /// The track with its first run only.
        var track: ClockEvidence.Track
    }

    var tracks: [TrackKind: Track] = [:]

    init(_ evidence: ClockEvidence) {
        for (kind, track) in evidence.tracks where !track.runs.isEmpty {
            var track = track
            track.runs = Array(track.runs.prefix(1))
            tracks[kind] = Track(originNanoseconds: evidence.originNanoseconds, track: track)
        }
    }
}
