import Media

/// What one source may make the collector write in addition to its media. Far more than a healthy box needs. Only the source
/// itself is affected when it exceeds a budget, and its ledger records that.
struct SourceBudgets: Hashable, Sendable {
    /// How far before the present a sample may set the zero of a session: a day, which is more than the usual spooled outage.
    /// Older samples are placed before zero.
    var zeroReachNanoseconds: Int64 = 86_400_000_000_000
    /// The same for a replayed recording: thirty years. Readers reject times that lie farther from a session's zero
    /// (``RecordLimits``).
    var replayedReachNanoseconds: Int64 = 30 * 365 * 86_400_000_000_000
    /// Files that a source may begin at once: more changes of format than anyone makes in a session.
    var fileBurst: Int64 = 64
    /// After the burst, one file per this time, or ten per segment length, whichever is shorter: a backlog arrives ten times as
    /// fast as it was captured.
    var fileNanoseconds: Int64 = 10_000_000_000
    /// A segment of a replayed recording with this much media is not counted: at full speed, segments are filled however fast the
    /// media arrives. A live source drains its spool at ten times the capture rate, which the budget allows.
    var fileBytes = 256 << 10
    /// How far apart the samples of one message may lie: two minutes (4,096 audio packets are less), or eight segments, where
    /// those are longer. A message whose samples lie farther apart would begin a file with each of them.
    var messageNanoseconds: Int64 = 120_000_000_000
    /// Bytes of a ledger that are written as they come: some seven hundred lines.
    var ledgerBurstBytes: Int64 = 256 << 10
    /// After the burst, bytes per second; further lines wait, and are joined into lines that stand for many records: 44 MB a day.
    var ledgerBytesPerSecond: Int64 = 512
    /// Maximum size of a source's ledger in one session. Readers accept a third more.
    var ledgerBytes: Int64 = 192 << 20
    /// Spools of a source in a session's description: more boots than a box has in a session.
    var spoolsPerSource = 64
    /// Sessions that may begin in direct succession; after those, one per this time.
    var sessionBurst: Int64 = 64
    var sessionNanoseconds: Int64 = 10_000_000_000

    /// No budget at all: simulations use it to show the harm.
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

    /// How far apart the samples of one message may lie, for this segment length.
    func messageNanoseconds(segmentNanoseconds: Int64) -> Int64 {
        max(messageNanoseconds, segmentNanoseconds.multipliedReportingOverflow(by: 8).partialValue)
    }

    /// The budget for files, for this segment length.
    func files(segmentNanoseconds: Int64) -> Allowance {
        Allowance(
            burst: fileBurst,
            nanosecondsEach: max(1, min(fileNanoseconds, segmentNanoseconds / 20)))
    }
}

/// An allowance that may be used at once and is replenished with time. It may be overdrawn: then nothing may be used until the
/// debt is repaid.
struct Allowance: Hashable, Sendable {
    private let burst: Int64
    private let nanosecondsEach: Int64
    private var used: Int64 = 0
    /// Since when the used amount is being replenished.
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

    /// Uses this amount.
    mutating func use(_ count: Int64, now: Int64) {
        bringBack(now: now)
        used.addClamped(count)
    }

    /// How long nothing may be used, nanoseconds; 0: something may be used now.
    mutating func pauseNanoseconds(now: Int64) -> Int64 {
        bringBack(now: now)
        guard used >= burst else { return 0 }
        return (used - burst + 1) * nanosecondsEach - (now - sinceNanoseconds)
    }
}
