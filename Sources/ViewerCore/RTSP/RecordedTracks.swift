import Archive
import Media
import Recordings

/// The tracks by which a recording is described.
enum RecordedTracks {
    /// The tracks of the first file, and further ones of the last file, in their first format.
    ///
    /// Opens the last file, and few others if a track begins later. It may pause in between.
    static func formats(
        of files: ArraySlice<RecordedSource.File>, beginningWith first: RecordedFile
    ) throws(ArchiveError) -> [TrackFormat] {
        var formats = first.formats
        guard let last = files.last, let end = try Self.formats(of: last) else { return formats }
        for format in end where first.format(format.kind) == nil {
            var known = format
            var (without, with) = (files.startIndex, files.endIndex - 1)
            while with - without > 1 {
                let middle = without + (with - without) / 2
                let found = try Self.formats(of: files[middle])?.first { $0.kind == format.kind }
                if let found {
                    (known, with) = (found, middle)
                } else {
                    without = middle
                }
            }
            formats.append(known)
        }
        return formats
    }

    /// Nil: the file is damaged, or was removed.
    private static func formats(
        of file: RecordedSource.File
    ) throws(ArchiveError) -> [TrackFormat]? {
        do throws(ArchiveError) {
            return try file.opened().formats
        } catch {
            if case .malformed = error { return nil }
            guard error.isForAbsence else { throw error }
            return nil
        }
    }
}
