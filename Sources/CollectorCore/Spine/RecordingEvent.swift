import Archive
import Media

/// Something that has happened to recordings, as the disk thread has done it: what it speaks of is written when it is said.
enum RecordingEvent: Sendable {
    /// A session has a description, or another one.
    case sessionDescribed(SessionManifest)
    /// Its files are final, and so is its description.
    case sessionEnded(SessionManifest)
    case sessionRemoved(String)
    /// A source has its place in a session.
    case sourceBegan(SourceKey)
    /// A source has said that nothing more of it comes.
    case sourceEnded(SourceKey)
    /// After a file of it failed: its files and its ledger have been put in order, and are to be read again.
    case sourceMended(SourceKey)
    /// A file is going to be written; it is there from its first fragment on.
    case segmentBegan(SegmentKey, SegmentPlan, sessionZero: UTCTime)
    case fragmentAppended(SegmentKey, AppendedFragment)
    /// What a power cut leaves of a growing file, in bytes from its beginning.
    case durable(SegmentKey, upTo: UInt64)
    /// It is an ordinary MP4 now.
    case segmentFinished(SegmentKey, sizeBytes: UInt64, sessionZero: UTCTime, took: Duration)
    case segmentRemoved(SegmentKey, cause: String)
    /// A line of a ledger: a gap, or what else the media cannot say.
    /// - offset: where it begins in the ledger's file, bytes: it tells the line from others of the same words.
    case noted(SourceKey, LedgerEntry, offset: UInt64)

    /// Kinds of events, for those who want some of them.
    struct Kinds: OptionSet, Hashable, Sendable {
        let rawValue: UInt16

        /// Sessions and sources begin, change and end; files are removed.
        static let sessions = Kinds(rawValue: 1)
        /// Files begin and end.
        static let segments = Kinds(rawValue: 2)
        /// Several a second for every source.
        static let fragments = Kinds(rawValue: 4)
        static let ledgers = Kinds(rawValue: 8)

        static let all: Kinds = [.sessions, .segments, .fragments, .ledgers]
    }

    var kind: Kinds {
        switch self {
        case .sessionDescribed, .sessionEnded, .sessionRemoved, .sourceBegan, .sourceEnded,
            .sourceMended, .segmentRemoved:
            .sessions
        case .segmentBegan, .segmentFinished: .segments
        case .fragmentAppended, .durable: .fragments
        case .noted: .ledgers
        }
    }

    /// The session that it is about.
    var session: String {
        switch self {
        case .sessionDescribed(let manifest), .sessionEnded(let manifest): manifest.session
        case .sessionRemoved(let session): session
        case .sourceBegan(let source), .sourceEnded(let source), .sourceMended(let source),
            .noted(let source, _, _):
            source.session
        case .segmentBegan(let segment, _, _), .fragmentAppended(let segment, _),
            .durable(let segment, _), .segmentFinished(let segment, _, _, _),
            .segmentRemoved(let segment, _):
            segment.session
        }
    }
}

/// A fragment that has been written, and where.
struct AppendedFragment: Hashable, Sendable {
    /// Its bytes in the file.
    var bytes: Range<UInt64>
    /// Where its earliest sample is presented on the session's timeline, nanoseconds.
    var startNanoseconds: Int64
    /// How much later the last of its samples ends.
    var durationNanoseconds: Int64
    /// Whether decoding can begin with it.
    var beginsDecodable: Bool
}

extension AppendedFragment {
    /// - Parameter plan: of the file that it was written to.
    init<Payload>(_ fragment: FragmentPlan<Payload>, of plan: SegmentPlan, bytes: Range<UInt64>) {
        self.bytes = bytes
        var begin = Int64.max
        var end = Int64.min
        var startsWithKeyframe: Bool?
        for run in fragment.pieces.flatMap(\.runs) {
            guard let track = plan.tracks.first(where: { $0.format.kind == run.track }),
                let first = run.samples.first
            else { continue }
            if run.track == .video, startsWithKeyframe == nil {
                startsWithKeyframe = first.flags.contains(.keyframe)
            }
            let timescale = track.format.timescale
            for sample in run.samples {
                begin = min(begin, Self.nanoseconds(sample.pts, timescale))
                end = max(
                    end, Self.nanoseconds(sample.pts.clampedAdding(sample.duration), timescale))
            }
        }
        startNanoseconds = begin == .max ? 0 : begin
        durationNanoseconds = max(0, end.clampedSubtracting(startNanoseconds))
        let hasPictures = plan.tracks.contains { $0.format.kind == .video }
        beginsDecodable = hasPictures ? startsWithKeyframe ?? false : true
    }

    private static func nanoseconds(_ ticks: Int64, _ timescale: Timescale) -> Int64 {
        do throws(RescaleOverflow) {
            return try rescale(ticks, from: timescale, to: .nanoseconds)
        } catch {
            return ticks < 0 ? .min : .max
        }
    }
}
