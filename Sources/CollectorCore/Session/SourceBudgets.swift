import Media

/// What one source may have the collector write besides its media. Far more than a healthy box needs; what is past it costs the source
/// itself, and stands in its ledger.
struct SourceBudgets: Hashable, Sendable {
    /// How far before the present a sample may set the zero of a session: a day, which is more than a spool usually holds of an outage.
    /// What is older has its place before zero.
    var zeroReachNanoseconds: Int64 = 86_400_000_000_000
    /// How far a recording that is played again may: thirty years. Of what lies farther from a session's zero, readers believe nothing
    /// (``RecordLimits``).
    var replayedReachNanoseconds: Int64 = 30 * 365 * 86_400_000_000_000
    /// Files that a source begins at once: more changes of format than people type in a session.
    var fileBurst: Int64 = 64
    /// After those, one in this time, or ten in a segment's, whichever is sooner: a backlog comes ten times as fast as it was captured.
    var fileNanoseconds: Int64 = 10_000_000_000
    /// A segment of a recording that is played again does not count behind one with so much media: at full speed it fills them however
    /// fast they come. A live source drains what it has kept at ten times the pace of its capture, which the budget has room for.
    var fileBytes = 256 << 10
    /// How far apart the samples of one message may lie: two minutes (4,096 packets of sound are less), or eight segments, where those
    /// are longer. A message whose samples lie farther apart would begin a file with each of them.
    var messageNanoseconds: Int64 = 120_000_000_000
    /// Bytes of a ledger that are written as they come: some seven hundred lines.
    var ledgerBurstBytes: Int64 = 256 << 10
    /// After those, so many a second; what is more waits, and is joined into lines that stand for many records: 44 MB a day.
    var ledgerBytesPerSecond: Int64 = 512
    /// Bytes of a source's ledger in one session. Readers take a third more.
    var ledgerBytes: Int64 = 192 << 20
    /// Spools of a source that a session's description names: more boots than a box has in a session.
    var spoolsPerSource = 64
    /// Sessions that begin one right after the other, and after those one in this time.
    var sessionBurst: Int64 = 64
    var sessionNanoseconds: Int64 = 10_000_000_000

    /// No budget at all: what a simulation shows to be harmful.
    static var unlimited: SourceBudgets {
        var budgets = SourceBudgets()
        budgets.zeroReachNanoseconds = .max
        budgets.replayedReachNanoseconds = .max
        budgets.fileBurst = 1 << 40
        budgets.messageNanoseconds = .max
        budgets.ledgerBurstBytes = 1 << 60
        budgets.ledgerBytes = 1 << 60
        budgets.sessionBurst = 1 << 40
        return budgets
    }

    /// How far apart the samples of one message may lie, with segments so long.
    func messageNanoseconds(segmentNanoseconds: Int64) -> Int64 {
        max(messageNanoseconds, segmentNanoseconds.multipliedReportingOverflow(by: 8).partialValue)
    }

    /// The budget for files, of segments so long.
    func files(segmentNanoseconds: Int64) -> Allowance {
        Allowance(
            burst: fileBurst,
            nanosecondsEach: max(1, min(fileNanoseconds, segmentNanoseconds / 20)))
    }
}

/// A number of things that may be used at once, and comes back with time. It may be overdrawn: then nothing may be used until it has
/// come back.
struct Allowance: Hashable, Sendable {
    private let burst: Int64
    private let nanosecondsEach: Int64
    private var used: Int64 = 0
    /// Since when what is used comes back.
    private var sinceNanoseconds: Int64 = 0

    init(burst: Int64, nanosecondsEach: Int64) {
        self.burst = burst
        self.nanosecondsEach = nanosecondsEach
    }

    private mutating func bringBack(now: Int64) {
        guard used > 0 else {
            sinceNanoseconds = now
            return
        }
        let back = min(used, max(0, now.clampedSubtracting(sinceNanoseconds)) / nanosecondsEach)
        used -= back
        sinceNanoseconds = used == 0 ? now : sinceNanoseconds + back * nanosecondsEach
    }

    /// Uses so many.
    mutating func use(_ count: Int64, now: Int64) {
        bringBack(now: now)
        used.addClamped(count)
    }

    /// How long nothing may be used, nanoseconds; 0: something may.
    mutating func pauseNanoseconds(now: Int64) -> Int64 {
        bringBack(now: now)
        guard used >= burst else { return 0 }
        return (used - burst + 1) * nanosecondsEach - (now - sinceNanoseconds)
    }
}
