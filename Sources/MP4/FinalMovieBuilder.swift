package import Media

/// Makes the `moov` of a finished recording from its fragments, in one pass over them.
///
/// What is kept of a sample is 16 bytes. Decoding times are those of the fragments, less the media time shift; a
/// duration is the difference to the next sample, so that only a track's last sample is taken at its word.
package struct FinalMovieBuilder: Sendable {
    private var tracks: [TrackKind: TrackIndex] = [:]
    private let boxes: MovieBoxes
    private let timecode: RecordedTimecode?

    /// - Throws: when the initial `moov` describes a track that cannot be described again.
    package init(initialMovie: Movie) throws(MP4Error) {
        boxes = MovieBoxes(createdUnixSeconds: initialMovie.createdUnixSeconds)
        timecode = initialMovie.timecode
        for track in initialMovie.tracks {
            guard let kind = track.kind, let format = track.format else {
                throw .invalid(
                    box: "trak", offset: initialMovie.header.offset,
                    reason: "track \(track.id) is not one of ours")
            }
            guard track.mediaTimeShift <= FragmentLimits.mediaTimeShift else {
                throw .timeOverflow(track: kind)
            }
            tracks[kind] = TrackIndex(
                kind: kind, timescale: track.timescale, shift: track.mediaTimeShift,
                entry: try SampleEntryWriter(format))
        }
    }

    /// Takes in the next fragment.
    ///
    /// - Throws: when a track's decoding times do not grow.
    package mutating func append(_ fragment: ScannedFragment) throws(MP4Error) {
        for run in fragment.runs { try tracks[run.track]?.append(run) }
    }

    /// The box, to be written behind the last fragment.
    ///
    /// - Parameters:
    ///   - primingSamples: for each track, leading samples that are decoded but not presented.
    ///   - trailingBox: a whole box that becomes the last child of `moov`; may be empty.
    /// - Returns: a whole `moov`, whose offsets count from the beginning of the file.
    /// - Throws: ``MP4Error/noSamples`` when there is nothing to present.
    package func movie(
        primingSamples: [TrackKind: Int] = [:], trailingBox: [UInt8] = []
    ) throws(MP4Error) -> [UInt8] {
        let present = TrackKind.allCases.compactMap { tracks[$0] }.filter { $0.count > 0 }
        guard !present.isEmpty else { throw .noSamples }
        let timescale = Self.movieTimescale(for: present.map(\.timescale))
        var presentations: [TrackPresentation] = []
        for track in present {
            presentations.append(
                try track.presentation(
                    priming: primingSamples[track.kind] ?? 0, movieTimescale: timescale))
        }
        let duration = presentations.map(\.duration).max() ?? 0
        let samples = present.reduce(0) { $0 + $1.count }
        var writer = BoxWriter(reserving: 4_096 + trailingBox.count + 20 * samples)
        writer.box("moov") { writer in
            boxes.writeMovieHeader(
                timescale: timescale, duration: duration,
                nextTrackID: RecordedTimecode.trackID + (timecode == nil ? 0 : 1), to: &writer)
            for (track, presentation) in zip(present, presentations) {
                write(track, presentation, isTimed: timecode != nil, to: &writer)
            }
            timecode?.writeTrack(
                duration: duration, movieTimescale: timescale, boxes: boxes, to: &writer)
            writer.raw(trailingBox)
        }
        return writer.bytes
    }

    private func write(
        _ track: TrackIndex, _ presentation: TrackPresentation, isTimed: Bool,
        to writer: inout BoxWriter
    ) {
        writer.box("trak") { writer in
            boxes.writeTrackHeader(
                kind: track.kind, duration: presentation.duration, entry: track.entry, to: &writer)
            boxes.writeEdits(presentation.edits, to: &writer)
            if isTimed, track.kind == .video { RecordedTimecode.writeReference(to: &writer) }
            boxes.writeMedia(
                kind: track.kind, timescale: track.timescale,
                duration: UInt64(track.mediaDuration), entry: track.entry, to: &writer,
                tables: track.writeTables)
        }
    }

    /// The least timescale in which all tracks' ticks are whole, so that edits are exact: 720,000 for 90 kHz and
    /// 48 kHz. Players keep durations in 32 bits: past 31, video's own has to do.
    static func movieTimescale(for timescales: [Timescale]) -> Timescale {
        var least: UInt64 = 1
        for timescale in timescales {
            let ticks = UInt64(timescale.ticksPerSecond)
            least = least / greatestCommonDivisor(least, ticks) * ticks
            if least > UInt64(Int32.max) { return .video }
        }
        return Timescale(UInt32(least))
    }

    private static func greatestCommonDivisor(_ first: UInt64, _ second: UInt64) -> UInt64 {
        var (first, second) = (first, second)
        while second != 0 { (first, second) = (second, first % second) }
        return first
    }
}

/// When and how a track is presented: its edits, in the movie's timescale.
struct TrackPresentation {
    var edits: [Edit]
    /// Sum of the edits.
    var duration: UInt64

    /// How long after the file it begins.
    var wait: UInt64 { edits.first.map { $0.mediaTime < 0 ? $0.segmentDuration : 0 } ?? 0 }
}
