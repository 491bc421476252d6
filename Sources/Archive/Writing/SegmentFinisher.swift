import Media
package import MP4

/// Turns a growing segment into an ordinary MP4, in place.
///
/// The file is its own journal: the index is built from its fragments' headers. So finishing at the end of a segment and
/// finishing after a crash are the same operation, and a recorder keeps no tables in memory.
package enum SegmentFinisher {
    /// Finishes a file with all its fragments written.
    ///
    /// The order of writes keeps the file playable before and after any crash: index, `fdatasync`, read back, placeholder,
    /// `fdatasync`.
    /// - Throws: also when the written index does not read back as that of the recording.
    static func finish(_ file: RecordingFile) throws(ArchiveError) {
        let finish: InPlaceFinish
        do throws(MP4Error) {
            finish = try plan(DescriptorSource(descriptor: file.readDescriptor))
        } catch {
            if case .noSamples = error { return }
            throw .malformed(path: file.path, reason: "cannot be finished: \(error)")
        }
        guard UInt64(finish.movieOffset) <= file.sizeBytes else {
            throw .malformed(
                path: file.path, reason: "cannot be finished: another program has appended to it")
        }
        // An index left by an earlier attempt.
        if UInt64(finish.movieOffset) < file.sizeBytes {
            try file.cut(to: UInt64(finish.movieOffset))
        }
        try file.append(finish.movie)
        try file.synchronize()
        try checkReadsBack(file, finish)
        try file.overwrite(finish.header, at: UInt64(finish.headerOffset))
        try file.synchronize()
    }

    /// The writes that finish a growing file.
    package static func plan(_ source: some ByteSource) throws(MP4Error) -> InPlaceFinish {
        var scanner = try FragmentScanner(source)
        guard !scanner.layout.isFinished else {
            throw .invalid(
                box: "mdat", offset: scanner.layout.placeholderOffset,
                reason: "another program has finished the file")
        }
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
                    box: "moov", offset: finish.movieOffset,
                    reason: "differs from what was written")
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

    /// Adds the next fragment.
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
                // An unreadable record contains no priming information; `verify` reports it.
                continue
            }
        }
    }
}
