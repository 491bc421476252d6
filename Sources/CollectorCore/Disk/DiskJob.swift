import Archive
import Media

/// What the disk is asked to do. Jobs of one source are done in order.
enum DiskJob<Payload: MediaPayload>: Sendable {
    /// Makes a session's directory, and those above it.
    case beginSession(String)
    /// Makes a source's directory.
    case beginSource(SourceKey)
    /// Replaces a session's description.
    case describe(SessionManifest)
    /// Appends a line to a ledger; the numbers it stands for are persisted with it.
    case note(SourceKey, LedgerEntry, records: PersistedRecords?)
    case open(SegmentKey, SegmentPlan, sessionZero: UTCTime)
    /// Goes on with a file that an earlier collector left.
    case reopen(SegmentKey, UnfinishedSegment)
    case append(SegmentKey, FragmentPlan<Payload>)
    case finish(SegmentKey)
    /// What comes next of a source whose file failed is what it has to go on with: all before this was in vain.
    case goOn(SourceKey)
    /// Takes something out of the archive.
    case remove(Removal)
    /// Writes that a session is finished, when all its files are and its ledgers are durable.
    case endSession(SessionManifest)

    /// The session whose end has to wait for this job; none for one that no end waits for.
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

/// What the archive does not keep any longer.
enum Removal: Hashable, Sendable, CustomStringConvertible {
    case segment(ExpiredSegment)
    /// The rest of a removal that was cut short.
    case rest(ArchiveSurvey.StagedSegment)
    /// A finished session without media.
    case session(String)

    var description: String {
        switch self {
        case .segment(let expired): "\(expired.segment.path) (\(expired.cause.rawValue))"
        case .rest(let staged): "\(staged.path), whose removal was cut short"
        case .session(let session): "the session \(session): it has no media any more"
        }
    }
}

/// Records of one spool that a job makes durable.
struct PersistedRecords: Hashable, Sendable {
    var source: String
    var spool: SpoolID
    var sequences: [ClosedRange<UInt64>]
}

/// A source of which a file failed: what of it is on disk.
struct RescuedSource: Sendable {
    var id: SourceKey
    var source: RecoveredSource
    var spools: [RecordedSpool]
    var notes: [RecoveryNote]
}

/// What the disk has done.
enum DiskEvent: Sendable {
    /// Payload bytes of a source have left memory.
    case written(source: String, MediaAmount)
    /// Records are durable.
    case persisted(PersistedRecords)
    /// A session's files are final, and so is its description.
    case ended(session: String)
    /// A file failed; its source's files end with what is durable, as soon as that can be done, and ``rescued(_:)`` says so.
    case failed(SourceKey, ArchiveError)
    /// The files of a source of which one failed are in order. All jobs of the source until ``DiskJob/goOn(_:)`` are in vain:
    /// what they held has to come again.
    case rescued(RescuedSource)
    /// A file cannot be written; it is tried again, and nothing of it is acknowledged until then.
    case stuck(path: String, ArchiveError)
    /// It works again.
    case unstuck(path: String)
    /// Could not be taken out of the archive; the next survey finds it again.
    case notRemoved(Removal, ArchiveError)
    /// Given up at the end of the program: this file is not complete.
    case abandoned(path: String, ArchiveError)
}
