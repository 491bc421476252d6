import Archive
import Media
import Wire

/// An instant on the collector's clocks.
struct Instant: Hashable, Sendable {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    var monotonic: Int64
    /// `CLOCK_REALTIME`.
    var utc: UTCTime
}

struct SessionSettings: Sendable {
    var layout: ArchiveLayout
    var startAt: SessionManifest.StartPolicy = .firstSample
    var startWindowNanoseconds: Int64 = 500_000_000
    var segmentNanoseconds: Int64
    /// See ``SegmenterSettings/idleNanoseconds``: longer where agents send samples in batches.
    var idleFragmentNanoseconds = SegmenterSettings(segmentNanoseconds: 1).idleNanoseconds
    /// A session ends when no source has sent anything for this long; 0: never.
    var idleTimeoutNanoseconds: Int64 = 0
    /// Names of existing sessions: a new session gets another name, even if it has the same zero.
    var takenNames: Set<String> = []
    var software: String
    /// The collector's name; empty: none.
    var name = ""
    /// Whether other collectors may record the same session, by a database.
    var isOnSite = false
    /// When agents may delete records.
    var release = ReleasePolicy.local
    /// Limits on what one source may make the collector write.
    var budgets = SourceBudgets()
    /// Limits on the requests of one agent.
    var agentBudgets = CollectorBudgets()
    /// Maximum number of known sources; nil: the protocol's.
    var maximumSources: Int?
}

extension SessionSettings {
    /// Division of a source's samples into files.
    /// - Parameter segmentNanoseconds: length of a segment: a session that is resumed keeps its own.
    func segmenter(_ segmentNanoseconds: Int64) -> SegmenterSettings {
        var settings = SegmenterSettings(segmentNanoseconds: segmentNanoseconds)
        settings.idleNanoseconds = idleFragmentNanoseconds
        return settings
    }
}

extension SourceIntroduction {
    /// The owner whose clock exchanges apply to the source.
    var clockOwner: ClockOwner { ClockOwner(owner: owner, spool: spool) }
}
