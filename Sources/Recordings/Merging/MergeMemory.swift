import Archive
import Media
import Synchronization

/// Sequence numbers of a file's readable records, by spool.
struct FileRecords: Sendable {
    /// Number of fragments at each end of a file that ``ends`` covers. They are longer than the deviation of collectors' grids
    /// (``CopiedFile``).
    static let endFragments = 6

    var all: [SpoolID: SequenceSet] = [:]
    /// By track: the records in the file's first and last ``endFragments``.
    var ends: [TrackKind: [SpoolID: SequenceSet]] = [:]
    /// By spool: the times of its records from the file's start, nanoseconds, in order.
    var spans: [SpoolID: [Range<Int64>]] = [:]
    /// Why the rest of the file is unreadable; nil: all of it was read.
    var damage: ArchiveError?
}

/// Sequence numbers of a file's records, for a search in all files of a source.
struct FileNumbers: Sendable {
    /// By spool; those before the damage of a file.
    var all: [SpoolID: SequenceSet] = [:]
    /// Whether the file could be read; if not, it may have more records.
    var isReadable: Bool
}

/// Cache of what was read from several archives' files, for repeated merging. Any thread may use it.
///
/// An entry is valid while the file's size and modification time are unchanged.
package final class MergeMemory: Sendable {
    /// Identifies a file's contents.
    struct FileState: Hashable, Sendable {
        var path: String
        var sizeBytes: Int64
        var modifiedNanoseconds: Int64?
    }

    /// The merged files of a segment, and of those around it.
    struct SegmentState: Hashable, Sendable {
        var own: [FileState]
        var around: [FileState]
    }

    private static let maximumFiles = 4_096
    /// Several weeks of twenty sources in files of ten minutes: some tens of megabytes.
    private static let maximumNumberedFiles = 1 << 17
    private static let maximumSegments = 64
    private static let maximumSessions = 1_024
    private static let maximumAttachments = 1 << 16
    private static let maximumLedgers = 1 << 16

    private struct State {
        var files = RecentEntries<FileState, FileRecords>(capacity: maximumFiles)
        var numbers = RecentEntries<FileState, FileNumbers>(capacity: maximumNumberedFiles)
        /// By ledger.
        var spools = RecentEntries<FileState, Set<String>>(capacity: maximumLedgers)
        var formats: [FileState: [TrackFormat]] = [:]
        var segments = RecentEntries<SegmentState, [String: MergedFile]>(
            capacity: maximumSegments)
        var shifts: [String: [SessionShift?]] = [:]
        /// By archive and session.
        var attachments: [String: [SessionManifest.Attachment]] = [:]
        var corrections: [String: TimeCorrection] = [:]
        var complaints: [String: ComplaintInterval] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    func records(
        _ file: FileState, read: () throws(ArchiveError) -> FileRecords
    ) throws(ArchiveError) -> FileRecords {
        if let known = state.withLock({ $0.files.value(of: file) }) { return known }
        let records = try read()
        state.withLock { $0.files.keep(records, of: file) }
        return records
    }

    /// The numbers of a file's records; nil: it was not read yet.
    func numbers(of file: FileState) -> FileNumbers? {
        state.withLock { $0.numbers.value(of: file) }
    }

    func keep(_ numbers: FileNumbers, of file: FileState) {
        state.withLock { $0.numbers.keep(numbers, of: file) }
    }

    /// The spools that a ledger mentions, hexadecimal.
    /// - Parameter ledger: without a modification time: ledgers only grow.
    func spools(
        in ledger: FileState, read: () throws(ArchiveError) -> Set<String>
    ) throws(ArchiveError) -> Set<String> {
        if let known = state.withLock({ $0.spools.value(of: ledger) }) { return known }
        let spools = try read()
        state.withLock { $0.spools.keep(spools, of: ledger) }
        return spools
    }

    func formats(
        _ file: FileState, read: () throws(ArchiveError) -> [TrackFormat]
    ) throws(ArchiveError) -> [TrackFormat] {
        if let known = state.withLock({ $0.formats[file] }) { return known }
        let formats = try read()
        state.withLock { state in
            if state.formats.count >= Self.maximumFiles { state.formats.removeAll() }
            state.formats[file] = formats
        }
        return formats
    }

    func segment(_ segment: SegmentState) -> [String: MergedFile]? {
        state.withLock { $0.segments.value(of: segment) }
    }

    func keep(_ files: [String: MergedFile], of segment: SegmentState) {
        state.withLock { $0.segments.keep(files, of: segment) }
    }

    /// The timeline shifts of a session's archives. While the session is recorded they are kept, so that times do not change.
    /// - Parameter key: identifies the session and its archives.
    func shifts(
        of key: String, measure: () throws(ArchiveError) -> [SessionShift?]
    ) throws(ArchiveError) -> [SessionShift?] {
        if let known = state.withLock({ $0.shifts[key] }) { return known }
        let shifts = try measure()
        state.withLock { state in
            if state.shifts.count >= Self.maximumSessions { state.shifts.removeAll() }
            state.shifts[key] = shifts
        }
        return shifts
    }

    /// The sessions to which an archive's session is attached; nil: unknown, or not final.
    func attachments(of session: String, in archive: String) -> [SessionManifest.Attachment]? {
        state.withLock { $0.attachments["\(archive)/\(session)"] }
    }

    /// Caches the sessions to which an archive's session is attached, once they are final.
    func keep(_ manifest: SessionManifest, in archive: String) {
        guard manifest.state == .finished else { return }
        state.withLock { state in
            if state.attachments.count >= Self.maximumAttachments {
                state.attachments.removeAll()
            }
            state.attachments["\(archive)/\(manifest.session)"] = manifest.attached ?? []
        }
    }

    /// The correction of a file's times. While its session is recorded, the correction from the first read is kept, so that
    /// playlists remain valid.
    func correction(
        _ path: String, isOver: Bool, compute: () -> TimeCorrection
    ) -> TimeCorrection {
        let key = "\(path)\n\(isOver)"
        if let known = state.withLock({ $0.corrections[key] }) { return known }
        let correction = compute()
        return state.withLock { state in
            if let known = state.corrections[key] { return known }
            if state.corrections.count >= Self.maximumFiles { state.corrections.removeAll() }
            state.corrections[key] = correction
            return correction
        }
    }

    /// Whether a complaint about an archive is due.
    package func isDue(_ archive: String) -> Bool {
        state.withLock { state in
            let interval = state.complaints[archive] ?? ComplaintInterval()
            state.complaints[archive] = interval
            return interval.isDue()
        }
    }
}
