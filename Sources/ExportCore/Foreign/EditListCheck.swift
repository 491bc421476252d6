import MP4

/// Looks for what a copy of a foreign MP4 would lose.
enum EditListCheck {
    /// Refuses a file whose edit list shows parts in another order, or leaves some out in between: nothing else than a player
    /// does what that means.
    static func check(_ path: String) throws {
        let movie: Movie
        do {
            movie = try DescriptorSource.withFile(path) { try Movie.read(from: $0) }
        } catch is MP4Error {
            // No MP4, or one that is not ours to judge: libavformat reads it, or says why not.
            return
        }
        for track in movie.tracks {
            let shown = track.edits.filter { $0.mediaTime >= 0 }
            if shown.count > 1 {
                throw ExportError.refused(
                    path: path,
                    reason:
                        "its edit list has \(shown.count) parts, which no copy keeps; play it into a new file with "
                        + "ffmpeg -i FILE NEW.mp4")
            }
        }
    }
}
