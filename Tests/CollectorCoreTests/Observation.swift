import Archive
import Media
import Testing
import Wire

@testable import CollectorCore

/// Placeholder media bytes.
final class NoPayload: MediaPayload {
    var memory: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }
}

/// A session recorder and its disk jobs.
struct Observation {
    /// A fragment, and the segment that it went to.
    struct Fragment {
        var source: String
        var segment: SegmentKey
        var plan: FragmentPlan
    }

    var recorder: SessionRecorder
    private(set) var fragments: [Fragment] = []
    private(set) var ledgers: [String: [LedgerEntry]] = [:]
    private(set) var opened: [(source: String, segment: SegmentKey, plan: SegmentPlan)] = []
    private(set) var zeroUTC: UTCTime?
    /// The collector's wall clock less its monotonic one: time daemons step it.
    var wallNanoseconds: Int64 = 1_790_000_000_000_000_000

    init(segmentNanoseconds: Int64 = 600_000_000_000) {
        recorder = SessionRecorder(
            settings: SessionSettings(
                layout: ArchiveLayout(root: "/archive"),
                segmentNanoseconds: segmentNanoseconds, software: "test"))
    }

    func instant(_ monotonic: Int64) -> Instant {
        Instant(
            monotonic: monotonic, utc: UTCTime(nanoseconds: wallNanoseconds + monotonic))
    }

    mutating func apply(_ actions: [SessionRecorder.Action]) {
        for action in actions {
            guard case .job(let job) = action else { continue }
            switch job {
            case .append(let id, let plan):
                fragments.append(Fragment(source: id.source, segment: id, plan: plan))
            case .note(let source, let entry, _):
                ledgers[source.source, default: []].append(entry)
            case .open(let id, let plan, let zero):
                opened.append((id.source, id, plan))
                zeroUTC = zeroUTC ?? zero
            case .beginSession, .beginSource, .describe, .reopen, .finish, .goOn, .endSession,
                .remove:
                break
            }
        }
    }

    /// Discards the fragments seen so far.
    mutating func forgetFragments() { fragments.removeAll(keepingCapacity: true) }

    mutating func samples(_ samples: Samples, of source: String, at now: Int64) {
        apply(
            recorder.samples(
                samples, payload: NoPayload(), of: source, at: instant(now)))
    }

    mutating func tick(_ now: Int64) { apply(recorder.tick(at: instant(now))) }

    mutating func end(_ now: Int64) { apply(recorder.end(.stopped, at: instant(now))) }

    /// The samples of a track of a source, in the order in which they are written.
    func samples(of source: String, _ track: TrackKind) -> [PlannedSample] {
        fragments.filter { $0.source == source }.flatMap(\.plan.pieces).flatMap(\.runs)
            .filter { $0.track == track }.flatMap(\.samples)
    }

    func lines(_ source: String, _ kind: LedgerEntry.Kind) -> [LedgerEntry] {
        ledgers[source, default: []].filter { $0.kind == kind }
    }
}
