package import Archive
package import MP4
package import Media

/// One recorded file, finished or growing. Any thread may read it.
package final class RecordedFile: Sendable {
    /// Path or address, for messages.
    package var path: String { stored.path }
    /// It was an ordinary MP4 when it was opened.
    package let isFinished: Bool
    /// Formats of the tracks, one per kind.
    package let formats: [TrackFormat]
    /// Start on the session's timeline, nanoseconds; nil for a file without fragments.
    package let originNanoseconds: Int64?
    /// Identifies the bytes: ``SegmentKey/revision``, and the archives whose files were merged.
    package var revision: UInt32 { (retiming?.revision ?? 0) ^ stored.placement.revision }
    /// The session's zero; nil for a file without fragments.
    package let sessionZero: UTCTime?

    /// Layout of the boxes before the first fragment.
    package let layout: RecordingLayout
    /// The file's retiming, combined with the correction of its times in a session of several archives; nil: neither.
    package let retiming: RetimingRecord?
    /// Whether its index has other times than its fragments.
    let isRetimed: Bool
    private let stored: any StoredFile
    private let open: @Sendable () throws(ArchiveError) -> any StoredFile

    /// Opens a recording on a local disk.
    /// - Throws: also if the file is not a recording of Tributary, or its first boxes are damaged.
    package convenience init(opening path: String) throws(ArchiveError) {
        try self.init { () throws(ArchiveError) in try LocalFile(opening: path) }
    }

    /// Reads the first boxes of a recording.
    /// - Parameter open: opens the file, now and for ``reopening()``.
    /// - Throws: also if the file is not a recording of Tributary, or its first boxes are damaged.
    package init(
        _ open: @escaping @Sendable () throws(ArchiveError) -> any StoredFile
    ) throws(ArchiveError) {
        self.open = open
        let stored = try open()
        let beginning = try Beginning(stored)
        self.stored = stored
        layout = beginning.layout
        isFinished = beginning.layout.isFinished
        formats = beginning.layout.initialMovie.tracks.compactMap(\.format)
        isRetimed = beginning.retiming != nil
        if let correction = stored.placement.correction, let record = beginning.record {
            retiming = correction.retiming(
                after: beginning.retiming, beginning.layout.initialMovie,
                origin: record.segmentOriginNanoseconds)
        } else {
            retiming = beginning.retiming
        }
        originNanoseconds = beginning.record.map(stored.placement.origin)
        sessionZero = beginning.record.map { stored.placement.sessionZero ?? $0.sessionZero }
    }

    /// Corrects a time from the file's index, to which only the shift of the file's start was applied.
    /// - Parameter time: session time, nanoseconds.
    func corrected(_ time: Int64) -> Int64 {
        let placement = stored.placement
        guard let correction = placement.correction else { return time }
        return time.clampedAdding(
            correction.shift(at: time.clampedSubtracting(placement.shiftNanoseconds)))
    }

    /// The greatest change that ``corrected(_:)`` makes to a time.
    var greatestCorrectionNanoseconds: Int64 {
        stored.placement.correction?.greatestShiftNanoseconds ?? 0
    }

    /// Approximate decoding time of a sample on the file's media timeline, ticks; nil: the file has no such track.
    func recordedTicks(of sample: RecordedSample) -> Int64? {
        guard let track = layout.initialMovie.tracks.first(where: { $0.kind == sample.track }),
            let format = track.format
        else { return nil }
        let origin = saturatingRescale(
            originNanoseconds ?? 0, from: .nanoseconds, to: format.timescale)
        return sample.dtsTicks.clampedSubtracting(origin).clampedAdding(track.mediaTimeShift)
    }

    /// The shift of its start in a session of several archives.
    var shiftNanoseconds: Int64 { stored.placement.shiftNanoseconds }

    /// The format of a track; nil if the file has no such track.
    package func format(_ kind: TrackKind) -> TrackFormat? { formats.first { $0.kind == kind } }

    /// The initialization segment (ISO/IEC 14496-12 §8.16): `ftyp`, and the `moov` with which the file was opened. In a finished file
    /// they are not adjacent.
    package func initialization() throws(ArchiveError) -> [UInt8] {
        let start = layout.placeholderOffset + Int64(FragmentedHeader.placeholderSizeBytes)
        let end = layout.fragments.lowerBound
        return try read(at: 0, count: Int(layout.placeholderOffset))
            + read(at: start, count: Int(end - start))
    }

    /// Size of ``initialization()``.
    package var initializationBytes: Int64 {
        layout.fragments.lowerBound - Int64(FragmentedHeader.placeholderSizeBytes)
    }

    /// Each read may need a network round trip.
    package var isDistant: Bool { stored.isDistant }

    /// A closure that opens the file again, for readers of thousands of files that cannot keep descriptors open.
    package func reopening() -> @Sendable () throws(ArchiveError) -> any StoredFile {
        guard stored.isDistant else { return open }
        // An open object needs no descriptor, and is guaranteed to be the same one.
        return { [stored] in stored }
    }

    /// A byte range for sendfile(2); nil if the file is remote or growing. Valid while the file is referenced.
    package func extent(_ range: Range<Int64>) -> FileExtent? {
        // Recovery may truncate a growing file; sendfile(2) would then be retried forever.
        guard isFinished else { return nil }
        return stored.localDescriptor.map { FileExtent(descriptor: $0, range: range) }
    }

    /// A byte source for the parsers of ``MP4``, with the current size.
    package func source() throws(ArchiveError) -> StoredBytes { try StoredBytes(stored) }

    /// Reads exactly `count` bytes from `offset`.
    package func read(at offset: Int64, count: Int) throws(ArchiveError) -> [UInt8] {
        try stored.read(at: offset, count: count)
    }

    /// Fills a buffer with the bytes from `offset`.
    package func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ArchiveError) {
        let filled = try stored.read(at: offset, into: buffer)
        guard filled == buffer.count else {
            throw .malformed(path: path, reason: "ends at byte \(offset + Int64(filled))")
        }
    }

    /// Fills a buffer with the cached bytes from `offset`.
    /// - Returns: the number of bytes.
    package func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        stored.readCached(at: offset, into: buffer)
    }

    /// Adds the file's name to a parser's error.
    func error(_ error: MP4Error) -> ArchiveError { Self.error(error, stored) }

    static func error(_ error: MP4Error, _ file: any StoredFile) -> ArchiveError {
        let path = file.path
        return switch error {
        case .unreadable(_, let code):
            file.failure ?? .system(operation: "read", path: path, errno: code)
        case .notARecording(_, let reason):
            .malformed(
                path: path,
                reason:
                    "is not a recorded segment (\(reason)); 'tributary import' and 'remux' take other files"
            )
        default: .malformed(path: path, reason: "\(error)")
        }
    }
}

/// The parsed boxes before the samples.
private struct Beginning {
    let layout: RecordingLayout
    let retiming: RetimingRecord?
    /// The first fragment's record.
    let record: FragmentRecord?

    init(_ file: any StoredFile) throws(ArchiveError) {
        let source = try StoredBytes(file)
        do throws(MP4Error) {
            guard source.sizeBytes > 0 else {
                throw .notARecording(offset: 0, reason: "it is empty")
            }
            var scanner = try FragmentScanner(source)
            layout = scanner.layout
            retiming = try RetimingRecord.inForce(source, layout)
            guard let first = try scanner.next() else {
                if case .damaged(let error) = scanner.stop { throw error }
                record = nil
                return
            }
            guard let read = FragmentRecord(of: first) else {
                throw .invalid(
                    box: "moof", offset: first.moof.lowerBound,
                    reason: "no readable record of where the fragment is from")
            }
            record = read
        } catch {
            throw RecordedFile.error(error, file)
        }
    }
}

extension FragmentRecord {
    /// The fragment's record; nil if it is missing or damaged.
    init?(of fragment: ScannedFragment) {
        let payloads = fragment.userBoxes.filter { $0.userType == Self.userType }
        guard let payload = payloads.first?.payload, payloads.count == 1 else { return nil }
        do throws(Malformed) {
            self = try FragmentRecord(parsing: payload)
        } catch {
            // Reading media does not need it; `verify` reports the error.
            return nil
        }
    }
}
