import Media

/// A source's tracks at one moment, with values that every piece needs.
struct TrackFormats: Hashable, Sendable {
    /// Pictures first.
    let all: [TrackFormat]
    /// The timescale of each track.
    let scales: PerTrack<Timescale>

    /// - Parameter formats: of a track that occurs twice, the last one applies.
    init(_ formats: [TrackFormat]) {
        all = TrackKind.allCases.compactMap { kind in formats.last { $0.kind == kind } }
        scales = PerTrack(uniqueKeysWithValues: all.map { ($0.kind, $0.timescale) })
    }

    subscript(track: TrackKind) -> TrackFormat? { all.first { $0.kind == track } }

    func contains(_ track: TrackKind) -> Bool { scales[track] != nil }
}
