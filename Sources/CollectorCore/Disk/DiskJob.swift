import Archive
import Media

/// A job for the disk. Jobs of one source are done in order.
enum DiskJob: Sendable {
    /// Creates a session's directory and its parents.
    case beginSession(String)
    /// Creates a source's directory.
    case beginSource(SourceKey)
    /// Replaces a session's description.
    case describe(SessionManifest)
    /// Appends a line to a ledger; the records it stands for become durable with it.
    case note(SourceKey, LedgerEntry, records: PersistedRecords?)
    case open(SegmentKey, SegmentPlan, sessionZero: UTCTime)
    /// Resumes a file that an earlier collector left.
    case reopen(SegmentKey, UnfinishedSegment)
    case append(SegmentKey, FragmentPlan)
    case finish(SegmentKey)
    /// The jobs of a source that follow this one continue after a failed file: all earlier ones were discarded.
    case goOn(SourceKey)
    /// Removes something from the archive.
    case remove(Removal)
    /// Marks a session as finished, when all its files are final and its ledgers are durable.
    case endSession(SessionManifest)

    /// The session whose end waits for this job; nil: no end does.
    var session: String? {
        switch self {
        case .beginSession, .beginSource, .describe, .endSession, .remove, .goOn: nil
        case .note(let source, _, _): source.session
        case .open(let segment, _, _), .reopen(let segment, _), .append(let segment, _),
            .finish(let segment):
            segment.session
        }
    }
}

/// Something that retention removes from the archive.
enum Removal: Hashable, Sendable, CustomStringConvertible {
    case segment(ExpiredSegment)
    /// The local copy of a segment whose presence in the object store was just confirmed.
    case localCopy(SegmentKey)
    /// The rest of an interrupted removal.
    case rest(ArchiveSurvey.StagedSegment)
    /// A finished session without media.
    case session(String)

    var description: String {
        switch self {
        case .segment(let expired): "\(expired.segment.path) (\(expired.cause.rawValue))"
        case .localCopy(let segment): "the local copy of \(segment)"
        case .rest(let staged): "\(staged.path), whose removal was interrupted"
        case .session(let session): "session \(session), which has no media left"
        }
    }
}

/// Records of one spool that become durable together.
struct PersistedRecords: Hashable, Sendable {
    var source: String
    var spool: SpoolID
    var sequences: [ClosedRange<UInt64>]
    /// When the oldest of their samples was captured, on the collector's monotonic clock; nil: they are no samples.
    var capturedNanoseconds: Int64? = nil
}

/// A source with a failed file, and the records of it that are on disk.
struct RescuedSource: Sendable {
    var id: SourceKey
    var source: RecoveredSource
    var spools: [RecordedSpool]
    var notes: [RecoveryNote]
}

/// A result of the disk thread's work.
enum DiskEvent: Sendable {
    /// Payload bytes of a source that have left memory.
    case written(source: String, MediaAmount)
    /// Records are durable.
    case persisted(PersistedRecords)
    /// A session's files are final, and so is its description.
    case ended(session: String)
    /// A file failed. Its source's files are cut to what is durable as soon as possible; ``rescued(_:)`` reports that.
    case failed(SourceKey, ArchiveError)
    /// The files of a source with a failed file are consistent. All jobs of the source until ``DiskJob/goOn(_:)`` are
    /// discarded: their content has to be sent again.
    case rescued(RescuedSource)
    /// A directory that was removed while it was recorded into exists again, empty.
    case restored(directory: String)
    /// A file cannot be written; writing is retried, and nothing of it is acknowledged until it succeeds.
    case stuck(path: String, ArchiveError)
    /// Writing succeeds again.
    case unstuck(path: String)
    /// The archive's path leads elsewhere: nothing is written until it leads to the archive again.
    case detached
    /// It leads to the archive again.
    case attached
    /// The removal failed; the next survey finds the item again.
    case notRemoved(Removal, ArchiveError)
    /// Given up at the end of the program: this file is incomplete.
    case abandoned(path: String, ArchiveError)
}

extension DiskJob {
    /// Jobs of one queue keep their order: those of one source's segments, or of one path. A later segment of a source waits for
    /// the earlier one. Otherwise small fragments would overtake large ones on a full disk, and leave gaps.
    func queue(in layout: ArchiveLayout) -> String {
        switch self {
        case .open(let id, _, _), .reopen(let id, _), .append(let id, _), .finish(let id):
            id.owner.description
        case .goOn(let id): id.description
        case .beginSession, .beginSource, .describe, .note, .remove, .endSession: path(in: layout)
        }
    }

    /// The path that cannot be written, for messages.
    func path(in layout: ArchiveLayout) -> String {
        switch self {
        case .beginSession(let session): layout.session(session)
        case .beginSource(let source): layout.source(source)
        case .describe(let manifest), .endSession(let manifest): layout.manifest(manifest.session)
        case .note(let source, _, _): layout.ledger(source)
        case .open(let id, _, _), .append(let id, _), .finish(let id): layout.segment(id)
        case .reopen(_, let segment): segment.path
        case .goOn(let id): id.description
        case .remove: ""
        }
    }
}
