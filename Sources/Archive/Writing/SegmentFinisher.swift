import Media
import MP4

/// Turns a growing segment into an ordinary MP4, in place.
///
/// The file is its own journal: the index is made from its fragments' heads, so that finishing at the end of a segment and
/// finishing after a crash are the same work, and a recorder keeps no table in memory.
enum SegmentFinisher {
    /// Finishes a file whose fragments are all written.
    ///
    /// The order of writes makes the file play at either side of any crash: index, `fdatasync`, read back, placeholder,
    /// `fdatasync`.
    /// - Throws: also when what was written does not read back as the recording it should be.
    static func finish(_ file: RecordingFile) throws(ArchiveError) {
        let finish: InPlaceFinish
        do throws(MP4Error) {
            finish = try plan(DescriptorSource(descriptor: file.readDescriptor))
        } catch {
            if case .noSamples = error { return }
            throw .malformed(path: file.path, reason: "cannot be finished: \(error)")
        }
        // An index that an attempt before this one has left.
        if UInt64(finish.movieOffset) < file.sizeBytes {
            try file.cut(to: UInt64(finish.movieOffset))
        }
        try file.append(finish.movie)
        try file.synchronize()
        try checkReadsBack(file, finish)
        try file.overwrite(finish.header, at: UInt64(finish.headerOffset))
        try file.synchronize()
    }

    /// What has to be written to finish the file.
    private static func plan(_ source: DescriptorSource) throws(MP4Error) -> InPlaceFinish {
        var scanner = try FragmentScanner(source)
        var builder = try FinalMovieBuilder(initialMovie: scanner.layout.initialMovie)
        var priming = PrimingCounter()
        while let fragment = try scanner.next() {
            priming.add(fragment)
            try builder.append(fragment)
        }
        if case .damaged(let error) = scanner.stop { throw error }
        return InPlaceFinish(
            layout: scanner.layout, validEnd: scanner.validEnd,
            movie: try builder.movie(primingSamples: priming.counts))
    }

    private static func checkReadsBack(
        _ file: RecordingFile, _ finish: InPlaceFinish
    ) throws(ArchiveError) {
        do throws(MP4Error) {
            let source = try DescriptorSource(descriptor: file.readDescriptor)
            let bytes = try source.read(at: finish.movieOffset, count: finish.movie.count)
            guard bytes == finish.movie else {
                throw MP4Error.invalid(
                    box: "moov", offset: finish.movieOffset, reason: "not what was written")
            }
        } catch {
            throw .malformed(path: file.path, reason: "the index does not read back: \(error)")
        }
    }
}

/// Counts the samples at a file's beginning that are decoded but not presented.
struct PrimingCounter {
    private(set) var counts: [TrackKind: Int] = [:]
    private var ended: Set<TrackKind> = []

    /// Takes in the next fragment.
    mutating func add(_ fragment: ScannedFragment) {
        guard ended.count < TrackKind.allCases.count else { return }
        for box in fragment.userBoxes where box.userType == FragmentRecord.userType {
            do throws(FragmentRecord.Malformed) {
                for run in try FragmentRecord(parsing: box.payload).pieces.flatMap(\.runs) {
                    guard !ended.contains(run.track) else { continue }
                    counts[run.track, default: 0] += Int(run.primingSamples)
                    if UInt32(run.primingSamples) < run.samples { ended.insert(run.track) }
                }
            } catch {
                // A record that cannot be read says nothing of priming; `verify` reports it.
                continue
            }
        }
    }
}
