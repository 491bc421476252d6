import MP4
import Media

/// What a foreign MP4's edit lists (ISO/IEC 14496-12 §8.6.6) say of when its tracks are presented.
struct EditLists {
    /// All of its tracks begin later than the movie: that is meant, because otherwise none of them would.
    private(set) var beginsLate = false
    /// The instant of the movie at which a track ends although its media go on, nanoseconds. Only where there is one track of its kind.
    private(set) var ends: [TrackKind: Int64] = [:]

    /// Reads them; none when the file is no MP4, or not one that is ours to judge: libavformat reads it, or says why not.
    ///
    /// - Throws: ``ExportError/refused(path:reason:)`` when they show parts in another order, leave some out in between, or change
    ///   the speed: nothing else than a player does what that means.
    init(of path: String) throws {
        let movie: Movie
        do {
            movie = try DescriptorSource.withFile(path) { try Movie.read(from: $0) }
        } catch is MP4Error {
            return
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

    /// Where an edit list cuts a track off; nil when it shows all, to a tick of the movie.
    private static func end(of track: MovieTrack, in movie: Movie) -> Int64? {
        // A fragmented file's edit list was written before anybody knew how long it would be.
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
