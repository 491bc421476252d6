import Archive
import Media
import Wire

/// An instant as the collector sees it.
struct Instant: Hashable, Sendable {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    var monotonic: Int64
    /// `CLOCK_REALTIME`.
    var utc: UTCTime
}

/// What a session is made to be.
struct SessionSettings: Sendable {
    var layout: ArchiveLayout
    var startAt: SessionManifest.StartPolicy = .firstSample
    var startWindowNanoseconds: Int64 = 500_000_000
    var segmentNanoseconds: Int64
    /// A session ends when no source has sent anything for so long; 0: it waits for ever.
    var idleTimeoutNanoseconds: Int64 = 0
    /// Names of sessions that are there: another one gets another name, even if it has the same zero.
    var takenNames: Set<String> = []
    var software: String
    /// What one source may have written.
    var budgets = SourceBudgets()
    /// What one agent may ask for.
    var agentBudgets = CollectorBudgets()
}

/// A source as it introduced itself.
struct SourceIntroduction: Sendable {
    var name: String
    var agent: String
    var address: String
    /// Whose key it came with; without keys, where it comes from.
    var owner = ""
    var spool: SpoolID
    var epochs: [Epoch]
    var tracks: [TrackFormat]

    /// Whose word on its clock counts.
    var clockOwner: ClockOwner { ClockOwner(owner: owner, spool: spool) }
}
