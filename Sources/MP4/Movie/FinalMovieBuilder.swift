package import Media

/// Builds the `moov` of a finished recording from its fragments, in one pass.
///
/// A sample needs 16 bytes of memory. Decoding times are those of the fragments, less the media time shift; a duration
/// is the difference to the next sample, so only a track's last sample uses its own duration.
package struct FinalMovieBuilder: Sendable {
    private var tracks: [TrackKind: TrackIndex] = [:]
    private let boxes: MovieBoxes
    private let timecode: RecordedTimecode?

    /// - Throws: for a format in the initial `moov` that cannot be written.
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

    /// Adds the next fragment.
    ///
    /// - Throws: when a track's decoding times do not increase.
    package mutating func append(_ fragment: ScannedFragment) throws(MP4Error) {
        for run in fragment.runs { try tracks[run.track]?.append(run) }
    }

    /// The box, to be written after the last fragment.
    ///
    /// - Parameters:
    ///   - primingSamples: for each track, leading samples that are decoded but not presented.
    ///   - trailingBox: a whole box that becomes the last child of `moov`; may be empty.
    /// - Returns: a whole `moov`, with offsets from the start of the file.
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
                let media = MovieBoxes.declaredDuration(
                    of: UInt64(track.mediaDuration), track.timescale, inMovieOf: duration, timescale
                )
                write(
                    track, presentation, mediaDuration: media, isTimed: timecode != nil, to: &writer
                )
            }
            timecode?.writeTrack(
                duration: duration, movieTimescale: timescale, boxes: boxes, to: &writer)
            writer.raw(trailingBox)
        }
        return writer.bytes
    }

    private func write(
        _ track: TrackIndex, _ presentation: TrackPresentation, mediaDuration: UInt64,
        isTimed: Bool, to writer: inout BoxWriter
    ) {
        writer.box("trak") { writer in
            boxes.writeTrackHeader(
                kind: track.kind, duration: presentation.duration, entry: track.entry, to: &writer)
            boxes.writeEdits(presentation.edits, to: &writer)
            if isTimed, track.kind == .video { RecordedTimecode.writeReference(to: &writer) }
            boxes.writeMedia(
                kind: track.kind, timescale: track.timescale,
                duration: mediaDuration, entry: track.entry, to: &writer,
                tables: track.writeTables)
        }
    }

    /// The smallest timescale in which all tracks' ticks are integers, so that edits are exact: 720,000 for 90 kHz and
    /// 48 kHz. Players store durations in 32 bits: above 31 bits, the video's timescale is used.
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

/// A track's presentation: its edits, in the movie's timescale.
struct TrackPresentation {
    var edits: [Edit]
    /// Sum of the edits.
    var duration: UInt64

    /// Time from the start of the file to the start of the track.
    var wait: UInt64 { edits.first.map { $0.mediaTime < 0 ? $0.segmentDuration : 0 } ?? 0 }
}
