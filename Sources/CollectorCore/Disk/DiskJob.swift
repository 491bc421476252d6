import Archive
import Media

/// A source's part of a session.
struct SourceID: Hashable, Sendable, CustomStringConvertible {
    var session: String
    var name: String

    var description: String { "\(session)/\(name)" }
}

/// One segment of one source, within a collector's life.
struct SegmentID: Hashable, Sendable, CustomStringConvertible {
    var session: String
    var source: String
    /// Counted from 1 within the source's part of the session.
    var number: Int

    var origin: SourceID { SourceID(session: session, name: source) }

    var description: String { "\(origin)#\(number)" }
}

/// What the disk is asked to do. Jobs of one source are done in order.
enum DiskJob<Payload: MediaPayload>: Sendable {
    /// Makes a source's directory, and those above it.
    case makeDirectory(String)
    /// Replaces a session's description.
    case manifest(path: String, [UInt8])
    /// Appends lines to a ledger; the numbers they stand for are persisted with them.
    case ledger(source: String, path: String, [UInt8], records: PersistedRecords?)
    case open(SegmentID, path: String, plan: SegmentPlan, sessionZero: UTCTime)
    /// Goes on with a file that an earlier collector left.
    case reopen(SegmentID, UnfinishedSegment)
    case append(SegmentID, FragmentPlan<Payload>)
    case finish(SegmentID)
    /// What comes next of a source whose file failed is what it has to go on with: all before this was in vain.
    case goOn(SourceID)
    /// Takes something out of the archive.
    case remove(Removal)
    /// Writes that a session is finished, when all its files are and its ledgers are durable.
    case endSession(String, path: String, [UInt8])

    /// The session whose end has to wait for this job; none for one that no end waits for.
    var session: String? {
        switch self {
        case .makeDirectory, .manifest, .endSession, .remove, .goOn: nil
        case .ledger(_, let path, _, _): ArchiveLayout.session(ofLedger: path)
        case .open(let id, _, _, _), .reopen(let id, _), .append(let id, _), .finish(let id):
            id.session
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
    var spool: [UInt8]
    var sequences: [ClosedRange<UInt64>]
}

/// A source of which a file failed: what of it is on disk.
struct RescuedSource: Sendable {
    var id: SourceID
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
    /// A file is an ordinary MP4 now.
    case finished(SegmentID, path: String, sizeBytes: UInt64, Duration)
    /// A session's files are final, and so is its description.
    case ended(session: String)
    /// A file failed; its source's files end with what is durable, as soon as that can be done, and ``rescued(_:)`` says so.
    case failed(SourceID, ArchiveError)
    /// The files of a source of which one failed are in order. All jobs of the source until ``DiskJob/goOn(_:)`` are in vain:
    /// what they held has to come again.
    case rescued(RescuedSource)
    /// A file cannot be written; it is tried again, and nothing of it is acknowledged until then.
    case stuck(path: String, ArchiveError)
    /// It works again.
    case unstuck(path: String)
    /// Taken out of the archive.
    case removed(Removal)
    /// Could not be taken out; the next survey finds it again.
    case notRemoved(Removal, ArchiveError)
    /// The catalog could not be written, or not be made again: it is tried again.
    case catalogLost(ArchiveError)
    /// The catalog has been made again from the files, all but what `problems` say, in a line each.
    case catalogMade(problems: [String])
    /// Given up at the end of the program: this file is not complete.
    case abandoned(path: String, ArchiveError)
}
