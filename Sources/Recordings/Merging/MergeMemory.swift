import Archive
import Media
import Synchronization

/// Sequence numbers of a file's readable records, by spool.
struct FileRecords: Sendable {
    /// Number of fragments at each end of a file that ``ends`` covers. They are longer than the deviation of collectors' grids
    /// (``CopiedFile``).
    static let endFragments = 6

    var all: [SpoolID: SequenceSet] = [:]
    /// Those of each track in the first and in the last fragments.
    var ends: [TrackKind: [SpoolID: SequenceSet]] = [:]
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
    private static let maximumSegments = 64
    private static let maximumSessions = 1_024
    private static let maximumAttachments = 1 << 16

    private struct State {
        var files: [FileState: (records: FileRecords, used: UInt64)] = [:]
        var formats: [FileState: [TrackFormat]] = [:]
        var segments: [SegmentState: (files: [String: MergedFile], used: UInt64)] = [:]
        var shifts: [String: [SessionShift?]] = [:]
        /// By archive and session.
        var attachments: [String: [SessionManifest.Attachment]] = [:]
        var corrections: [String: TimeCorrection] = [:]
        var complaints: [String: ComplaintInterval] = [:]
        var clock: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    func records(
        _ file: FileState, read: () throws(ArchiveError) -> FileRecords
    ) throws(ArchiveError) -> FileRecords {
        let known = state.withLock { state -> FileRecords? in
            state.clock += 1
            state.files[file]?.used = state.clock
            return state.files[file]?.records
        }
        if let known { return known }
        let records = try read()
        state.withLock { state in
            state.files[file] = (records, state.clock)
            if state.files.count > Self.maximumFiles,
                let oldest = state.files.min(by: { $0.value.used < $1.value.used })
            {
                state.files.removeValue(forKey: oldest.key)
            }
        }
        return records
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
        state.withLock { state in
            state.clock += 1
            state.segments[segment]?.used = state.clock
            return state.segments[segment]?.files
        }
    }

    func keep(_ files: [String: MergedFile], of segment: SegmentState) {
        state.withLock { state in
            state.segments[segment] = (files, state.clock)
            if state.segments.count > Self.maximumSegments,
                let oldest = state.segments.min(by: { $0.value.used < $1.value.used })
            {
                state.segments.removeValue(forKey: oldest.key)
            }
        }
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

    /// How the times of a file are moved. While its session is recorded, a file keeps what was computed when it was first read, so
    /// that playlists need not begin anew.
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
