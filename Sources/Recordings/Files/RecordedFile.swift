package import Archive
package import MP4
package import Media

/// One recorded file, open for reading: finished, or growing while it is read. Any thread may read.
package final class RecordedFile: Sendable {
    /// The file in messages: its path, or its address.
    package var path: String { stored.path }
    /// Whether it was an ordinary MP4 when it was opened.
    package let isFinished: Bool
    /// How its tracks are coded: one format for each kind.
    package let formats: [TrackFormat]
    /// Its beginning on the session's timeline, nanoseconds; nil while nothing is in it.
    package let originNanoseconds: Int64?
    /// Which bytes it has (``SegmentKey/revision``), and of which archives' files it was put together.
    package var revision: UInt32 { (retiming?.revision ?? 0) ^ stored.placement.revision }
    /// Of the session it is part of; nil while nothing is in it.
    package let sessionZero: UTCTime?

    /// How the file begins.
    package let layout: RecordingLayout
    /// How its times were computed again, if they were.
    package let retiming: RetimingRecord?
    private let stored: any StoredFile
    private let open: @Sendable () throws(ArchiveError) -> any StoredFile

    /// Opens a recording on a local disk.
    /// - Throws: also for what is no recording of ours, or one whose beginning is damaged.
    package convenience init(opening path: String) throws(ArchiveError) {
        try self.init { () throws(ArchiveError) in try LocalFile(opening: path) }
    }

    /// Reads the beginning of a recording.
    /// - Parameter open: opens the file, now and for ``reopening()``.
    /// - Throws: also for what is no recording of ours, or one whose beginning is damaged.
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
        retiming = beginning.retiming
        originNanoseconds = beginning.record.map(stored.placement.origin)
        sessionZero = beginning.record.map { stored.placement.sessionZero ?? $0.sessionZero }
    }

    /// How a track is coded; nil when the file has none of this kind.
    package func format(_ kind: TrackKind) -> TrackFormat? { formats.first { $0.kind == kind } }

    /// What players need before the fragments (ISO/IEC 14496-12 §8.16): `ftyp`, and the `moov` that the file was opened with. In a
    /// finished file they do not lie side by side.
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

    /// Whether each read may take the round trip of a network.
    package var isDistant: Bool { stored.isDistant }

    /// What opens its bytes again later, without a descriptor in between, for readers of thousands of files.
    package func reopening() -> @Sendable () throws(ArchiveError) -> any StoredFile {
        guard stored.isDistant else { return open }
        // An open object costs nothing, and is certain to be the same one.
        return { [stored] in stored }
    }

    /// Bytes of it for the kernel to send; nil: it is not on a local disk, or it still grows. Valid as long as the file is referred to.
    package func extent(_ range: Range<Int64>) -> FileExtent? {
        // The torn end of a growing file may be cut after a crash. A sender of bytes that are gone would retry forever.
        guard isFinished else { return nil }
        return stored.localDescriptor.map { FileExtent(descriptor: $0, range: range) }
    }

    /// The file as it is now.
    package func source() throws(ArchiveError) -> StoredBytes { try StoredBytes(stored) }

    /// Exactly `count` bytes from `offset` on.
    package func read(at offset: Int64, count: Int) throws(ArchiveError) -> [UInt8] {
        try stored.read(at: offset, count: count)
    }

    /// Fills memory with the bytes from `offset` on.
    package func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ArchiveError) {
        let filled = try stored.read(at: offset, into: buffer)
        guard filled == buffer.count else {
            throw .malformed(path: path, reason: "ends at byte \(offset + Int64(filled))")
        }
    }

    /// Fills memory with the bytes from `offset` on, as far as that can be done without waiting.
    /// - Returns: how many there were.
    package func readCached(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        stored.readCached(at: offset, into: buffer)
    }

    /// A parser's error, with the file's name.
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

/// What a file says of itself before its samples.
private struct Beginning {
    let layout: RecordingLayout
    let retiming: RetimingRecord?
    /// Of the first fragment.
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
    /// The record that a fragment carries; nil when there is none that can be read.
    init?(of fragment: ScannedFragment) {
        let payloads = fragment.userBoxes.filter { $0.userType == Self.userType }
        guard let payload = payloads.first?.payload, payloads.count == 1 else { return nil }
        do throws(Malformed) {
            self = try FragmentRecord(parsing: payload)
        } catch {
            // Who reads media goes on without; `verify` says what is wrong.
            return nil
        }
    }
}
