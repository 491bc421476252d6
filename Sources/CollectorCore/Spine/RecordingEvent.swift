import Archive
import Media

/// An event of recordings, published after the disk thread has written what it describes.
enum RecordingEvent: Sendable {
    /// A session has a description, or a new one.
    case sessionDescribed(SessionManifest)
    /// The session's files and description are final.
    case sessionEnded(SessionManifest)
    case sessionRemoved(String)
    /// Another program has changed a session: retimed it (its segments have new revisions), imported, named, protected or removed
    /// it. Its files have to be read again.
    case sessionChanged(String)
    /// A source has joined a session.
    case sourceBegan(SourceKey)
    /// A source has ended.
    case sourceEnded(SourceKey)
    /// After a failed file of the source: its files and its ledger are consistent again, and have to be read again.
    case sourceMended(SourceKey)
    /// A file is about to be written; it exists from its first fragment on.
    case segmentBegan(SegmentKey, SegmentPlan, sessionZero: UTCTime)
    case fragmentAppended(SegmentKey, AppendedFragment)
    /// The durable size of a growing file, in bytes: what remains after a power cut.
    case durable(SegmentKey, upTo: UInt64)
    /// The segment has become an ordinary MP4.
    case segmentFinished(SegmentKey, sizeBytes: UInt64, sessionZero: UTCTime, took: Duration)
    case segmentRemoved(SegmentKey, cause: String)
    /// The object store is proven to have it.
    case segmentStored(SegmentKey, sizeBytes: UInt64)
    /// Its local copy was removed: its media is in the object store only.
    case segmentMoved(SegmentKey)
    /// A ledger line: a gap, or another fact that the media cannot express.
    /// - offset: its byte offset in the ledger; it identifies the line among lines with the same text.
    case noted(SourceKey, LedgerEntry, offset: UInt64)

    /// Kinds of events that a listener can select.
    struct Kinds: OptionSet, Hashable, Sendable {
        let rawValue: UInt16

        /// Sessions and sources begin, change and end; files are removed.
        static let sessions = Kinds(rawValue: 1)
        /// Files begin and end.
        static let segments = Kinds(rawValue: 2)
        /// Several events a second for every source.
        static let fragments = Kinds(rawValue: 4)
        static let ledgers = Kinds(rawValue: 8)

        static let all: Kinds = [.sessions, .segments, .fragments, .ledgers]
    }

    var kind: Kinds {
        switch self {
        case .sessionDescribed, .sessionEnded, .sessionRemoved, .sessionChanged, .sourceBegan,
            .sourceEnded, .sourceMended, .segmentRemoved, .segmentStored, .segmentMoved:
            .sessions
        case .segmentBegan, .segmentFinished: .segments
        case .fragmentAppended, .durable: .fragments
        case .noted: .ledgers
        }
    }

    /// The session that the event belongs to.
    var session: String {
        switch self {
        case .sessionDescribed(let manifest), .sessionEnded(let manifest): manifest.session
        case .sessionRemoved(let session), .sessionChanged(let session): session
        case .sourceBegan(let source), .sourceEnded(let source), .sourceMended(let source),
            .noted(let source, _, _):
            source.session
        case .segmentBegan(let segment, _, _), .fragmentAppended(let segment, _),
            .durable(let segment, _), .segmentFinished(let segment, _, _, _),
            .segmentRemoved(let segment, _), .segmentStored(let segment, _),
            .segmentMoved(let segment):
            segment.session
        }
    }
}

/// A fragment that has been written, and its position.
struct AppendedFragment: Hashable, Sendable {
    /// Its byte range in the file.
    var bytes: Range<UInt64>
    /// Presentation time of its earliest sample on the session's timeline, nanoseconds.
    var startNanoseconds: Int64
    /// Time from there to the end of its last sample.
    var durationNanoseconds: Int64
    /// Whether decoding can start with it.
    var beginsDecodable: Bool
}

extension AppendedFragment {
    /// - Parameter plan: the plan of the file that it was written to.
    init(_ fragment: FragmentPlan, of plan: SegmentPlan, bytes: Range<UInt64>) {
        self.bytes = bytes
        var begin = Int64.max
        var end = Int64.min
        var firstPicture: SampleFlags?
        for run in fragment.pieces.flatMap(\.runs) {
            guard let track = plan.tracks.first(where: { $0.format.kind == run.track }),
                let first = run.samples.first
            else { continue }
            if run.track == .video, firstPicture == nil { firstPicture = first.flags }
            let timescale = track.format.timescale
            for sample in run.samples {
                begin = min(begin, timescale.nanoseconds(sample.pts))
                end = max(
                    end, timescale.nanoseconds(sample.pts.clampedAdding(sample.duration)))
            }
        }
        startNanoseconds = begin == .max ? 0 : begin
        durationNanoseconds = max(0, end.clampedSubtracting(startNanoseconds))
        beginsDecodable = DecodingStart.isPossible(
            at: firstPicture, hasVideo: plan.tracks.contains { $0.format.kind == .video })
    }
}
