import MP4
import Media

/// The edit lists of a foreign MP4 (ISO/IEC 14496-12 §8.6.6), and whether libavformat reads all of its samples.
struct EditLists {
    /// Whether all of its tracks begin later than the movie, which is deliberate.
    private(set) var beginsLate = false
    /// The end of a track that is cut before the end of its media, in the movie's time, nanoseconds. Only for a single
    /// track of its kind.
    private(set) var ends: [TrackKind: Int64] = [:]

    /// Reads them; empty for another container, or for an MP4 with errors, which libavformat reads or rejects.
    ///
    /// - Throws: ``ExportError/refused(path:reason:)`` when they reorder parts, omit a middle part, or change the
    ///   speed: only a player supports that.
    init(of path: String) throws {
        let movie: Movie
        do {
            movie = try DescriptorSource.withFile(path) { try Movie.read(from: $0) }
        } catch is MP4Error {
            return
        }
        for track in movie.tracks where track.kind != nil {
            guard let first = track.entries.first?.type,
                let other = track.entries.lazy.map(\.type).first(where: { $0 != first })
            else { continue }
            throw ExportError.refused(
                path: path,
                reason:
                    "a track changes from '\(first)' to '\(other)', and libavformat reads the first kind of samples "
                    + "only: convert it first with a tool that reads both")
        }
        for track in movie.tracks {
            let shown = track.edits.filter { $0.mediaTime >= 0 }
            if shown.count > 1 {
                throw Self.refusal(path, "has \(shown.count) parts")
            }
            if shown.contains(where: { $0.rate != Edit.usualRate }) {
                throw Self.refusal(path, "changes the speed")
            }
        }
        let tracks = movie.tracks.filter { $0.kind != nil }
        beginsLate = !tracks.isEmpty && tracks.allSatisfy { ($0.edits.first?.mediaTime ?? 0) < 0 }
        for kind in TrackKind.allCases {
            let own = tracks.filter { $0.kind == kind }
            if own.count == 1 { ends[kind] = Self.end(of: own[0], in: movie) }
        }
    }

    /// The end of a track that its edit list cuts off; nil if it shows all, to a tick of the movie.
    private static func end(of track: MovieTrack, in movie: Movie) -> Int64? {
        // The edit list of a fragmented file was written before its duration was known.
        guard !movie.isFragmented, let edit = track.edits.last, edit.mediaTime >= 0,
            edit.segmentDuration > 0,
            let left = Int64(exactly: track.duration).map({ $0 - edit.mediaTime })
        else { return nil }
        do throws(RescaleOverflow) {
            let length = Int64(clamping: edit.segmentDuration)
            let media = try rescale(left, from: track.timescale, to: movie.timescale)
            guard length < media - 1 else { return nil }
            var end = length
            for wait in track.edits.dropLast() {
                let (sum, isOverflow) = end.addingReportingOverflow(
                    Int64(clamping: wait.segmentDuration))
                guard !isOverflow else { return nil }
                end = sum
            }
            return try rescale(end, from: movie.timescale, to: .nanoseconds)
        } catch {
            return nil
        }
    }

    private static func refusal(_ path: String, _ what: String) -> ExportError {
        .refused(
            path: path,
            reason:
                "its edit list \(what), which a copy cannot keep: transcode it with ffmpeg -i FILE NEW.mp4"
        )
    }
}
